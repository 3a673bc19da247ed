#include "supervisor/init/control_door.h"

#include <unistd.h>

#include <sstream>

#include "supervisor/base/log.h"
#include "supervisor/journal/clean_text.h"

namespace warder::init {

using base::Peer;
using base::Result;
using base::UniqueFd;
namespace json = base::json;

namespace {

constexpr std::size_t kMaxStatusFile = 64 * 1024;
constexpr int kMostAncestors = 4096;   // deeper than any limit on processes of a box
constexpr uid_t kOverflowUid = 65534;  // an id that this user namespace does not map

/// The parent of a process; 0 when it has none in this namespace, -1 when it is gone.
pid_t parentOf(pid_t pid) {
  auto text = base::readFile("/proc/" + std::to_string(pid) + "/status", kMaxStatusFile);
  if (!text) return -1;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("PPid:", 0) == 0) return std::atoi(line.c_str() + 5);
  return -1;
}

bool descendsFromUs(pid_t pid) {
  for (int steps = 0; steps < kMostAncestors; ++steps) {
    if (pid == ::getpid()) return true;
    if (pid == 0) return false;
    pid = parentOf(pid);
    if (pid < 0) return true;  // gone meanwhile: nobody to answer, and no proof
  }
  return true;
}

}  // namespace

bool mayControl(const Peer& peer) {
  if (peer.ended) return false;
  const bool outside = peer.pid == 0;  // of our pid namespace: no process of the agent
  // The socket's mode lets nobody in but root and its owner; in a user namespace that does not map
  // root, root looks like anybody.
  const bool known = peer.uid == 0 || peer.uid == ::geteuid() ||
                     (outside && peer.uid == kOverflowUid && peer.gid == kOverflowUid);
  return known && (outside || !descendsFromUs(peer.pid));
}

Result<std::unique_ptr<ControlDoor>> ControlDoor::open(boost::asio::io_context& context,
                                                       const std::string& run_dir,
                                                       Handlers handlers) {
  auto listener = base::listenLocally(run_dir, kControlSocket);
  if (!listener) return listener.error();
  if (!handlers.may_control) handlers.may_control = mayControl;
  std::unique_ptr<ControlDoor> door(
      new ControlDoor(context, std::move(*listener), std::move(handlers)));
  door->path_ = run_dir + "/" + kControlSocket;
  return door;
}

ControlDoor::ControlDoor(boost::asio::io_context& context, UniqueFd listener, Handlers handlers)
    : context_(context),
      listener_(std::make_shared<Descriptor>(context, listener.release())),
      handlers_(std::move(handlers)) {
  waitForClients();
}

ControlDoor::~ControlDoor() {
  ::unlink(path_.c_str());
}

void ControlDoor::waitForClients() {
  listener_->async_wait(Descriptor::wait_read, [this, weak = std::weak_ptr<Descriptor>(listener_)](
                                                   const boost::system::error_code& failure) {
    if (!failure && !weak.expired()) acceptClients();
  });
}

void ControlDoor::acceptClients() {
  // A bounded burst, so that a crowd cannot keep init from its other duties.
  for (std::size_t burst = 0; burst < kMaxControlClients; ++burst) {
    auto client = base::acceptLocally(listener_->native_handle());
    if (!client) {
      base::log(base::Level::Warn, client.error().sentence());
      return listener_->close();  // no descriptors left: the run goes on without this door
    }
    if (!*client) break;
    const auto peer = base::peerOf((*client)->get());
    if (!peer || !handlers_.may_control(*peer)) continue;
    if (clients_.size() >= kMaxControlClients) clients_.pop_front();
    clients_.push_back(std::make_shared<Descriptor>(context_, (*client)->release()));
    waitForWords(clients_.back());
  }
  waitForClients();
}

void ControlDoor::waitForWords(const std::shared_ptr<Descriptor>& client) {
  client->async_wait(Descriptor::wait_read, [this, weak = std::weak_ptr<Descriptor>(client)](
                                                const boost::system::error_code& failure) {
    const auto same = weak.lock();
    if (!failure && same) hear(same);
  });
}

void ControlDoor::hear(const std::shared_ptr<Descriptor>& client) {
  auto message = base::receiveMessage(client->native_handle());
  if (!message && message.error().system_errno == EAGAIN) return waitForWords(client);
  if (!message || !*message) return forget(client);
  const json::object words = answer((*message)->body);
  if (!base::sendMessage(client->native_handle(), words)) return forget(client);
  waitForWords(client);
}

void ControlDoor::forget(const std::shared_ptr<Descriptor>& client) {
  clients_.remove(client);
}

json::object ControlDoor::answer(const json::object& question) {
  if (const auto* wanted = question.if_contains("status"); wanted && wanted->is_bool())
    return {{"status", handlers_.status()}};
  if (const auto* cancel = question.if_contains("cancel"); cancel && cancel->is_object()) {
    const auto* by = cancel->get_object().if_contains("by");
    const std::string name = by && by->is_string() ? std::string(by->get_string()) : "somebody";
    handlers_.cancel(std::string(journal::cutUtf8(name, kMaxCanceller)));
    return {{"cancelling", true}};
  }
  return {{"refused", {{"sentence", "asks neither for the status nor for the end of the run"}}}};
}

}  // namespace warder::init
