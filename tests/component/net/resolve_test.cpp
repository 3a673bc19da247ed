// Names, in a network of the test's own with a DNS server of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "supervisor/net/dial.h"
#include "tests/support/own_network.h"

namespace warder::net {
namespace {

namespace asio = boost::asio;
using testing::HasSubstr;

asio::awaitable<void> tell(Endpoint endpoint, DialRules rules, std::string& outcome) {
  Dialled dialled = co_await dial(std::move(endpoint), rules);
  if (dialled)
    outcome = "connected";
  else
    outcome = std::string(nameOf(dialled.error().why)) + ": " + dialled.error().sentence;
}

std::string dialName(const std::string& host, const DialRules& rules) {
  std::string outcome;
  asio::io_context context;
  asio::co_spawn(context, tell(Endpoint{false, host, 9, ""}, rules, outcome), asio::detached);
  context.run();
  return outcome;
}

const tests::TinyDns::Table kNames = {
    {"loopback.example", {"127.0.0.1"}},           {"metadata.example", {"169.254.169.254"}},
    {"two.example", {"10.0.0.1", "127.0.0.1"}},    {"nothing.example", {}},
    {"first.example", {"127.0.0.1", "127.0.0.2"}}, {"second.example", {"127.0.0.2", "127.0.0.1"}},
};

/// Dials in a network of its own; skips where there are no namespaces to be had.
std::string outcomeOf(const std::string& host, const DialRules& rules) {
  const auto outcome = tests::inOwnNetwork([&] {
    const tests::TinyDns dns(kNames);
    return dialName(host, rules);
  });
  return outcome.value_or("no namespaces");
}

class Resolve : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests::inOwnNetwork([] { return std::string("here"); }))
      GTEST_SKIP() << "user namespaces are not to be had here";
  }
  const DialRules named_{true, std::chrono::milliseconds(10'000)};
  const DialRules hurried_{true, std::chrono::milliseconds(100)};
};

TEST_F(Resolve, AsksTheConfiguredServer) {
  EXPECT_THAT(outcomeOf("loopback.example", named_), HasSubstr("Connection refused"));
}

TEST_F(Resolve, HonoursTheHostsFile) {
  EXPECT_THAT(outcomeOf("from-hosts.example", named_), HasSubstr("Connection refused"));
}

TEST_F(Resolve, SaysThatANameDoesNotExist) {
  EXPECT_THAT(outcomeOf("absent.example", named_),
              testing::StartsWith("dns: the name absent.example could not be resolved: "));
  EXPECT_THAT(outcomeOf("nothing.example", named_), testing::StartsWith("dns: "));
}

TEST_F(Resolve, GivesUpOnAServerThatNeverAnswers) {
  EXPECT_EQ(outcomeOf("silent.example", hurried_),
            "dns: the name silent.example could not be resolved: no answer in time");
}

TEST_F(Resolve, RefusesNamesThatLeadToPrivateAddresses) {
  // BC-067: a name that resolves to metadata is no better than the address.
  EXPECT_THAT(outcomeOf("metadata.example", {}),
              testing::StartsWith("address_denied: metadata.example:9 leads to 169.254.169.254"));
  EXPECT_THAT(outcomeOf("two.example", {}), testing::StartsWith("address_denied: "));
  EXPECT_THAT(outcomeOf("loopback.example", {}), testing::StartsWith("address_denied: "));
}

TEST_F(Resolve, TriesTheNextAddressWhenOneFails) {
  for (const char* name : {"first.example", "second.example"}) {
    const auto outcome = tests::inOwnNetwork([name] {
      const tests::TinyDns dns(kNames);
      const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(9);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address);
      ::listen(listener, 1);
      return dialName(name, {true, std::chrono::milliseconds(10'000)});
    });
    EXPECT_EQ(outcome, "connected") << name;
  }
}

}  // namespace
}  // namespace warder::net
