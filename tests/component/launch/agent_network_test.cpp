// What the agent meets in a network whose every connection comes to the broker.
#include "supervisor/launch/agent_network.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/agent_network_world.h"

namespace warder::launch {
namespace {

using tests::Address;
using tests::alone;
using tests::ask;
using tests::dial;
using tests::nameOfError;
using tests::readSome;
using tests::serveOwn;
using tests::socketTo;
using tests::told;
using tests::World;

#define NEEDS_ROOT() \
  if (!mayMakeNetworks()) GTEST_SKIP() << "needs CAP_SYS_ADMIN and CAP_NET_ADMIN"

TEST(AgentNetwork, HandsOverEveryConnectionWithTheAddressThatWasDialled) {
  NEEDS_ROOT();
  const struct {
    const char* ip;
    std::uint16_t port;
    const char* answer;
  } cases[] = {{"93.184.216.34", 443, "transparent 93.184.216.34 443"},
               {"1.1.1.1", 22, "transparent 1.1.1.1 22"},
               {"169.254.169.254", 80, "transparent 169.254.169.254 80"},
               {"198.18.0.1", 65535, "transparent 198.18.0.1 65535"},
               {"10.0.0.5", 1, "transparent 10.0.0.5 1"},
               {"192.0.2.1", 1, "transparent 192.0.2.1 1"},
               {"128.0.0.1", 7411, "transparent 128.0.0.1 7411"},
               {"126.255.255.255", 7410, "transparent 126.255.255.255 7410"},
               {"8.8.8.8", 53, "transparent 8.8.8.8 53"},
               {"::ffff:9.9.9.9", 443, "transparent 9.9.9.9 443"},
               {"2606:4700::1111", 8443, "transparent 2606:4700::1111 8443"},
               {"::2", 80, "transparent ::2 80"},
               {"0:0:1::1", 80, "transparent 0:0:1::1 80"},
               {"1::1", 80, "transparent 1::1 80"},
               {"fd00::1", 443, "transparent fd00::1 443"},
               {"64:ff9b::7f00:1", 80, "transparent 64:ff9b::7f00:1 80"}};
  for (const auto& one : cases)
    EXPECT_EQ(told(alone([&](const auto&) { return dial(one.ip, one.port); })), one.answer)
        << one.ip;
}

TEST(AgentNetwork, LeavesLoopbackToTheAgent) {
  NEEDS_ROOT();
  for (const char* ip : {"127.0.0.1", "127.255.255.254", "::1", "::ffff:127.0.0.1", "0.0.0.0"})
    for (const std::uint16_t port : {1, 80, 443, 3999, 15001})
      EXPECT_EQ(told(alone([&](const auto&) { return dial(ip, port); })), "ECONNREFUSED")
          << ip << " " << port;
}

TEST(AgentNetwork, LeavesTheAgentsOwnServersToIt) {
  NEEDS_ROOT();
  const auto agent = [](const AgentNetwork&) {
    std::string said = serveOwn("127.0.0.1", 3000) + " " + serveOwn("0.0.0.0", 3001) + " " +
                       serveOwn("::", 3002) + " " + serveOwn("::1", 3003) + " " +
                       serveOwn("0.0.0.0", 443) + "\n";
    said += dial("127.0.0.1", 3000) + " " + dial("127.0.0.1", 3001) + " " +
            dial("127.0.0.7", 3001) + " " + dial("0.0.0.0", 3001) + " " + dial("::1", 3002) + " " +
            dial("::ffff:127.0.0.1", 3002) + " " + dial("::1", 3003) + " " +
            dial("127.0.0.1", 443) + "\n";
    // By another address it is somebody else's.
    return said + dial("10.0.0.5", 3001) + "\n" + dial("10.0.0.5", 443) + "\n";
  };
  EXPECT_EQ(told(alone(agent)),
            "listens listens listens listens listens\n"
            "own own own own own own own own\n"
            "transparent 10.0.0.5 3001\n"
            "transparent 10.0.0.5 443\n");
}

TEST(AgentNetwork, HasItsDoorsAndTheProxyOnLoopback) {
  NEEDS_ROOT();
  const auto agent = [](const AgentNetwork& network) {
    return std::to_string(network.ports.at(0)) + " " + std::to_string(network.ports.at(1)) + "\n" +
           dial("127.0.0.1", 7411) + "\n" + dial("::1", 7412) + "\n" +
           dial("127.0.0.1", kProxyPort) + "\n" + dial("::1", kProxyPort) + "\n" +
           dial("127.0.0.1", 7413) + "\n";
  };
  World world = alone(agent);
  world.request.doors = 2;
  EXPECT_EQ(
      told(world),
      "7411 7412\ndoor0 127.0.0.1 7411\ndoor1 ::1 7412\nproxy 127.0.0.1 7410\nproxy ::1 7410\n"
      "ECONNREFUSED\n");
}

TEST(AgentNetwork, HandsOverQuestionsForNamesWhateverServerTheyAreSentTo) {
  NEEDS_ROOT();
  for (const std::string ip :
       {"127.0.0.1", "127.0.0.11", "127.0.0.53", "8.8.8.8", "10.1.2.3", "::1", "2001:4860::8888"})
    EXPECT_EQ(told(alone([&](const auto&) { return ask(ip, 53); })), "dns_udp " + ip);
  for (const std::string ip : {"127.0.0.1", "127.0.0.11", "::1"})
    EXPECT_EQ(told(alone([&](const auto&) { return dial(ip, 53); })), "dns_tcp " + ip + " 53");
}

TEST(AgentNetwork, RefusesOtherDatagramsAtOnce) {
  NEEDS_ROOT();
  for (const char* ip : {"8.8.8.8", "127.0.0.1", "2606:4700::1111", "::1", "192.168.1.1"})
    for (const std::uint16_t port : {443, 123, 54, 4433})
      EXPECT_EQ(told(alone([&](const auto&) { return ask(ip, port); })), "ECONNREFUSED")
          << ip << " " << port;
}

TEST(AgentNetwork, RefusesEverythingWhenTheBrokerHasClosedIt) {
  NEEDS_ROOT();
  const auto agent = [](const AgentNetwork& network) {
    return std::string(nameOf(network.how)) + " " + dial("1.1.1.1", 443) + " " +
           dial("2606:4700::1111", 443) + " " + ask("8.8.8.8", 53) + " " + dial("127.0.0.1", 53);
  };
  World world = alone(agent);
  world.broker_closes = true;
  EXPECT_EQ(told(world), "sk_lookup ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED");
}

TEST(AgentNetwork, TakesManyConnectionsAtATime) {
  NEEDS_ROOT();
  constexpr int kMany = 700;  // at a time; descriptors are at most 1024
  const auto agent = [](const AgentNetwork&) {
    int good = 0;
    for (int round = 0; round < 3; ++round) {
      std::vector<base::UniqueFd> sockets;
      for (int i = 0; i < kMany; ++i) {
        Address address("203.0.113." + std::to_string(i % 250), 443);
        sockets.push_back(socketTo(address, SOCK_STREAM));
        if (::connect(sockets.back().get(), address.get(), address.size) != 0) return nameOfError();
      }
      for (int i = 0; i < kMany; ++i)
        if (readSome(sockets[static_cast<std::size_t>(i)]) ==
            "transparent 203.0.113." + std::to_string(i % 250) + " 443")
          ++good;
    }
    return std::to_string(good);
  };
  EXPECT_EQ(told(alone(agent)), std::to_string(3 * kMany));
}

/// As in a kernel without version 6.
bool forbidIpv6() {
  const std::unique_ptr<void, void (*)(scmp_filter_ctx)> filter(::seccomp_init(SCMP_ACT_ALLOW),
                                                                &::seccomp_release);
  return filter &&
         ::seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                            SCMP_A0(SCMP_CMP_EQ, AF_INET6)) == 0 &&
         ::seccomp_load(filter.get()) == 0;
}

TEST(AgentNetwork, DoesWithoutVersionSixAndSaysSo) {
  NEEDS_ROOT();
  World world;
  world.before = forbidIpv6;
  world.request.doors = 1;
  world.agent = [](const AgentNetwork& network) {
    return std::string(network.ipv6 ? "six " : "four ") +
           std::to_string(network.listeners.at(0).size()) + "\n" + dial("1.1.1.1", 443) + "\n" +
           dial("127.0.0.1", 7411) + "\n" + ask("8.8.8.8", 53) + "\n" + dial("127.0.0.1", 7412) +
           "\n";
  };
  EXPECT_EQ(told(world),
            "four 1\ntransparent 1.1.1.1 443\ndoor0 127.0.0.1 7411\ndns_udp 8.8.8.8\n"
            "ECONNREFUSED\n");
}

TEST(ListenHere, MakesDoorsAndTheProxyOnOtherPortsWhereTheirOwnAreTaken) {
  NEEDS_ROOT();
  // In a namespace of the test's own, so that nothing else has these ports.
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNET) != 0) ::_exit(10);
    const auto first = listenHere(2);
    if (!first) ::_exit(11);
    if (first->proxy_port != kProxyPort || first->ports.at(1) != 7412) ::_exit(12);
    if (first->how != Capture::None || first->network_namespace || !first->dns_udp.empty())
      ::_exit(13);
    const auto second = listenHere(2);
    if (!second || second->proxy_port == kProxyPort || second->proxy_port == 0) ::_exit(14);
    if (second->ports.at(0) == 7411 || second->listeners.at(1).size() != 2) ::_exit(15);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace warder::launch
