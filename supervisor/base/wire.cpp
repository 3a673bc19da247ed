#include "supervisor/base/wire.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>

namespace warder::base {

Status sendMessage(int socket, const json::object& body, std::span<const int> fds) {
  const std::string text = json::serialize(body);
  if (text.size() > kMaxMessage || fds.size() > kMaxMessageFds)
    return Error{Kind::Internal, "message between stages is too large"};
  iovec part{const_cast<char*>(text.data()), text.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)] = {};
  if (!fds.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL) >= 0) return {};
    if (errno != EINTR) return kernelError("cannot send to a stage");
  }
}

Result<std::optional<Message>> receiveMessage(int socket) {
  std::string text(kMaxMessage, '\0');
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * kMaxMessageFds)];
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t count;
  do {
    count = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0 && errno == ECONNRESET) return std::nullopt;
  if (count < 0) return kernelError("cannot receive from a stage");
  Message message;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t fds = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < fds; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof fd);
      message.fds.emplace_back(fd);
    }
  }
  if (count == 0) return std::nullopt;
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return Error{Kind::Peer, "a message from a stage was cut"};
  auto value = parseJson({text.data(), static_cast<std::size_t>(count)});
  if (!value || !value->is_object()) return Error{Kind::Peer, "a stage sent no JSON object"};
  message.body = std::move(value->as_object());
  return message;
}

Result<json::value> parseJson(std::string_view text) {
  json::parse_options options;
  options.max_depth = 64;
  boost::system::error_code failure;
  json::value value = json::parse({text.data(), text.size()}, failure, {}, options);
  if (failure) return Error{Kind::Config, "is not valid JSON: " + failure.message()};
  return value;
}

Result<json::object> readStageConfig() {
  UniqueFd fd(kConfigFd);
  auto text = readAll(fd.get(), 16 << 20);
  if (!text) return text.error().during("reading the stage's configuration");
  auto value = parseJson(*text);
  if (!value || !value->is_object())
    return Error{Kind::Internal, "the stage's configuration is no JSON object"};
  return std::move(value->as_object());
}

Status sayReady(int control) {
  return sendMessage(control, {{"ready", true}});
}

Status sayFailed(int control, std::string_view step, const Error& error) {
  return sendMessage(control, {{"failed",
                                {{"step", step},
                                 {"sentence", error.sentence()},
                                 {"kind", nameOf(error.kind)},
                                 {"errno", error.system_errno}}}});
}

Status hardenStage() {
  const rlimit none{0, 0};
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return kernelError("cannot become undumpable");
  if (::setrlimit(RLIMIT_CORE, &none) != 0) return kernelError("cannot forbid core files");
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
    return kernelError("cannot ask to die with the parent");
  return {};
}

}  // namespace warder::base
