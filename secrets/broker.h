// The broker without its process: doors, connections, limits. One thread.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <memory>

#include "secrets/door.h"
#include "supervisor/base/fd.h"

namespace warder::secrets {

class Broker {
 public:
  struct Options {
    policies::Policy policy;
    BrokerLimits limits;
    base::Emit emit;  // is given no event that holds a secret (event_gate.h)
  };

  Broker(boost::asio::any_io_executor executor, Options options);
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  ~Broker();

  /// Serves a grant on sockets that listen already; takes the descriptors that the grant names.
  /// Errors: Config for an unknown provider or a secret that is no key of it; Kernel.
  base::Status addDoor(Grant grant, vault::SecretBytes secret);
  /// Emits what is kept back of a flood of refusals, at the end.
  void tellKept();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace warder::secrets
