#include "secrets/dns/datagram.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "secrets/dns/message.h"

namespace warder::dns {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Status;

namespace {

constexpr int kDatagramsAtOnce = 64;

union Control {
  cmsghdr alignment;
  std::array<char, CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(sizeof(in_pktinfo))> bytes;
};

bool switchOn(int socket, int level, int option) {
  const int on = 1;
  return ::setsockopt(socket, level, option, &on, sizeof on) == 0;
}

bool isLinkLocal(const in6_addr& address) {
  return IN6_IS_ADDR_LINKLOCAL(&address);
}

/// Turns what came with a question (to which address) into what goes with the answer (from which).
void turnAround(msghdr& message) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(part), sizeof info);
      info.ipi_ifindex = 0;
      info.ipi_spec_dst = info.ipi_addr;
      std::memcpy(CMSG_DATA(part), &info, sizeof info);
    } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(part), sizeof info);
      if (!isLinkLocal(info.ipi6_addr)) info.ipi6_ifindex = 0;
      std::memcpy(CMSG_DATA(part), &info, sizeof info);
    }
  }
}

}  // namespace

Status prepareDatagrams(int socket) {
  int type = 0;
  int family = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
      ::getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &family, &size) != 0)
    return kernelError("the name server's UDP socket cannot be served");
  if (type != SOCK_DGRAM || (family != AF_INET && family != AF_INET6))
    return Error{Kind::Internal, "the name server's UDP socket is none"};
  const bool ready = family == AF_INET ? switchOn(socket, IPPROTO_IP, IP_PKTINFO)
                                       : switchOn(socket, IPPROTO_IPV6, IPV6_RECVPKTINFO) &&
                                             switchOn(socket, IPPROTO_IPV6, IPV6_FREEBIND);
  if (!ready) return kernelError("the name server's UDP socket cannot tell who was asked");
  return {};
}

void answerDatagrams(int socket, const AnswerTo& answer) {
  std::array<char, kLongestQuery + 1> question;  // one more: a longer one is seen as too long
  for (int count = 0; count < kDatagramsAtOnce; ++count) {
    sockaddr_storage from{};
    Control control{};
    iovec piece{question.data(), question.size()};
    msghdr message{};
    message.msg_name = &from;
    message.msg_namelen = sizeof from;
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.bytes.data();
    message.msg_controllen = control.bytes.size();
    const ssize_t length = ::recvmsg(socket, &message, MSG_DONTWAIT);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return;
    auto reply = answer({question.data(), static_cast<std::size_t>(length)});
    if (!reply) continue;
    turnAround(message);
    piece = {reply->data(), reply->size()};
    ::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }
}

}  // namespace warder::dns
