// A child process that enters the agent's network and serves it from where it came, as the broker
// does; a grandchild in it is the agent, and tells what became of each try.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/launch/agent_network.h"

namespace warder::tests {

using launch::AgentNetwork;
using launch::NetworkRequest;

constexpr uid_t kOrdinary = 4242;

inline std::string nameOfError() {
  return strerrorname_np(errno);
}

struct Address {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  Address() = default;
  Address(const std::string& ip, std::uint16_t port) {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&storage);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&storage);
    if (::inet_pton(AF_INET, ip.c_str(), &v4->sin_addr) == 1) {
      v4->sin_family = AF_INET;
      v4->sin_port = htons(port);
      size = sizeof *v4;
    } else if (::inet_pton(AF_INET6, ip.c_str(), &v6->sin6_addr) == 1) {
      v6->sin6_family = AF_INET6;
      v6->sin6_port = htons(port);
      size = sizeof *v6;
    }
  }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  std::string ip() {
    char text[64] = {};
    if (storage.ss_family == AF_INET)
      ::inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(&storage)->sin_addr, text, sizeof text);
    else
      ::inet_ntop(AF_INET6, &reinterpret_cast<sockaddr_in6*>(&storage)->sin6_addr, text,
                  sizeof text);
    return text;
  }
  std::string text() {
    const auto port = reinterpret_cast<sockaddr_in*>(&storage)->sin_port;
    return ip() + " " + std::to_string(ntohs(port));
  }
};

// --- the agent's side
// ------------------------------------------------------------------------------

inline base::UniqueFd socketTo(const Address& address, int type) {
  base::UniqueFd socket(::socket(address.storage.ss_family, type | SOCK_CLOEXEC, 0));
  const timeval patience{60, 0};  // so that a hang ends, with EAGAIN or EINPROGRESS
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

inline std::string readSome(const base::UniqueFd& socket) {
  char text[256];
  const ssize_t count = ::recv(socket.get(), text, sizeof text, 0);
  return count < 0 ? nameOfError() : std::string(text, static_cast<std::size_t>(count));
}

/// What a TCP connection to there is answered with, or why there is none.
inline std::string dial(const std::string& ip, std::uint16_t port) {
  Address address(ip, port);
  const auto socket = socketTo(address, SOCK_STREAM);
  if (::connect(socket.get(), address.get(), address.size) != 0) return nameOfError();
  return readSome(socket);
}

/// The same for a datagram.
inline std::string ask(const std::string& ip, std::uint16_t port) {
  Address address(ip, port);
  const auto socket = socketTo(address, SOCK_DGRAM);
  if (::connect(socket.get(), address.get(), address.size) != 0) return nameOfError();
  if (::send(socket.get(), "question", 8, 0) != 8) return nameOfError();
  return readSome(socket);
}

/// A server of the agent's own; answers in a process of its own, which dies with the agent.
inline std::string serveOwn(const std::string& ip, std::uint16_t port) {
  Address address(ip, port);
  base::UniqueFd listener(::socket(address.storage.ss_family, SOCK_STREAM, 0));
  if (::bind(listener.get(), address.get(), address.size) != 0) return nameOfError();
  if (::listen(listener.get(), 8) != 0) return nameOfError();
  if (::fork() == 0) {
    for (int i = 0; i < 64; ++i) {
      const base::UniqueFd taken(::accept(listener.get(), nullptr, nullptr));
      (void)!::write(taken.get(), "own", 3);
    }
    ::_exit(0);
  }
  return "listens";
}

// --- the broker's side
// -----------------------------------------------------------------------------

struct Served {
  std::string name;
  int fd;
};

inline std::vector<Served> listenersOf(const AgentNetwork& network) {
  std::vector<Served> all;
  for (const auto& socket : network.transparent) all.push_back({"transparent", socket.get()});
  for (const auto& socket : network.proxy) all.push_back({"proxy", socket.get()});
  for (const auto& socket : network.dns_tcp) all.push_back({"dns_tcp", socket.get()});
  for (std::size_t i = 0; i < network.listeners.size(); ++i)
    for (const auto& socket : network.listeners[i])
      all.push_back({"door" + std::to_string(i), socket.get()});
  for (const auto& socket : network.dns_udp) all.push_back({"dns_udp", socket.get()});
  return all;
}

inline void answerConnection(const Served& on) {
  const base::UniqueFd taken(::accept4(on.fd, nullptr, nullptr, SOCK_CLOEXEC));
  if (!taken) return;
  Address own;
  ::getsockname(taken.get(), own.get(), &own.size);
  const std::string text = on.name + " " + own.text();
  (void)!::write(taken.get(), text.data(), text.size());
}

/// Answers from the address that was asked, and says which that was.
inline void answerQuestion(int fd) {
  char text[512];
  alignas(cmsghdr) char control[256];
  Address from;
  iovec part{text, sizeof text};
  msghdr message{from.get(), from.size, &part, 1, control, sizeof control, 0};
  const ssize_t count = ::recvmsg(fd, &message, 0);
  cmsghdr* about = count < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (about == nullptr) return;
  std::string reply = "dns_udp ";
  char asked[64] = {};
  if (about->cmsg_level == IPPROTO_IP) {
    auto* info = reinterpret_cast<in_pktinfo*>(CMSG_DATA(about));
    ::inet_ntop(AF_INET, &info->ipi_addr, asked, sizeof asked);
    info->ipi_spec_dst = info->ipi_addr;
    info->ipi_ifindex = 0;
  } else {
    const auto* info = reinterpret_cast<in6_pktinfo*>(CMSG_DATA(about));
    ::inet_ntop(AF_INET6, &info->ipi6_addr, asked, sizeof asked);
  }
  reply += asked;
  iovec answer{reply.data(), reply.size()};
  message.msg_iov = &answer;
  ::sendmsg(fd, &message, 0);
}

/// Serves until the agent's end of the pipe is closed; what it wrote.
inline std::string serve(const AgentNetwork& network, int agent) {
  std::vector<Served> served = listenersOf(network);
  std::vector<pollfd> waits;
  for (const auto& one : served) waits.push_back({one.fd, POLLIN, 0});
  waits.push_back({agent, POLLIN, 0});
  std::string told;
  for (;;) {
    if (::poll(waits.data(), waits.size(), 60'000) <= 0) return told + "nobody came\n";
    for (std::size_t i = 0; i < served.size(); ++i) {
      if ((waits[i].revents & POLLIN) == 0) continue;
      if (served[i].name == "dns_udp")
        answerQuestion(served[i].fd);
      else
        answerConnection(served[i]);
    }
    if (waits.back().revents == 0) continue;
    char text[4096];
    const ssize_t count = ::read(agent, text, sizeof text);
    if (count <= 0) return told;
    told.append(text, static_cast<std::size_t>(count));
  }
}

// --- both together
// ---------------------------------------------------------------------------------

struct World {
  NetworkRequest request;
  bool ordinary = false;       // in a user namespace of a user without privileges
  bool broker_closes = false;  // before the agent begins
  std::function<std::string(const AgentNetwork&)> agent;
  bool (*before)() = nullptr;  // in the child, before it enters the network
};

inline void writeTo(const std::string& path, const std::string& text) {
  const base::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  (void)!::write(file.get(), text.data(), text.size());
}

inline bool becomeOrdinary() {
  if (::getuid() == 0 && (::setresgid(kOrdinary, kOrdinary, kOrdinary) != 0 ||
                          ::setresuid(kOrdinary, kOrdinary, kOrdinary) != 0))
    return false;
  const std::string uid = std::to_string(::getuid());
  const std::string gid = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  writeTo("/proc/self/setgroups", "deny");
  writeTo("/proc/self/uid_map", "0 " + uid + " 1");
  writeTo("/proc/self/gid_map", "0 " + gid + " 1");
  return true;
}

/// In the child: what the agent told.
inline std::string live(const World& world) {
  const base::UniqueFd outside(::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
  if (world.ordinary && !becomeOrdinary()) return "no user namespaces";
  if (world.before != nullptr && !world.before()) return "not prepared";
  auto network = enterAgentNetwork(world.request);
  if (!network) return network.error().sentence();
  if (world.broker_closes)
    for (auto* sockets : {&network->transparent, &network->dns_udp, &network->dns_tcp})
      sockets->clear();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t agent = ::fork();
  if (agent == 0) {
    ::close(ends[0]);
    ::setpgid(0, 0);
    const std::string told = world.agent(*network);
    (void)!::write(ends[1], told.data(), told.size());
    ::kill(0, SIGKILL);  // its servers too
  }
  ::close(ends[1]);
  // The broker lives outside. A user namespace has no right to go back, so there it stays.
  if (!world.ordinary && ::setns(outside.get(), CLONE_NEWNET) != 0) return "cannot leave";
  const std::string told = serve(*network, ends[0]);
  ::waitpid(agent, nullptr, 0);
  return told;
}

inline std::string told(const World& world) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string text = live(world);
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

/// With no door, and the broker outside.
inline World alone(std::function<std::string(const AgentNetwork&)> agent) {
  World world;
  world.agent = std::move(agent);
  return world;
}

/// In a user namespace, with these ports for the broker.
inline World byPorts(NetworkRequest request,
                     std::function<std::string(const AgentNetwork&)> agent) {
  World world = alone(std::move(agent));
  world.request = std::move(request);
  world.ordinary = true;
  return world;
}

}  // namespace warder::tests
