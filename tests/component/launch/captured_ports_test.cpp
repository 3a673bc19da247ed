// Where there is no sk_lookup: in a user namespace of an ordinary user.
#include <gtest/gtest.h>

#include <string>

#include "supervisor/launch/agent_network.h"
#include "tests/support/agent_network_world.h"

namespace warder::launch {
namespace {

using tests::ask;
using tests::byPorts;
using tests::dial;
using tests::serveOwn;
using tests::told;

// ----------------------------------------------

TEST(AgentNetworkByPorts, HandsOverThePolicysPortsAndThoseOfTheWeb) {
  const auto agent = [](const AgentNetwork& network) {
    const std::string how = std::string(nameOf(network.how)) + ": " + network.why_not_all + "\n";
    return how + dial("1.1.1.1", 8443) + "\n" + dial("2606:4700::1111", 443) + "\n" +
           dial("1.1.1.1", 80) + "\n" + dial("::ffff:9.9.9.9", 443) + "\n" + dial("8.8.8.8", 53) +
           "\n" + ask("8.8.8.8", 53) + "\n" + ask("2001:4860::8888", 53) + "\n";
  };
  const auto text = told(byPorts({0, {8443, 443, 53, 8443}}, agent));
  if (text == "no user namespaces") GTEST_SKIP() << text;
  EXPECT_EQ(text,
            "ports: cannot make a map of listeners: Operation not permitted\n"
            "transparent 1.1.1.1 8443\ntransparent 2606:4700::1111 443\ntransparent 1.1.1.1 80\n"
            "transparent 9.9.9.9 443\ndns_tcp 8.8.8.8 53\ndns_udp 8.8.8.8\n"
            "dns_udp 2001:4860::8888\n");
}

TEST(AgentNetworkByPorts, RefusesEveryOtherPortAtOnce) {
  const auto agent = [](const AgentNetwork&) {
    const std::string own = serveOwn("127.0.0.1", 3000);
    return dial("1.1.1.1", 22) + " " + dial("1.1.1.1", 8080) + " " + dial("::2", 1) + " " +
           dial("127.0.0.1", 3999) + " " + ask("8.8.8.8", 443) + " " + own + " " +
           dial("127.0.0.1", 3000);
  };
  const auto text = told(byPorts({1, {8443}}, agent));
  if (text == "no user namespaces") GTEST_SKIP() << text;
  EXPECT_EQ(text, "ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED ECONNREFUSED listens own");
}

TEST(AgentNetworkByPorts, GivesDoorsOtherPortsThanThePolicys) {
  const auto agent = [](const AgentNetwork& network) {
    return dial("1.1.1.1", 7411) + "\n" + dial("1.1.1.1", 7410) + "\n" +
           dial("127.0.0.1", network.ports.at(0)).substr(0, 5) + " " +
           dial("::1", network.ports.at(1)).substr(0, 5) + " " +
           dial("127.0.0.1", network.proxy_port).substr(0, 5) + "\n";
  };
  const auto text = told(byPorts({2, {7410, 7411}}, agent));
  if (text == "no user namespaces") GTEST_SKIP() << text;
  EXPECT_EQ(text, "transparent 1.1.1.1 7411\ntransparent 1.1.1.1 7410\ndoor0 door1 proxy\n");
}

TEST(AgentNetworkByPorts, ServesSixtyFourPortsAndSaysWhichItDoesNot) {
  for (const std::size_t count : {62u, 63u}) {
    NetworkRequest request;
    for (std::size_t i = 0; i < count; ++i)
      request.ports.push_back(static_cast<std::uint16_t>(20'000 + i));
    const auto agent = [](const AgentNetwork& network) {
      return std::to_string(network.ports_served.size()) + " " +
             std::to_string(network.ports_left.size()) + " " + dial("1.1.1.1", 20'061) + " " +
             dial("1.1.1.1", 20'062);
    };
    const auto text = told(byPorts(request, agent));
    if (text == "no user namespaces") GTEST_SKIP() << text;
    EXPECT_EQ(text, "64 " + std::to_string(count - 62) + " transparent 1.1.1.1 20061 ECONNREFUSED");
  }
}

}  // namespace
}  // namespace warder::launch
