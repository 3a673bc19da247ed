#include "supervisor/init/stage_link.h"

#include <sys/socket.h>

#include "supervisor/base/log.h"

namespace warder::init {

using base::UniqueFd;

StageLink::StageLink(boost::asio::io_context& context, UniqueFd control, Handlers handlers)
    : socket_(context, control.release()), handlers_(std::move(handlers)) {
  socket_.non_blocking(true);
  waitToRead();
}

void StageLink::send(base::json::object body, const std::vector<int>& fds) {
  if (!socket_.is_open()) return;
  Outgoing message{std::move(body), {}};
  for (const int fd : fds)
    if (auto copy = base::duplicate(fd)) message.fds.push_back(std::move(*copy));
  outgoing_.push_back(std::move(message));
  if (!waiting_to_write_) flush();
}

void StageLink::offer(const base::json::object& body) {
  if (socket_.is_open() && outgoing_.empty())
    (void)base::sendMessage(socket_.native_handle(), body);
}

void StageLink::finishSending() {
  finishing_ = true;
  if (outgoing_.empty() && socket_.is_open()) ::shutdown(socket_.native_handle(), SHUT_WR);
}

void StageLink::flush() {
  while (!outgoing_.empty()) {
    std::vector<int> fds;
    for (const auto& fd : outgoing_.front().fds) fds.push_back(fd.get());
    auto sent = base::sendMessage(socket_.native_handle(), outgoing_.front().body, fds);
    if (!sent && (sent.error().system_errno == EAGAIN || sent.error().system_errno == ENOBUFS)) {
      waiting_to_write_ = true;
      socket_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                         [this](const boost::system::error_code& failure) {
                           waiting_to_write_ = false;
                           if (!failure) flush();
                         });
      return;
    }
    if (!sent) base::log(base::Level::Error, sent.error().sentence());
    outgoing_.pop_front();
  }
  if (finishing_) ::shutdown(socket_.native_handle(), SHUT_WR);
}

void StageLink::waitToRead() {
  socket_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                     [this](const boost::system::error_code& failure) {
                       if (!failure) readAll();
                     });
}

void StageLink::readAll() {
  // A bounded burst, so that one talkative stage cannot keep init from its other duties.
  for (int burst = 0; burst < 64; ++burst) {
    auto message = base::receiveMessage(socket_.native_handle());
    if (!message && message.error().system_errno == EAGAIN) break;
    if (!message) base::log(base::Level::Error, message.error().sentence());
    if (!message || !*message) return close();
    handlers_.message((*message)->body);
    if (!socket_.is_open()) return;
  }
  waitToRead();
}

void StageLink::close() {
  socket_.close();
  outgoing_.clear();
  handlers_.closed();
}

}  // namespace warder::init
