// Runs a function in a child process with a network, a resolver configuration and a DNS server of
// its own (user, mount and network namespaces), so that no test asks a real resolver.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace warder::tests {

namespace own_network {

inline void writeFile(const std::string& path, const std::string& text) {
  std::ofstream(path) << text;
}

inline bool enter(const std::string& folder) {
  const std::string uid = std::to_string(::getuid());
  const std::string gid = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET) != 0) return false;
  writeFile("/proc/self/setgroups", "deny");
  writeFile("/proc/self/uid_map", "0 " + uid + " 1");
  writeFile("/proc/self/gid_map", "0 " + gid + " 1");
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  writeFile(folder + "/resolv.conf", "nameserver 127.0.0.1\n");
  writeFile(folder + "/hosts", "127.0.0.1 localhost from-hosts.example\n");
  for (const std::string name : {"resolv.conf", "hosts"})
    if (::mount((folder + "/" + name).c_str(), ("/etc/" + name).c_str(), nullptr, MS_BIND,
                nullptr) != 0)
      return false;
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  const bool up = ::ioctl(socket, SIOCSIFFLAGS, &request) == 0;
  ::close(socket);
  return up;
}

}  // namespace own_network

/// What `inside` returned, carried back through a pipe; nullopt where namespaces are not to be had.
inline std::optional<std::string> inOwnNetwork(const std::function<std::string()>& inside) {
  char folder[] = "/tmp/warder-test-net-XXXXXX";
  if (::mkdtemp(folder) == nullptr) return std::nullopt;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    if (!own_network::enter(folder)) ::_exit(77);
    const std::string text = inside();
    const bool whole = ::write(ends[1], text.data(), text.size()) == static_cast<long>(text.size());
    ::_exit(whole ? 0 : 1);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (long count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(count));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  for (const std::string name : {"resolv.conf", "hosts"})
    ::unlink((std::string(folder) + "/" + name).c_str());
  ::rmdir(folder);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) return std::nullopt;
  return text;
}

/// A DNS server on 127.0.0.1:53 of the own network: addresses per name, as A and AAAA records with
/// a TTL of 1 s; NXDOMAIN for names that are not in the table, no answer at all for
/// "silent.example", and none to AAAA questions for "half-silent.example".
class TinyDns {
 public:
  using Table = std::map<std::string, std::vector<std::string>>;

  /// AnswerOf::OneInTurn: each question gets the next address alone, the last one for ever.
  enum class AnswerOf { All, OneInTurn };

  explicit TinyDns(Table table, AnswerOf answers = AnswerOf::All)
      : table_(std::move(table)), one_in_turn_(answers == AnswerOf::OneInTurn) {
    socket_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(53);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
    std::thread([this] { serve(); }).detach();  // ends with the child process
  }
  TinyDns(const TinyDns&) = delete;
  TinyDns& operator=(const TinyDns&) = delete;

 private:
  void serve() {
    char query[512];
    sockaddr_in from{};
    for (;;) {
      socklen_t size = sizeof from;
      const ssize_t count =
          ::recvfrom(socket_, query, sizeof query, 0, reinterpret_cast<sockaddr*>(&from), &size);
      if (count < 17) continue;
      const std::string reply = answerTo({query, static_cast<std::size_t>(count)});
      if (!reply.empty())
        ::sendto(socket_, reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
    }
  }

  /// The addresses of this name and family that are the answer now.
  std::vector<std::string> addressesOf(const std::string& name, bool wants_a) {
    std::vector<std::string> fitting;
    const auto found = table_.find(name);
    if (found == table_.end()) return fitting;
    for (const std::string& address : found->second)
      if ((address.find(':') == std::string::npos) == wants_a) fitting.push_back(address);
    if (!one_in_turn_ || fitting.empty()) return fitting;
    const std::size_t turn = asked_[{name, wants_a}]++;
    return {fitting[std::min(turn, fitting.size() - 1)]};
  }

  std::string answerTo(std::string_view query) {
    std::string name;
    std::size_t at = 12;
    while (query[at] != 0) {
      const auto length = static_cast<std::size_t>(query[at]);
      name += (name.empty() ? "" : ".") + std::string(query.substr(at + 1, length));
      at += length + 1;
    }
    if (name == "silent.example") return "";
    const bool wants_a = query[at + 2] == 1;
    if (name == "half-silent.example" && !wants_a) return "";
    const std::vector<std::string> answers = addressesOf(name, wants_a);
    std::string reply(query.substr(0, at + 5));
    reply[2] = static_cast<char>(0x84);
    reply[3] = static_cast<char>(table_.count(name) == 0 ? 3 : 0);
    reply[7] = static_cast<char>(answers.size());
    reply[9] = reply[11] = 0;
    for (const std::string& text : answers) {
      char address[16];
      ::inet_pton(wants_a ? AF_INET : AF_INET6, text.c_str(), address);
      const std::size_t size = wants_a ? 4 : 16;
      reply += std::string("\xc0\x0c\0", 3) + static_cast<char>(wants_a ? 1 : 28);
      reply += std::string("\0\1\0\0\0\1\0", 7) + static_cast<char>(size);
      reply.append(address, size);
    }
    return reply;
  }

  Table table_;
  bool one_in_turn_ = false;
  std::map<std::pair<std::string, bool>, std::size_t> asked_;
  int socket_ = -1;
};

}  // namespace warder::tests
