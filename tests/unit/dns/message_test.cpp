#include "secrets/dns/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/dns_bytes.h"

namespace warder::dns {
namespace {

using tests::DnsHead;
using tests::dnsName;
using tests::dnsOpt;
using tests::dnsQuery;
using tests::dnsWord;

const std::string kAskA = dnsWord(1) + dnsWord(1);

Rcode faultOf(const std::string& message) {
  const auto read = readQuery(message);
  EXPECT_TRUE(read);
  return read ? read->fault : Rcode::NoError;
}

TEST(ReadQuery, ReadsAQuestionAsResolversSendIt) {
  const auto read = readQuery(dnsQuery("API.example.org", tests::kTypeAaaa, 4096));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->fault, Rcode::NoError);
  EXPECT_EQ(read->query.id, 0x1234);
  EXPECT_EQ(read->query.name, "API.example.org");
  EXPECT_EQ(read->query.type, Type::Aaaa);
  EXPECT_TRUE(read->query.recursion_desired);
  ASSERT_TRUE(read->query.edns);
  EXPECT_EQ(read->query.edns->udp_size, 4096);
  EXPECT_FALSE(readQuery(dnsQuery("a.example", tests::kTypeA, 0))->query.edns);
  EXPECT_EQ(readQuery(dnsQuery("", 2))->query.name, "");
}

TEST(ReadQuery, KeepsTheBytesOfTheQuestionForTheAnswer) {
  // 0x20: resolvers mix the case and want it back.
  const auto read = readQuery(dnsQuery("aPi.ExAmPlE.oRg"));
  EXPECT_EQ(read->query.question, dnsName("aPi.ExAmPlE.oRg") + kAskA);
}

TEST(ReadQuery, ReadsWhatRealResolversAddInTheirOptRecord) {
  DnsHead head;
  head.additionals = 1;
  const std::string question = dnsName("a.example") + kAskA;
  const std::string cookie = dnsWord(10) + dnsWord(8) + "12345678";           // dig, c-ares
  const std::string subnet = dnsWord(8) + dnsWord(4) + std::string(4, '\0');  // and a client subnet
  for (const std::string& options : {std::string(), cookie, cookie + subnet}) {
    const auto read = readQuery(head.bytes() + question + dnsOpt(1232, options, 0x8000));
    EXPECT_EQ(read->fault, Rcode::NoError);
    EXPECT_TRUE(read->query.edns->wants_dnssec);
  }
  // glibc's trust-ad sets AD, dig too.
  head.flags = 0x0120;
  EXPECT_EQ(faultOf(head.bytes() + question + dnsOpt(1200)), Rcode::NoError);
}

TEST(ReadQuery, TakesASmallUdpSizeForTheLeastThatThereIs) {
  EXPECT_EQ(readQuery(dnsQuery("a.example", 1, 1))->query.edns->udp_size, 512);
  EXPECT_EQ(readQuery(dnsQuery("a.example", 1, 511))->query.edns->udp_size, 512);
  EXPECT_EQ(readQuery(dnsQuery("a.example", 1, 513))->query.edns->udp_size, 513);
}

TEST(ReadQuery, SaysNothingToAnswersAndToLessThanAHeader) {
  EXPECT_FALSE(readQuery(""));
  const std::string query = dnsQuery("a.example");
  EXPECT_FALSE(readQuery(query.substr(0, 11)));
  EXPECT_TRUE(readQuery(query.substr(0, 12)));
  DnsHead head;
  head.flags = 0x8180;
  EXPECT_FALSE(readQuery(head.bytes() + dnsName("a.example") + kAskA));
}

TEST(ReadQuery, RefusesEveryMessageThatIsCut) {
  const std::string query = dnsQuery("api.example.org");
  for (std::size_t length = 12; length < query.size(); ++length)
    EXPECT_EQ(faultOf(query.substr(0, length)), Rcode::FormErr) << length;
  EXPECT_EQ(faultOf(query + '\0'), Rcode::FormErr) << "a byte behind the end";
}

TEST(ReadQuery, RefusesNamesThatPoint) {
  // To itself, into the header, behind itself, and with the two reserved kinds of labels.
  for (const char* name : {"\xc0\x0c", "\xc0\x04", "\xc0\xff", "\x03www\xc0\x0c", "\x41x", "\x80x"})
    EXPECT_EQ(faultOf(DnsHead{}.bytes() + name + '\0' + kAskA), Rcode::FormErr);
}

TEST(ReadQuery, BoundsLabelsAndNames) {
  const std::string longest(63, 'a');
  EXPECT_EQ(faultOf(dnsQuery(longest + ".example")), Rcode::NoError);
  EXPECT_EQ(faultOf(DnsHead{}.bytes() + '\x40' + std::string(64, 'a') + '\0' + kAskA),
            Rcode::FormErr);
  // 255 bytes on the wire: three labels of 64, one of 62, and the root.
  const std::string most = longest + "." + longest + "." + longest + ".";
  EXPECT_EQ(faultOf(dnsQuery(most + std::string(61, 'b'))), Rcode::NoError);
  EXPECT_EQ(readQuery(dnsQuery(most + std::string(61, 'b')))->query.name.size(), 253U);
  EXPECT_EQ(faultOf(dnsQuery(most + std::string(62, 'b'))), Rcode::FormErr);
}

TEST(ReadQuery, BoundsTheMessage) {
  DnsHead head;
  head.additionals = 1;
  const std::string question = head.bytes() + dnsName("a.example") + kAskA;
  const auto padded = [&](std::size_t length) {
    const auto padding = static_cast<unsigned>(length - question.size() - 11 - 4);
    return question + dnsOpt(1232, dnsWord(12) + dnsWord(padding) + std::string(padding, '\0'));
  };
  ASSERT_EQ(padded(kLongestQuery).size(), kLongestQuery);
  EXPECT_EQ(faultOf(padded(kLongestQuery)), Rcode::NoError);
  EXPECT_EQ(faultOf(padded(kLongestQuery + 1)), Rcode::FormErr);
}

TEST(ReadQuery, WantsExactlyOneQuestionAndNothingElse) {
  const std::string question = dnsName("a.example") + kAskA;
  DnsHead none, two, answers, authorities, more;
  none.questions = 0;
  two.questions = 2;
  answers.answers = 1;
  authorities.authorities = 1;
  more.additionals = 2;
  const std::string record = dnsName("a.example") + kAskA + std::string(6, '\0');
  EXPECT_EQ(faultOf(none.bytes()), Rcode::FormErr);
  EXPECT_EQ(faultOf(two.bytes() + question + question), Rcode::FormErr);
  EXPECT_EQ(faultOf(answers.bytes() + question + record), Rcode::FormErr);
  EXPECT_EQ(faultOf(authorities.bytes() + question + record), Rcode::FormErr);
  EXPECT_EQ(faultOf(more.bytes() + question + dnsOpt(512) + dnsOpt(512)), Rcode::FormErr);
  more.additionals = 1;
  EXPECT_EQ(faultOf(more.bytes() + question + record), Rcode::FormErr) << "no OPT";
  EXPECT_EQ(faultOf(DnsHead{}.bytes() + dnsName("a.example") + dnsWord(41) + dnsWord(1)),
            Rcode::FormErr)
      << "OPT is no type to ask for";
}

TEST(ReadQuery, RefusesBrokenOptRecords) {
  DnsHead head;
  head.additionals = 1;
  const std::string question = head.bytes() + dnsName("a.example") + kAskA;
  EXPECT_EQ(faultOf(question + dnsOpt(512, dnsWord(10) + dnsWord(9) + "12345678")), Rcode::FormErr);
  EXPECT_EQ(faultOf(question + dnsOpt(512, "abc")), Rcode::FormErr);
  EXPECT_EQ(faultOf(question + "\x01x" + dnsOpt(512)), Rcode::FormErr) << "owner is not the root";
  EXPECT_EQ(faultOf(question + dnsOpt(512, "", 0x00010000)), Rcode::BadVers);
}

TEST(ReadQuery, NamesOtherOpcodesAndClasses) {
  for (unsigned opcode = 1; opcode < 16; ++opcode) {
    DnsHead head;
    head.flags = opcode << 11;
    EXPECT_EQ(faultOf(head.bytes() + dnsName("a.example") + kAskA), Rcode::NotImp) << opcode;
  }
  for (const unsigned other : {0U, 3U, 4U, 254U, 255U})
    EXPECT_EQ(faultOf(DnsHead{}.bytes() + dnsName("version.bind") + dnsWord(16) + dnsWord(other)),
              Rcode::Refused)
        << other;
}

TEST(ReadQuery, EscapesWhatNoHostNameHas) {
  const auto nameOfLabel = [](std::string_view label) {
    const std::string wire = static_cast<char>(label.size()) + std::string(label) + '\0';
    return readQuery(DnsHead{}.bytes() + wire + kAskA)->query.name;
  };
  EXPECT_EQ(nameOfLabel("a.b"), "a\\046b") << "a dot within a label is none between labels";
  EXPECT_EQ(nameOfLabel(std::string("a\0b", 3)), "a\\000b");
  EXPECT_EQ(nameOfLabel("a\\b"), "a\\\\b");
  EXPECT_EQ(nameOfLabel("a b\n\xff"), "a\\032b\\010\\255");
  EXPECT_EQ(nameOfLabel("A-_*%"), "A-_*%");
}

TEST(WriteAnswer, EchoesTheQuestionAndItsFlags) {
  DnsHead head;
  head.id = 0xbeef;
  head.flags = 0x0110;
  const auto read = readQuery(head.bytes() + dnsName("A.example") + kAskA);
  const auto answer = tests::readDnsAnswer(
      writeAnswer(read->query, {Rcode::NoError, 60, {{Type::A, "\1\2\3\4"}}}, kPlainUdpAnswer));
  EXPECT_EQ(answer.id, 0xbeefU);
  EXPECT_EQ(answer.flags, 0x8190U) << "QR, RD, RA, CD";
  EXPECT_EQ(answer.question, dnsName("A.example") + kAskA);
  ASSERT_EQ(answer.records.size(), 1U);
  EXPECT_EQ(answer.records[0].ttl, 60U);
  EXPECT_EQ(answer.records[0].data, "\1\2\3\4");
  EXPECT_FALSE(answer.udp_size) << "no EDNS to who did not speak it";
}

TEST(WriteAnswer, TellsExtendedErrorsOnlyToWhoSpeaksEdns) {
  const Answer denied{Rcode::NxDomain, 0, {}, ExtendedError{17, "not allowed"}};
  const auto with = tests::readDnsAnswer(
      writeAnswer(readQuery(dnsQuery("a.example"))->query, denied, kLargestUdpAnswer));
  EXPECT_EQ(with.rcode, 3U);
  EXPECT_EQ(with.error, 17U);
  EXPECT_EQ(with.error_text, "not allowed");
  EXPECT_EQ(with.udp_size, kLargestUdpAnswer);
  const auto without = tests::readDnsAnswer(
      writeAnswer(readQuery(dnsQuery("a.example", 1, 0))->query, denied, kPlainUdpAnswer));
  EXPECT_EQ(without.rcode, 3U);
  EXPECT_FALSE(without.error);
}

TEST(WriteAnswer, PutsTheUpperBitsOfTheCodeIntoOpt) {
  const auto query = readQuery(dnsQuery("a.example"))->query;
  EXPECT_EQ(tests::readDnsAnswer(writeAnswer(query, {Rcode::BadVers}, kPlainUdpAnswer)).rcode, 16U);
}

TEST(WriteAnswer, AnswersWithoutAQuestionWhatCannotBeRead) {
  const auto read = readQuery(DnsHead{}.bytes() + "\xc0\x0c");
  const auto answer = tests::readDnsAnswer(writeAnswer(read->query, {read->fault}, 512));
  EXPECT_EQ(answer.rcode, 1U);
  EXPECT_EQ(answer.id, 0x1234U);
  EXPECT_EQ(answer.question, "");
}

TEST(WriteAnswer, DropsTheTextFirstAndThenTheRecords) {
  const auto query = readQuery(dnsQuery("a.example"))->query;
  Answer answer{
      Rcode::NoError, 60, {{Type::A, "\1\2\3\4"}}, ExtendedError{0, std::string(300, 't')}};
  const std::size_t whole = writeAnswer(query, answer, kLargestTcpAnswer).size();
  EXPECT_EQ(writeAnswer(query, answer, whole).size(), whole);
  const auto textless = tests::readDnsAnswer(writeAnswer(query, answer, whole - 1));
  EXPECT_EQ(textless.error_text, "");
  EXPECT_EQ(textless.records.size(), 1U);
  EXPECT_FALSE(textless.truncated());
  answer.records.assign(20, {Type::Ptr, std::string(40, 'x')});
  const auto cut = tests::readDnsAnswer(writeAnswer(query, answer, kPlainUdpAnswer));
  EXPECT_TRUE(cut.truncated());
  EXPECT_TRUE(cut.records.empty());
  EXPECT_EQ(cut.error, 0U);
}

TEST(WriteAnswer, KnowsHowMuchFitsIntoADatagram) {
  EXPECT_EQ(udpLimitOf(readQuery(dnsQuery("a.example", 1, 0))->query), 512U);
  EXPECT_EQ(udpLimitOf(readQuery(dnsQuery("a.example", 1, 800))->query), 800U);
  EXPECT_EQ(udpLimitOf(readQuery(dnsQuery("a.example", 1, 1232))->query), 1232U);
  EXPECT_EQ(udpLimitOf(readQuery(dnsQuery("a.example", 1, 65535))->query), 1232U);
}

TEST(Names, OfTypesAndOnTheWire) {
  EXPECT_EQ(nameOf(Type::Aaaa), "AAAA");
  EXPECT_EQ(nameOf(static_cast<Type>(65)), "HTTPS");
  EXPECT_EQ(nameOf(static_cast<Type>(65280)), "TYPE65280");
  EXPECT_EQ(wireName("a.example"), dnsName("a.example"));
  EXPECT_EQ(wireName(""), std::string(1, '\0'));
}

}  // namespace
}  // namespace warder::dns
