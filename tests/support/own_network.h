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

#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <thread>
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

/// A DNS server on 127.0.0.1:53 of the own network: the first bytes of `addresses` per name, as A
/// records; NXDOMAIN for names that are not in the table, no answer at all for "silent.example".
class TinyDns {
 public:
  using Table = std::map<std::string, std::vector<std::string>>;

  explicit TinyDns(Table table) : table_(std::move(table)) {
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

  std::string answerTo(std::string_view query) const {
    std::string name;
    std::size_t at = 12;
    while (query[at] != 0) {
      const auto length = static_cast<std::size_t>(query[at]);
      name += (name.empty() ? "" : ".") + std::string(query.substr(at + 1, length));
      at += length + 1;
    }
    if (name == "silent.example") return "";
    const bool wants_a = query[at + 2] == 1;
    const auto found = table_.find(name);
    const std::size_t answers = wants_a && found != table_.end() ? found->second.size() : 0;
    std::string reply(query.substr(0, at + 5));
    reply[2] = static_cast<char>(0x84);
    reply[3] = static_cast<char>(found == table_.end() ? 3 : 0);
    reply[7] = static_cast<char>(answers);
    reply[9] = reply[11] = 0;
    for (std::size_t i = 0; i < answers; ++i) {
      in_addr address{};
      ::inet_pton(AF_INET, found->second[i].c_str(), &address);
      reply += std::string("\xc0\x0c\0\1\0\1\0\0\0\1\0\4", 12);
      reply.append(reinterpret_cast<const char*>(&address), 4);
    }
    return reply;
  }

  Table table_;
  int socket_ = -1;
};

}  // namespace warder::tests
