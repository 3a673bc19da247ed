// Where a run that is alive is asked how it stands, and told to end: RUN_DIR/control.sock. JSON
// objects over SOCK_SEQPACKET (base/wire.h). Asked by `warder status` and `warder cancel`.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "supervisor/base/local_socket.h"
#include "supervisor/base/wire.h"

namespace warder::init {

inline constexpr const char* kControlSocket = "control.sock";
/// Clients at one time; one more takes the place of the oldest.
inline constexpr std::size_t kMaxControlClients = 16;
/// Of who asks for the end, in bytes; what is longer is cut.
inline constexpr std::size_t kMaxCanceller = 200;

/// May this process ask? Root, and whoever has the uid of this process, may; never a descendant of
/// this process, which is the agent or one of ours. Reads /proc; false in any doubt.
bool mayControl(const base::Peer& peer);

class ControlDoor {
 public:
  struct Handlers {
    std::function<base::json::object()> status;          // toJson(RunStatus)
    std::function<void(const std::string& by)> cancel;   // must not block
    std::function<bool(const base::Peer&)> may_control;  // mayControl unless a test says otherwise
  };

  /// Listens at once. Answers {"status":true} with {"status":{…}}, {"cancel":{"by":"…"}} with
  /// {"cancelling":true} after the handler was called, anything else with
  /// {"refused":{"sentence":"…"}}. A client that is not allowed, sends what is no JSON object, or
  /// does not read its answers is cut off; nothing here waits for anybody.
  static base::Result<std::unique_ptr<ControlDoor>> open(boost::asio::io_context& context,
                                                         const std::string& run_dir,
                                                         Handlers handlers);
  ~ControlDoor();
  ControlDoor(const ControlDoor&) = delete;
  ControlDoor& operator=(const ControlDoor&) = delete;

 private:
  using Descriptor = boost::asio::posix::stream_descriptor;

  ControlDoor(boost::asio::io_context& context, base::UniqueFd listener, Handlers handlers);
  void waitForClients();
  void acceptClients();
  void waitForWords(const std::shared_ptr<Descriptor>& client);
  void hear(const std::shared_ptr<Descriptor>& client);
  void forget(const std::shared_ptr<Descriptor>& client);
  base::json::object answer(const base::json::object& question);

  boost::asio::io_context& context_;
  // Shared with nobody; a callback that comes late finds that its descriptor is gone.
  std::shared_ptr<Descriptor> listener_;
  Handlers handlers_;
  std::string path_;
  std::list<std::shared_ptr<Descriptor>> clients_;  // the oldest first
};

}  // namespace warder::init
