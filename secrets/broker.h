// The broker without its process: doors, connections, limits. One thread.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "secrets/renewals.h"
#include "secrets/shared.h"
#include "supervisor/base/fd.h"

namespace warder::secrets {

class Broker {
 public:
  struct Options {
    policies::Policy policy;
    BrokerLimits limits;
    base::Emit emit;  // is given no event that holds a secret (event_gate.h)
    std::string run_id{};
    bool shared_network = false;
    /// Asks init to read a grant's source again.
    std::function<void(const std::string& grant)> ask_source{};
  };

  Broker(boost::asio::any_io_executor executor, Options options);
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  ~Broker();

  /// Lends a secret, at the grant's own doors if it has some (sockets that listen already) and at
  /// all doors where the agent names hosts; takes the descriptors that the grant names.
  /// Errors: Config for an unknown provider or a secret that is no key of it; Kernel.
  base::Status addGrant(Grant grant, vault::SecretBytes secret);
  /// The same for a secret with an end of its own, or of a Vault, whose token is kept.
  base::Status addGrant(Grant grant, SourcedSecret sourced,
                        std::shared_ptr<const vault::SecretBytes> token);
  /// What becomes of secrets that were lent.
  Renewals& renewals();
  /// Serves the doors that belong to no grant; takes the descriptors. Errors: Kernel, Internal.
  base::Status openDoors(const DoorFds& doors);
  /// The certificate of the run's authority; empty before openDoors.
  std::string authorityPem() const;
  /// Emits what is kept back of a flood of refusals, and the name server's counts, at the end.
  void tellKept();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace warder::secrets
