// What each question is answered.
#include "secrets/dns/name_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policies/policy_reader.h"
#include "tests/support/dns_bytes.h"

namespace warder::dns {
namespace {

using testing::HasSubstr;
using tests::DnsAnswer;
using tests::dnsName;
using tests::dnsQuery;
using tests::dnsWord;
using tests::kTypeA;
using tests::kTypeAaaa;
using tests::kTypePtr;

class NameServerTest : public testing::Test {
 protected:
  DnsAnswer ask(std::string_view name, unsigned type = kTypeA) {
    return tests::readDnsAnswer(*server_.answer(dnsQuery(name, type), Transport::Udp));
  }
  std::string dataOf(std::string_view name, unsigned type) {
    const DnsAnswer answer = ask(name, type);
    EXPECT_EQ(answer.rcode, 0U) << name;
    EXPECT_EQ(answer.records.size(), 1U) << name;
    return answer.records.size() == 1 ? answer.records[0].data : "";
  }
  void expectNoData(std::string_view name, unsigned type) {
    const DnsAnswer answer = ask(name, type);
    EXPECT_EQ(answer.rcode, 0U) << name << " " << type;
    EXPECT_TRUE(answer.records.empty()) << name << " " << type;
  }

  static bool isAllowed(std::string_view host) {
    return host == "api.example.org" || host == "1.example.org" || host == "gateway" ||
           host == "1.2.3.4" || host == "::1" ||
           (host.size() > 9 && host.substr(host.size() - 9) == ".wild.org");
  }

  std::shared_ptr<NameTable> table_ = std::make_shared<NameTable>(4);
  std::vector<base::Event> events_;
  NameServer server_{{isAllowed, table_, [this](base::Event event) { events_.push_back(event); }}};
};

TEST_F(NameServerTest, GivesAllowedNamesAddressesOfTheRun) {
  EXPECT_EQ(dataOf("api.example.org", kTypeA), std::string("\xc6\x12\0\1", 4));
  EXPECT_EQ(dataOf("api.example.org", kTypeAaaa),
            std::string("\xfd\x57\x41\x52\x44\x45\x52\0\0\0\0\0\xc6\x12\0\1", 16));
  EXPECT_EQ(ask("api.example.org").records[0].ttl, kAnswerTtlSeconds);
  EXPECT_EQ(table_->nameOf(boost::asio::ip::make_address("198.18.0.1")), "api.example.org");
  EXPECT_TRUE(events_.empty());
}

TEST_F(NameServerTest, MakesNamesCanonicalAndKeepsTheCaseOfTheQuestion) {
  const DnsAnswer answer = ask("aPI.eXample.ORG");
  EXPECT_EQ(answer.question, dnsName("aPI.eXample.ORG") + dnsWord(1) + dnsWord(1));
  ASSERT_EQ(answer.records.size(), 1U);
  EXPECT_EQ(table_->size(), 1U);
  EXPECT_EQ(dataOf("api.example.org", kTypeA), answer.records[0].data);
}

TEST_F(NameServerTest, HasNoDataOfAnyOtherType) {
  // HTTPS and SVCB would carry ECH keys, TXT and NULL anything at all.
  for (const unsigned type : {2U, 5U, 6U, 10U, 15U, 16U, 33U, 43U, 48U, 64U, 65U, 257U, 65280U})
    expectNoData("api.example.org", type);
  EXPECT_EQ(table_->size(), 0U) << "only an address takes a place in the table";
  EXPECT_TRUE(events_.empty());
}

TEST_F(NameServerTest, AnswersAnyWithTheAddresses) {
  EXPECT_EQ(ask("api.example.org", 255).records.size(), 2U);
}

TEST_F(NameServerTest, SwitchesVersionSixOff) {
  NameServer server{{isAllowed, table_, [](base::Event) {}, false}};
  const auto askIt = [&](std::string_view name) {
    return tests::readDnsAnswer(*server.answer(dnsQuery(name, kTypeAaaa), Transport::Udp));
  };
  for (const char* name : {"api.example.org", "localhost"}) {
    EXPECT_EQ(askIt(name).rcode, 0U) << name;
    EXPECT_TRUE(askIt(name).records.empty()) << name;
  }
  EXPECT_EQ(askIt("evil.example").rcode, 3U);
}

// BC-070: names that the policy does not allow are not resolved, and the refusal is told.
TEST_F(NameServerTest, DeniesWhatThePolicyDoesNotAllowWithWhatToDo) {
  const DnsAnswer answer = ask("c2VjcmV0.attacker.example");
  EXPECT_EQ(answer.rcode, 3U);
  EXPECT_TRUE(answer.records.empty());
  EXPECT_EQ(answer.error, 17U);
  EXPECT_THAT(answer.error_text, HasSubstr("not allowed by the policy of this run; "));
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].type, "dns.denied");
  EXPECT_EQ(events_[0].data.at("name"), "c2VjcmV0.attacker.example");
  EXPECT_EQ(events_[0].data.at("type"), "A");
  EXPECT_EQ(events_[0].data.at("transport"), "udp");
  EXPECT_EQ(events_[0].data.at("sentence"), answer.error_text.c_str());
}

TEST_F(NameServerTest, DeniesEveryTypeOfADeniedNameAndEveryTransport) {
  for (const unsigned type : {1U, 16U, 28U, 65U, 255U})
    EXPECT_EQ(ask("attacker.example", type).rcode, 3U) << type;
  server_.answer(dnsQuery("attacker.example", 16), Transport::Tcp);
  EXPECT_EQ(events_.back().data.at("transport"), "tcp");
  EXPECT_EQ(events_.back().data.at("type"), "TXT");
}

TEST_F(NameServerTest, NamesTheLoopback) {
  for (const char* name : {"localhost", "LocalHost", "app.localhost"}) {
    EXPECT_EQ(dataOf(name, kTypeA), std::string("\x7f\0\0\1", 4)) << name;
    EXPECT_EQ(dataOf(name, kTypeAaaa), std::string(15, '\0') + '\1') << name;
    expectNoData(name, 65);
  }
  EXPECT_EQ(ask("notlocalhost").rcode, 3U);
  EXPECT_EQ(ask("localhost.example").rcode, 3U);
  EXPECT_EQ(table_->size(), 0U);
}

TEST_F(NameServerTest, RefusesSingleLabelsUnlessARuleNamesThem) {
  EXPECT_EQ(ask("wpad").rcode, 3U);
  EXPECT_EQ(ask("gateway").rcode, 0U);
}

TEST_F(NameServerTest, AnswersTheRootWithNothing) {
  for (const unsigned type : {1U, 2U, 6U, 48U}) expectNoData("", type);
}

TEST_F(NameServerTest, TakesAddressesThatAreWrittenAsNamesForNoHosts) {
  // The policy of this test allows 1.2.3.4 and ::1 themselves: they are dialled, not resolved.
  EXPECT_EQ(ask("1.2.3.4").rcode, 3U);
  EXPECT_EQ(ask("0x7f.1").rcode, 3U);
  for (const std::string label : {"::1", "[::1]", "::ffff:1.2.3.4"}) {
    const std::string wire = static_cast<char>(label.size()) + label + '\0';
    const std::string query = tests::DnsHead{}.bytes() + wire + dnsWord(1) + dnsWord(1);
    EXPECT_EQ(tests::readDnsAnswer(*server_.answer(query, Transport::Udp)).rcode, 3U) << label;
  }
  EXPECT_EQ(table_->size(), 0U);
  EXPECT_THAT(std::string(events_[0].data.at("sentence").as_string()), HasSubstr("no host name"));
}

TEST_F(NameServerTest, IsNotFooledByBytesWithinALabel) {
  // "api.example" and "org" as two labels, or a NUL behind the allowed name.
  for (const std::string& name :
       {std::string("\x0b") + "api.example" + "\x03org",
        dnsName("api.example.org").substr(0, 12) + std::string("\x04org\0", 5)}) {
    const std::string query = tests::DnsHead{}.bytes() + name + '\0' + dnsWord(1) + dnsWord(1);
    EXPECT_EQ(tests::readDnsAnswer(*server_.answer(query, Transport::Udp)).rcode, 3U);
  }
  EXPECT_EQ(events_.size(), 2U);
  EXPECT_EQ(events_[0].data.at("name"), "api\\046example.org");
}

TEST_F(NameServerTest, CutsAndEscapesNamesInEvents) {
  const std::string label(63, '\1');
  std::string wire;
  for (int i = 0; i < 3; ++i) wire += '\x3f' + label;
  server_.answer(tests::DnsHead{}.bytes() + wire + '\0' + dnsWord(1) + dnsWord(1), Transport::Udp);
  const std::string name(events_.at(0).data.at("name").as_string());
  EXPECT_EQ(name.size(), 253U);
  EXPECT_EQ(name.substr(0, 8), "\\001\\001");
}

TEST_F(NameServerTest, LeadsItsAddressesBackToNames) {
  ask("api.example.org");
  EXPECT_EQ(dataOf("1.0.18.198.in-addr.arpa", kTypePtr), dnsName("api.example.org"));
  EXPECT_EQ(
      dataOf("1.0.0.0.2.1.6.c.0.0.0.0.0.0.0.0.0.0.2.5.5.4.4.4.2.5.1.4.7.5.d.f.ip6.arpa", kTypePtr)
          .size(),
      0U + dnsName("api.example.org").size());
  EXPECT_EQ(dataOf("1.0.0.127.in-addr.arpa", kTypePtr), dnsName("localhost"));
  expectNoData("1.0.18.198.in-addr.arpa", 16);
  EXPECT_TRUE(events_.empty());
}

TEST_F(NameServerTest, HasNoNamesForOtherAddresses) {
  ask("api.example.org");
  for (const char* name :
       {"2.0.18.198.in-addr.arpa", "8.8.8.8.in-addr.arpa", "18.198.in-addr.arpa",
        "1.1.0.18.198.in-addr.arpa", "01.0.18.198.in-addr.arpa", "x.0.18.198.in-addr.arpa",
        "in-addr.arpa", "ip6.arpa", "1.0.ip6.arpa",
        "g.0.0.0.2.1.6.c.0.0.0.0.0.0.0.0.0.0.2.5.5.4.4.4.2.5.1.4.7.5.d.f.ip6.arpa"})
    EXPECT_EQ(ask(name, kTypePtr).rcode, 3U) << name;
}

TEST_F(NameServerTest, RefusesTransfersAndOtherProtocols) {
  EXPECT_EQ(ask("api.example.org", 252).rcode, 5U);
  EXPECT_EQ(ask("api.example.org", 251).rcode, 5U);
  const std::string chaos =
      tests::DnsHead{}.bytes() + dnsName("version.bind") + dnsWord(16) + dnsWord(3);
  EXPECT_EQ(tests::readDnsAnswer(*server_.answer(chaos, Transport::Udp)).rcode, 5U);
  tests::DnsHead update;
  update.flags = 5 << 11;
  EXPECT_EQ(tests::readDnsAnswer(*server_.answer(update.bytes(), Transport::Udp)).rcode, 4U);
  EXPECT_FALSE(server_.answer("short", Transport::Udp));
}

TEST_F(NameServerTest, SaysThatItIsFullAndUsesNoAddressAgain) {
  for (const char* name : {"a.wild.org", "b.wild.org", "c.wild.org", "d.wild.org"})
    EXPECT_EQ(ask(name).rcode, 0U) << name;
  EXPECT_TRUE(events_.empty());
  for (const unsigned type : {kTypeA, kTypeAaaa, kTypeA}) {
    const DnsAnswer answer = ask("e.wild.org", type);
    EXPECT_EQ(answer.rcode, 2U);
    EXPECT_EQ(answer.error, 0U);
    EXPECT_EQ(answer.error_text,
              "this run has asked for 4 names already and gets addresses for no more; allow fewer "
              "names");
  }
  EXPECT_EQ(ask("a.wild.org").rcode, 0U);
  ASSERT_EQ(events_.size(), 1U) << "told once";
  EXPECT_EQ(events_[0].type, "dns.table_full");
  EXPECT_EQ(events_[0].data.at("names"), 4U);
  EXPECT_EQ(server_.counts(0).at("names_refused"), 3U);
}

TEST_F(NameServerTest, TellsAnEndingOfASearchListOnce) {
  // Kubernetes: ndots:5 and three endings in front of the name itself.
  for (int i = 0; i < 3; ++i)
    for (const char* ending : {"ns.svc.cluster.local", "svc.cluster.local", "cluster.local"})
      EXPECT_EQ(ask(std::string("api.example.org.") + ending).rcode, 3U);
  EXPECT_EQ(events_.size(), 3U);
  EXPECT_THAT(std::string(events_[0].data.at("sentence").as_string()), HasSubstr("search list"));
  EXPECT_EQ(server_.counts(0).at("search_list"), 6U);
}

// BC-070: an allowed name in front does not hide data that is carried behind it.
TEST_F(NameServerTest, TellsEndingsBeyondThoseOfAnySearchList) {
  for (std::size_t i = 0; i < kMostSearchEndings + 5; ++i)
    ask("api.example.org.data" + std::to_string(i) + ".evil.example");
  EXPECT_EQ(events_.size(), kMostSearchEndings + 5);
  const auto sentenceOf = [&](std::size_t i) {
    return std::string(events_.at(i).data.at("sentence").as_string());
  };
  EXPECT_THAT(sentenceOf(kMostSearchEndings - 1), HasSubstr("search list"));
  EXPECT_THAT(sentenceOf(kMostSearchEndings), HasSubstr("not allowed by the policy"));
}

TEST_F(NameServerTest, KnowsHowLongAnEndingOfASearchListIs) {
  for (int i = 0; i < 2; ++i) ask("api.example.org.1.2.3.4.5.six");
  EXPECT_EQ(server_.counts(0).at("search_list"), 1U);
  for (int i = 0; i < 2; ++i) ask("api.example.org.1.2.3.4.5.6.seven");
  EXPECT_EQ(server_.counts(0).at("search_list"), 1U);
  EXPECT_EQ(events_.size(), 3U);
}

TEST_F(NameServerTest, LetsServicesOfAllowedHostsBeUnknown) {
  // apt asks for this before each download.
  expectNoData("_http._tcp.api.example.org", 33);
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(ask("_http._tcp.evil.example", 33).rcode, 3U);
  EXPECT_EQ(ask("_", 33).rcode, 3U);
  EXPECT_EQ(ask("_a._b", 33).rcode, 3U);
  EXPECT_EQ(events_.size(), 3U);
}

// BC-070: counts and refusals in the report.
TEST_F(NameServerTest, CountsByDomain) {
  ask("api.example.org");
  for (int i = 0; i < 30; ++i)
    ask("c29tZSBzZWNyZXQ" + std::to_string(i % 10) + ".x.evil.co.uk", 16);
  ask("typo.example");
  server_.answer(tests::DnsHead{}.bytes(), Transport::Udp);
  const auto counts = server_.counts(7);
  EXPECT_EQ(counts.at("queries"), 33U);
  EXPECT_EQ(counts.at("denied"), 31U);
  EXPECT_EQ(counts.at("malformed"), 1U);
  EXPECT_EQ(counts.at("names"), 1U);
  EXPECT_EQ(counts.at("connections_refused"), 7U);
  const auto& domain = counts.at("domains").as_array().at(0).as_object();
  EXPECT_EQ(domain.at("domain"), "evil.co.uk");
  EXPECT_EQ(domain.at("queries"), 30U);
  EXPECT_EQ(domain.at("bytes"), 30U * 19);
  EXPECT_EQ(domain.at("longest_label"), 16U);
}

/// As captured from programs that ask for evil.example.
std::string bytesOf(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(at, 2)), nullptr, 16));
  return bytes;
}

TEST_F(NameServerTest, AnswersWhatGoMuslGlibcAndCaresSend) {
  const std::string asked_of = "046576696c076578616d706c6500";
  const std::string go = "c23d01000001000000000001" + asked_of +
                         "00010001"
                         "00002904d0000000000000";
  const std::string go_aaaa = "ae4901000001000000000001" + asked_of +
                              "001c0001"
                              "00002904d0000000000000";
  const std::string musl = "e63a01000001000000000000" + asked_of + "00010001";
  const std::string glibc_aaaa = "658301000001000000000000" + asked_of + "001c0001";
  for (const std::string& hex : {go, go_aaaa, musl, glibc_aaaa}) {
    const DnsAnswer answer = tests::readDnsAnswer(*server_.answer(bytesOf(hex), Transport::Udp));
    EXPECT_EQ(answer.rcode, 3U);
    // Go and glibc go on to another server after an answer without records that lacks RA.
    EXPECT_EQ(answer.flags, 0x8183U);
  }
}

TEST_F(NameServerTest, AsksThePolicyOnlyForCanonicalNames) {
  std::vector<std::string> asked;
  NameServer server{{[&](std::string_view host) {
                       asked.emplace_back(host);
                       return false;
                     },
                     table_, [](base::Event) {}}};
  // Endings and services are cut off; what is left may be a part of an address.
  for (const char* name : {"1.0.18.198.in-addr.arpa", "_a._b.1.2.3.4", "a.-b.example",
                           "1.2.3.4.local", "_.example", "10.1.local", "A.B.example"})
    server.answer(dnsQuery(name), Transport::Udp);
  EXPECT_FALSE(asked.empty());
  for (const std::string& host : asked) {
    EXPECT_EQ(policies::canonicalHost(host), host);
    EXPECT_NE(host, "1.2.3.4");
  }
}

TEST_F(NameServerTest, AsksThePolicyForRealRules) {
  const auto reading = policies::readPolicyText(
      "version: 1\nallow:\n- host: api.example.org\n  port: 8443\n- host: 10.0.0.1\n", "p.yaml",
      "p");
  ASSERT_TRUE(reading.faults.empty());
  const auto policy = reading.policy;
  NameServer server{{[&](std::string_view host) { return policies::mayResolve(policy, host); },
                     table_, [](base::Event) {}}};
  const auto rcodeOf = [&](std::string_view name) {
    return tests::readDnsAnswer(*server.answer(dnsQuery(name), Transport::Udp)).rcode;
  };
  EXPECT_EQ(rcodeOf("api.example.org"), 0U);
  EXPECT_EQ(rcodeOf("example.org"), 3U);
  EXPECT_EQ(rcodeOf("10.0.0.1"), 3U);
}

}  // namespace
}  // namespace warder::dns
