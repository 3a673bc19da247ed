#include "supervisor/init/resolver_file.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <sstream>

#include "supervisor/base/fd.h"

namespace warder::init {

namespace {

constexpr std::size_t kMaxServers = 3;  // MAXNS of resolv.h
constexpr std::size_t kMaxFile = 1 << 20;

bool isReachable(const std::string& server, bool ipv6) {
  in_addr v4{};
  in6_addr v6{};
  if (::inet_pton(AF_INET, server.c_str(), &v4) == 1) return true;
  return ipv6 && ::inet_pton(AF_INET6, server.c_str(), &v6) == 1 && !IN6_IS_ADDR_LINKLOCAL(&v6);
}

}  // namespace

std::vector<std::string> unreachableServers(const std::string& resolv_conf, bool ipv6) {
  std::vector<std::string> servers;
  std::istringstream lines(resolv_conf);
  for (std::string line; std::getline(lines, line) && servers.size() < kMaxServers;) {
    std::istringstream words(line);
    std::string key, server;
    if (!(words >> key >> server) || key != "nameserver") continue;
    if (isReachable(server, ipv6)) return {};
    servers.push_back(server);
  }
  return servers;
}

std::string lookAtNameServers(bool ipv6) {
  const auto text = base::readFile("/etc/resolv.conf", kMaxFile);
  const auto servers = unreachableServers(text ? *text : "", ipv6);
  if (servers.empty()) return {};
  std::string list;
  for (const auto& server : servers) list += (list.empty() ? "" : ", ") + server;
  return "the agent's programs find no names: no question to " + list +
         ", which /etc/resolv.conf names, comes to the broker; give the container a name server "
         "with an address of version 4";
}

}  // namespace warder::init
