// The name server on real sockets of the loopback.
#include "secrets/dns/stub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "secrets/dns/message.h"
#include "tests/support/dns_stub_thread.h"

namespace warder::dns {
namespace {

namespace asio = boost::asio;
using tests::dnsOverTcp;
using tests::dnsQuery;
using tests::dnsWord;
using tests::StubThread;
using tests::TcpAsker;
using tests::UdpAsker;

constexpr const char* kHere = "127.0.0.1";

TEST(StubUdp, AnswersOverBothFamilies) {
  StubThread stub;
  for (const char* address : {kHere, "::1"}) {
    UdpAsker asker(address, stub.serveUdp(address));
    EXPECT_EQ(asker.ask(dnsQuery("api.example.org")).records.size(), 1U) << address;
    EXPECT_EQ(asker.ask(dnsQuery("evil.example")).rcode, 3U) << address;
  }
}

TEST(StubUdp, AnswersFromTheAddressThatWasAsked) {
  StubThread stub;
  const std::uint16_t port = stub.serveUdp("0.0.0.0");
  // A connected socket takes no answer from anywhere else; 127.0.0.11 is an engine's resolver.
  for (const char* address : {"127.0.0.1", "127.0.0.11", "127.8.8.8"}) {
    UdpAsker asker(address, port);
    EXPECT_EQ(asker.ask(dnsQuery("api.example.org")).records.size(), 1U) << address;
  }
}

TEST(StubUdp, AnswersAllThatWaitsAndIgnoresWhatIsNoQuestion) {
  StubThread stub;
  UdpAsker asker(kHere, stub.serveUdp(kHere));
  asker.send("");
  asker.send("x");
  tests::DnsHead answer;
  answer.flags = 0x8180;
  asker.send(answer.bytes());
  // More than are answered at one go.
  for (unsigned i = 0; i < 150; ++i)
    asker.send(dnsQuery("n" + std::to_string(i) + ".wild.org", tests::kTypeA, 0));
  for (unsigned i = 0; i < 150; ++i) {
    const auto seen = asker.receive();
    EXPECT_EQ(seen.rcode, 0U);
    EXPECT_EQ(seen.records.size(), 1U);
  }
}

TEST(StubUdp, SurvivesAnAskerThatIsGone) {
  StubThread stub;
  const std::uint16_t port = stub.serveUdp(kHere);
  for (int i = 0; i < 50; ++i) UdpAsker(kHere, port).send(dnsQuery("api.example.org"));
  EXPECT_EQ(UdpAsker(kHere, port).ask(dnsQuery("api.example.org")).rcode, 0U);
}

TEST(StubUdp, RefusesAQuestionThatIsTooLong) {
  StubThread stub;
  UdpAsker asker(kHere, stub.serveUdp(kHere));
  tests::DnsHead head;
  head.additionals = 1;
  const std::string front =
      head.bytes() + tests::dnsName("api.example.org") + dnsWord(1) + dnsWord(1);
  const auto padded = [&](std::size_t size) {
    const auto padding = static_cast<unsigned>(size - front.size() - 15);
    return front + tests::dnsOpt(1232, dnsWord(12) + dnsWord(padding) + std::string(padding, '\0'));
  };
  EXPECT_EQ(asker.ask(padded(kLongestQuery)).rcode, 0U);
  EXPECT_EQ(asker.ask(padded(kLongestQuery + 1)).rcode, 1U);
  EXPECT_EQ(asker.ask(padded(60'000)).rcode, 1U);
}

TEST(StubUdp, KeepsWithinTheSizeThatTheAskerTakes) {
  StubThread stub;
  UdpAsker asker(kHere, stub.serveUdp(kHere));
  const std::string label(63, 'x');
  const std::string longest =
      label + "." + label + "." + label + "." + std::string(52, 'y') + ".example";
  for (const unsigned size : {0U, 512U, 1232U, 4096U})
    for (const unsigned type : {1U, 255U}) {
      EXPECT_EQ(asker.ask(dnsQuery(longest, type, size)).rcode, 3U);
      EXPECT_LE(asker.lastSize(), size < 512 ? 512U : 1232U);
    }
}

TEST(StubTcp, AnswersPipelinedQuestionsInTheirOrder) {
  StubThread stub;
  TcpAsker asker(kHere, stub.serveTcp(kHere));
  std::string all;
  for (unsigned i = 0; i < 500; ++i) {
    tests::DnsHead head;
    head.id = i;
    all += dnsOverTcp(head.bytes() + tests::dnsName(i % 2 ? "api.example.org" : "evil.example") +
                      dnsWord(1) + dnsWord(1));
  }
  asker.send(all);
  asker.endSending();
  for (unsigned i = 0; i < 500; ++i) {
    const auto answer = asker.receive();
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(answer->id, i);
    EXPECT_EQ(answer->rcode, i % 2 ? 0U : 3U);
  }
  EXPECT_FALSE(asker.receive()) << "closed when the asker is done";
  EXPECT_EQ(stub.events().front().data.at("transport"), "tcp");
}

TEST(StubTcp, TakesQuestionsInAnyPieces) {
  StubThread stub;
  TcpAsker asker("::1", stub.serveTcp("::1"));
  asker.socket().set_option(asio::ip::tcp::no_delay(true));
  const std::string query =
      dnsOverTcp(dnsQuery("api.example.org")) + dnsOverTcp(dnsQuery("evil.example"));
  for (const char byte : query) asker.send(std::string(1, byte));
  EXPECT_EQ(asker.receive()->rcode, 0U);
  EXPECT_EQ(asker.receive()->rcode, 3U);
}

TEST(StubTcp, ClosesAfterWhatIsNoQuestion) {
  StubThread stub;
  const std::uint16_t port = stub.serveTcp(kHere);
  tests::DnsHead answer;
  answer.flags = 0x8180;
  for (const std::string& bytes :
       {std::string("\0\0", 2), dnsOverTcp("short"), dnsOverTcp(answer.bytes()),
        std::string("GET / HTTP/1.1\r\n\r\n")}) {
    TcpAsker asker(kHere, port);
    asker.send(bytes + dnsOverTcp(dnsQuery("api.example.org")));
    asker.endSending();
    while (const auto seen = asker.receive()) EXPECT_NE(seen->rcode, 0U);
  }
}

TEST(StubTcp, RefusesAQuestionThatIsTooLongWithoutReadingIt) {
  StubThread stub;
  const std::uint16_t port = stub.serveTcp(kHere);
  TcpAsker asker(kHere, port);
  asker.send(dnsWord(kLongestQuery + 1) + dnsQuery("api.example.org"));
  const auto answer = asker.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rcode, 1U);
  EXPECT_FALSE(asker.receive());
}

TEST(StubTcp, ClosesTheNewestConnectionAtTheLimit) {
  StubThread stub({2, kTcpIdle});
  const std::uint16_t port = stub.serveTcp(kHere);
  const std::string query = dnsQuery("api.example.org");
  TcpAsker first(kHere, port);
  std::optional<TcpAsker> second(std::in_place, kHere, port);
  EXPECT_TRUE(first.ask(query));
  EXPECT_TRUE(second->ask(query)) << "as many as there may be";
  TcpAsker third(kHere, port);
  EXPECT_FALSE(third.ask(query));
  EXPECT_TRUE(first.ask(query)) << "those that are there live on";
  EXPECT_EQ(stub.counts().at("connections_refused"), 1U);
  second.reset();
  bool answered = false;
  while (!answered) answered = TcpAsker(kHere, port).ask(query).has_value();
}

TEST(StubTcp, ClosesAConnectionThatBringsNoWholeQuestionInTime) {
  StubThread stub({kMostTcpConnections, std::chrono::milliseconds(100)});
  const std::uint16_t port = stub.serveTcp(kHere);
  TcpAsker silent(kHere, port);
  EXPECT_FALSE(silent.receive());
  // Bytes alone are no progress.
  TcpAsker slow(kHere, port);
  boost::system::error_code failure;
  asio::write(slow.socket(), asio::buffer(std::string("\x0f\xff", 2)), failure);
  while (!failure) {
    asio::write(slow.socket(), asio::buffer("x", 1), failure);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  TcpAsker late(kHere, port);
  EXPECT_TRUE(late.ask(dnsQuery("api.example.org"))) << "one that asks is answered";
  EXPECT_FALSE(late.receive()) << "and closed when it asks no more";
}

TEST(StubTcp, ClosesAConnectionThatTakesNoAnswers) {
  StubThread stub({kMostTcpConnections, std::chrono::milliseconds(100)});
  TcpAsker asker(kHere, stub.serveTcp(kHere));
  const std::string query = dnsOverTcp(dnsQuery("evil.example"));
  std::string many;
  for (int i = 0; i < 100; ++i) many += query;
  boost::system::error_code failure;
  while (!failure) asio::write(asker.socket(), asio::buffer(many), failure);
}

TEST(StubStream, ServesAConnectionThatSomebodyElseAccepted) {
  StubThread stub;
  asio::ip::tcp::acceptor acceptor(stub.context(), {asio::ip::make_address(kHere), 0});
  TcpAsker asker(kHere, acceptor.local_endpoint().port());
  asio::ip::tcp::socket socket = acceptor.accept();
  stub.onThread([&] {
    auto serving = stub.stub().serveStream(std::move(socket));
    asio::co_spawn(stub.context(), std::move(serving), asio::detached);
  });
  EXPECT_EQ(asker.ask(dnsQuery("api.example.org"))->records.size(), 1U);
}

TEST(Stub, TellsTheCountsOfTheRun) {
  StubThread stub;
  stub.onThread([&] { stub.stub().tellCounts(); });
  EXPECT_TRUE(stub.events().empty()) << "nothing was asked, nothing is told";
  UdpAsker asker(kHere, stub.serveUdp(kHere));
  asker.ask(dnsQuery("evil.example"));
  const auto counts = stub.counts();
  EXPECT_EQ(stub.events().back().type, "dns.summary");
  EXPECT_EQ(counts.at("queries"), 1U);
  EXPECT_EQ(counts.at("denied"), 1U);
}

TEST(Stub, RefusesSocketsOfAnotherKind) {
  StubThread stub;
  const auto socketOf = [](int family, int type) {
    return base::UniqueFd(::socket(family, type | SOCK_CLOEXEC, 0));
  };
  stub.onThread([&] {
    EXPECT_FALSE(stub.stub().serveUdp(socketOf(AF_INET, SOCK_STREAM)));
    EXPECT_FALSE(stub.stub().serveUdp(socketOf(AF_UNIX, SOCK_DGRAM)));
    EXPECT_FALSE(stub.stub().serveUdp(base::UniqueFd()));
    EXPECT_FALSE(stub.stub().serveTcp(socketOf(AF_UNIX, SOCK_STREAM)));
    EXPECT_FALSE(stub.stub().serveTcp(base::UniqueFd()));
  });
}

TEST(Stub, ClosesItsConnectionsWhenItGoes) {
  std::optional<StubThread> stub(std::in_place);
  TcpAsker asker(kHere, stub->serveTcp(kHere));
  EXPECT_TRUE(asker.ask(dnsQuery("api.example.org")));
  stub.reset();
  EXPECT_FALSE(asker.receive());
}

}  // namespace
}  // namespace warder::dns
