// Names, in a network of the test's own with a DNS server of the test's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <sstream>

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

/// A listener on port 9 of an address of the own network.
int listenOn(const std::string& text, int backlog = 8) {
  const bool v6 = text.find(':') != std::string::npos;
  const int listener = ::socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address6{};
  address6.sin6_family = AF_INET6;
  address6.sin6_port = htons(9);
  sockaddr_in address4{};
  address4.sin_family = AF_INET;
  address4.sin_port = htons(9);
  ::inet_pton(AF_INET6, text.c_str(), &address6.sin6_addr);
  ::inet_pton(AF_INET, text.c_str(), &address4.sin_addr);
  const auto* address = v6 ? reinterpret_cast<const sockaddr*>(&address6)
                           : reinterpret_cast<const sockaddr*>(&address4);
  const auto size = static_cast<socklen_t>(v6 ? sizeof address6 : sizeof address4);
  if (::bind(listener, address, size) != 0 || ::listen(listener, backlog) != 0) std::abort();
  return listener;
}

/// How many connections wait at a listener; they are taken.
int arrived(int listener) {
  int count = 0;
  for (;; ++count) {
    const int guest = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (guest < 0) return count;
    ::close(guest);
  }
}

int quietListener(const std::string& text) {
  const int listener = listenOn(text);
  ::fcntl(listener, F_SETFL, O_NONBLOCK);
  return listener;
}

TEST_F(Resolve, Bc013EachConnectionGoesWhereTheNamePointsNow) {
  const auto outcome = tests::inOwnNetwork([] {
    const tests::TinyDns dns(tests::TinyDns::Table{{"moving.example", {"127.0.0.2", "127.0.0.3"}}},
                             tests::TinyDns::AnswerOf::OneInTurn);
    const int first = quietListener("127.0.0.2");
    const int second = quietListener("127.0.0.3");
    const DialRules named{true, std::chrono::milliseconds(10'000)};
    std::string seen;
    for (int i = 0; i < 3; ++i) {
      seen += dialName("moving.example", named) + " ";
      seen += std::to_string(arrived(first)) + std::to_string(arrived(second)) + " ";
    }
    return seen;
  });
  EXPECT_EQ(outcome, "connected 10 connected 01 connected 01 ");
}

TEST_F(Resolve, Bc067ANameThatIsReboundBetweenConnectionsIsCheckedEachTime) {
  const auto outcome = tests::inOwnNetwork([] {
    const tests::TinyDns dns(
        tests::TinyDns::Table{{"rebound.example", {"8.8.8.8", "127.0.0.1", "169.254.169.254"}}},
        tests::TinyDns::AnswerOf::OneInTurn);
    const int listener = quietListener("127.0.0.1");
    std::string seen;
    for (int i = 0; i < 3; ++i) {
      const std::string one = dialName("rebound.example", DialRules{});
      seen += one.substr(0, one.find(':')) + " ";
    }
    return seen + std::to_string(arrived(listener));
  });
  EXPECT_EQ(outcome, "refused address_denied address_denied 0");
}

TEST_F(Resolve, Bc067OnlyTheAddressesThatPassAreDialled) {
  const auto outcome = tests::inOwnNetwork([] {
    const tests::TinyDns dns(
        tests::TinyDns::Table{{"mixed.example", {"127.0.0.1", "8.8.8.8", "::1"}}});
    const int v4 = quietListener("127.0.0.1");
    const int v6 = quietListener("::1");
    const std::string one = dialName("mixed.example", DialRules{});
    return one.substr(0, one.find(':')) + " " + std::to_string(arrived(v4) + arrived(v6));
  });
  EXPECT_EQ(outcome, "refused 0");
}

TEST_F(Resolve, Bc067NoNameLeadsToMetadataOrLinkLocalEvenWhenARuleNamesIt) {
  const auto outcome = tests::inOwnNetwork([] {
    const tests::TinyDns dns(
        {{"a.example", {"169.254.169.254", "100.100.100.200", "fd00:ec2::254"}},
         {"b.example", {"fe80::1", "::ffff:169.254.169.254"}},
         {"c.example", {"64:ff9b::a9fe:a9fe"}},
         {"d.example", {"198.18.0.1", "0.0.0.0", "255.255.255.255", "::"}}});
    const DialRules named{true, std::chrono::milliseconds(10'000)};
    std::string seen;
    for (const char* name : {"a.example", "b.example", "c.example", "d.example"})
      seen += dialName(name, named) + "\n";
    return seen;
  });
  const std::string seen = outcome.value_or("");
  EXPECT_EQ(std::count(seen.begin(), seen.end(), '\n'), 4);
  EXPECT_THAT(seen, HasSubstr("address_denied: a.example:9 leads to "));
  EXPECT_THAT(seen, HasSubstr("which only a rule for that very address opens"));
  EXPECT_THAT(seen, HasSubstr("address_denied: b.example:9"));
  EXPECT_THAT(seen, HasSubstr("address_denied: c.example:9"));
  EXPECT_THAT(seen, HasSubstr("which is never dialled"));
  EXPECT_THAT(seen, testing::Not(HasSubstr("refused")));
}

TEST_F(Resolve, ARuleForTheVeryAddressOpensMetadataAndNothingOpensWhatIsNeverDialled) {
  const auto outcome = tests::inOwnNetwork([] {
    const DialRules named{true, std::chrono::milliseconds(10'000)};
    std::string seen;
    for (const char* host : {"169.254.169.254", "198.18.0.1", "0.0.0.0"}) {
      const std::string one = dialName(host, named);
      seen += one.substr(0, one.find(':')) + " ";
    }
    return seen;
  });
  EXPECT_EQ(outcome, "refused address_denied address_denied ");
}

/// A listener whose queue is full: its kernel drops what comes, like a gateway without a route.
void makeDead(const std::string& text) {
  listenOn(text, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(9);
  ::inet_pton(AF_INET6, text.c_str(), &address.sin6_addr);
  for (int i = 0; i < 4; ++i) {
    const int filler = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ::connect(filler, reinterpret_cast<sockaddr*>(&address), sizeof address);
  }
}

TEST_F(Resolve, Bc071ADeadIpv6AddressDoesNotHoldUpTheIpv4One) {
  const auto outcome = tests::inOwnNetwork([] {
    const tests::TinyDns dns(
        tests::TinyDns::Table{{"dual.example", {"::1", "127.0.0.1"}}, {"dead.example", {"::1"}}});
    makeDead("::1");
    const int listener = quietListener("127.0.0.1");
    const std::string dead = dialName("dead.example", {true, std::chrono::milliseconds(400)});
    const std::string dual = dialName("dual.example", {true, std::chrono::milliseconds(5'000)});
    return dead.substr(0, dead.find(':')) + " " + dual + " " + std::to_string(arrived(listener));
  });
  EXPECT_EQ(outcome, "timeout connected 1");
}

TEST_F(Resolve, Bc071AServerThatIgnoresQuestionsForIpv6DoesNotHoldUpTheIpv4Address) {
  const auto outcome = tests::inOwnNetwork([] {
    const tests::TinyDns dns(tests::TinyDns::Table{{"half-silent.example", {"127.0.0.1"}}});
    const int listener = quietListener("127.0.0.1");
    // c-ares alone would ask 3 times, for 2, 4 and 8 seconds.
    const DialRules named{true, std::chrono::milliseconds(10'000)};
    const std::string one = dialName("half-silent.example", named);
    return one + " " + std::to_string(arrived(listener));
  });
  EXPECT_EQ(outcome, "connected 1");
}

asio::awaitable<void> holdOpen(std::string& timer) {
  Endpoint endpoint{false, "127.0.0.1", 9, ""};
  DialRules rules{true, std::chrono::milliseconds(10'000)};
  Dialled dialled = co_await dial(std::move(endpoint), rules);
  std::ifstream table("/proc/self/net/tcp");
  // The remote address is 127.0.0.1:9 and the state is ESTABLISHED: the timer stands in column 6.
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, remote, state, queues;
    words >> number >> local >> remote >> state >> queues >> timer;
    if (remote == "0100007F:0009" && state == "01") co_return;
  }
  timer = "no connection";
}

TEST_F(Resolve, Bc023KeepAliveRunsOnWhatIsDialled) {
  const auto outcome = tests::inOwnNetwork([] {
    listenOn("127.0.0.1");
    std::string timer;
    asio::io_context context;
    asio::co_spawn(context, holdOpen(timer), asio::detached);
    context.run();
    return timer.substr(0, 2);
  });
  EXPECT_EQ(outcome, "02");  // 2: the keep-alive timer (proc(5))
}

}  // namespace
}  // namespace warder::net
