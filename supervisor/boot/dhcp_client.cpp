// Asking for an address, as a socket sees it. Part of network.h.
#include <arpa/inet.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <chrono>
#include <optional>

#include "supervisor/base/fd.h"
#include "supervisor/boot/network.h"

namespace warder::boot {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;

namespace {

constexpr std::uint16_t kServerPort = 67, kClientPort = 68;
constexpr int kTries = 5;
constexpr std::chrono::milliseconds kAnswerWithin{2000};

class DhcpTalk {
 public:
  DhcpTalk(const std::string& interface, const DhcpClient& client)
      : interface_(interface), client_(client) {}

  base::Status open() {
    socket_ = base::UniqueFd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int on = 1;
    sockaddr_in own{};
    own.sin_family = AF_INET;
    own.sin_port = htons(kClientPort);
    if (::setsockopt(socket_.get(), SOL_SOCKET, SO_BROADCAST, &on, sizeof on) != 0 ||
        ::setsockopt(socket_.get(), SOL_SOCKET, SO_BINDTODEVICE, interface_.c_str(),
                     static_cast<socklen_t>(interface_.size() + 1)) != 0 ||
        ::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
      return kernelError("network: cannot open a DHCP socket on " + interface_);
    return {};
  }

  /// Says it and takes the first answer of that type; nothing when none comes in time. A refusal
  /// (Nak) ends the wait.
  Result<std::optional<DhcpAnswer>> ask(const std::optional<DhcpAnswer>& offer, DhcpType wanted) {
    const std::string question = writeDhcp(client_, offer);
    sockaddr_in all{};
    all.sin_family = AF_INET;
    all.sin_port = htons(kServerPort);
    all.sin_addr.s_addr = htonl(INADDR_BROADCAST);
    if (::sendto(socket_.get(), question.data(), question.size(), 0,
                 reinterpret_cast<const sockaddr*>(&all), sizeof all) < 0)
      return kernelError("network: cannot send a DHCP question on " + interface_);
    const auto end = std::chrono::steady_clock::now() + kAnswerWithin;
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - std::chrono::steady_clock::now());
      pollfd readable{socket_.get(), POLLIN, 0};
      if (left.count() <= 0 || ::poll(&readable, 1, static_cast<int>(left.count())) <= 0)
        return std::optional<DhcpAnswer>();
      char bytes[kLongestDhcp + 1];
      const auto size = ::recv(socket_.get(), bytes, sizeof bytes, 0);
      if (size <= 0) continue;
      auto answer = readDhcp({bytes, static_cast<std::size_t>(size)}, client_);
      if (!answer) continue;  // somebody else's, or nonsense
      if (answer->type == DhcpType::Nak) return std::optional<DhcpAnswer>();
      if (answer->type == wanted) return std::optional<DhcpAnswer>(std::move(*answer));
    }
  }

 private:
  std::string interface_;
  DhcpClient client_;
  base::UniqueFd socket_;
};

}  // namespace

Result<DhcpAnswer> askDhcp(const std::string& interface, const DhcpClient& client) {
  DhcpTalk talk(interface, client);
  if (auto opened = talk.open(); !opened) return opened.error();
  for (int i = 0; i < kTries; ++i) {
    auto offer = talk.ask({}, DhcpType::Offer);
    if (!offer) return offer.error();
    if (!*offer) continue;
    auto agreed = talk.ask(*offer, DhcpType::Ack);
    if (!agreed) return agreed.error();
    if (*agreed) return std::move(**agreed);
  }
  return Error{Kind::Timeout, "network: no DHCP server answered on " + interface +
                                  "; start one, or set warder.ip to an address"};
}

}  // namespace warder::boot
