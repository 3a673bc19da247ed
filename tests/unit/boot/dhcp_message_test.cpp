// DHCP as bytes: what is asked, and which answers are believed.
#include "supervisor/boot/dhcp_message.h"

#include <gmock/gmock.h>

namespace warder::boot {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const DhcpClient kClient{0x12345678, {2, 0, 0, 0, 0, 1}, "warder"};

using Options = std::string;

std::string option(int code, const std::string& value) {
  return std::string(1, static_cast<char>(code)) + static_cast<char>(value.size()) + value;
}

const std::string kMask("\xff\xff\xff\x00", 4), kRouter("\x0a\x00\x02\x02", 4);
const Options kOffer = option(53, "\x02") + option(54, kRouter) + option(1, kMask) +
                       option(3, kRouter) + option(6, std::string("\x0a\x00\x02\x03", 4)) +
                       option(51, std::string("\x00\x01\x51\x80", 4)) + "\xff";

std::string answer(const Options& options) {
  std::string bytes(236, '\0');
  bytes[0] = 2;
  bytes.replace(4, 4, "\x12\x34\x56\x78");
  bytes.replace(16, 4, std::string("\x0a\x00\x02\x0f", 4));
  bytes.replace(28, 6, std::string("\x02\x00\x00\x00\x00\x01", 6));
  return bytes + "\x63\x82\x53\x63" + options;
}

std::string refusal(const std::string& bytes) {
  auto read = readDhcp(bytes, kClient);
  return read ? "" : read.error().sentence();
}

TEST(Dhcp, AnOfferSaysAddressRouterServersAndLease) {
  auto read = readDhcp(answer(kOffer), kClient);
  ASSERT_TRUE(read) << read.error().sentence();
  EXPECT_EQ(read->type, DhcpType::Offer);
  EXPECT_EQ(printIpv4(read->address.address), "10.0.2.15");
  EXPECT_EQ(read->address.prefix, 24);
  EXPECT_EQ(printIpv4(*read->address.gateway), "10.0.2.2");
  EXPECT_THAT(read->dns, ElementsAre("10.0.2.3"));
  EXPECT_EQ(read->lease, 86400u);
}

TEST(Dhcp, AQuestionIsAnsweredByWhomItNames) {
  const auto discover = writeDhcp(kClient, {});
  EXPECT_EQ(discover.size() >= kShortestDhcp, true);
  EXPECT_EQ(discover.substr(4, 4), "\x12\x34\x56\x78");
  EXPECT_THAT(discover, HasSubstr(option(53, "\x01")));
  auto offer = readDhcp(answer(kOffer), kClient);
  const auto request = writeDhcp(kClient, *offer);
  EXPECT_THAT(request, HasSubstr(option(53, "\x03")));
  EXPECT_THAT(request, HasSubstr(option(50, std::string("\x0a\x00\x02\x0f", 4))));
  EXPECT_THAT(request, HasSubstr(option(54, kRouter)));
}

TEST(Dhcp, ARefusalNeedsNoAddress) {
  auto read = readDhcp(answer(option(53, "\x06") + "\xff"), kClient);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->type, DhcpType::Nak);
}

TEST(Dhcp, OthersAnswersAreNotOurs) {
  auto bytes = answer(kOffer);
  bytes[4] = 0;
  EXPECT_THAT(refusal(bytes), HasSubstr("another question"));
  bytes = answer(kOffer);
  bytes[33] = 9;
  EXPECT_THAT(refusal(bytes), HasSubstr("another machine"));
  bytes = answer(kOffer);
  bytes[0] = 1;
  EXPECT_THAT(refusal(bytes), HasSubstr("is none"));
  bytes = answer(kOffer);
  bytes[236] = 0;
  EXPECT_THAT(refusal(bytes), HasSubstr("is none"));
}

TEST(Dhcp, LengthsAreHeldOnBothSides) {
  EXPECT_THAT(refusal(answer("").substr(0, kShortestDhcp - 1)), HasSubstr("too short"));
  EXPECT_THAT(refusal(answer("")), HasSubstr("no end"));
  auto longest = answer(kOffer);
  longest.resize(kLongestDhcp);
  EXPECT_EQ(refusal(longest), "");
  longest.resize(kLongestDhcp + 1);
  EXPECT_THAT(refusal(longest), HasSubstr("too long"));
}

TEST(Dhcp, OptionsEndWithinTheAnswer) {
  EXPECT_THAT(refusal(answer("\x35")), HasSubstr("within an option"));
  EXPECT_THAT(refusal(answer(std::string("\x35\x02\x02", 3))), HasSubstr("past its end"));
  EXPECT_EQ(refusal(answer(std::string(20, '\0') + kOffer)), "");
}

TEST(Dhcp, WhatCannotBeUsedIsRefused) {
  const std::string head = option(53, "\x02") + option(54, kRouter);
  EXPECT_THAT(refusal(answer(option(54, kRouter) + "\xff")), HasSubstr("no type"));
  EXPECT_THAT(refusal(answer(option(53, "\x01") + "\xff")), HasSubstr("neither an offer"));
  EXPECT_THAT(refusal(answer(head + "\xff")), HasSubstr("mask"));
  EXPECT_THAT(refusal(answer(head + option(1, std::string("\xff\x00\xff\x00", 4)) + "\xff")),
              HasSubstr("mask"));
  EXPECT_THAT(refusal(answer(head + option(1, "\xff\xff") + "\xff")), HasSubstr("mask"));
  EXPECT_THAT(refusal(answer(option(53, "\x02") + option(1, kMask) + "\xff")),
              HasSubstr("which server"));
  for (const char first : {'\0', '\x7f', '\xe0'}) {
    auto bytes = answer(kOffer);
    bytes[16] = first;
    EXPECT_THAT(refusal(bytes), HasSubstr("no usable address"));
  }
}

TEST(Dhcp, NoMoreServersThanResolversAsk) {
  const std::string five(20, '\x01');
  auto read = readDhcp(answer(option(53, "\x02") + option(54, kRouter) + option(1, kMask) +
                              option(6, five) + "\xff"),
                       kClient);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->dns.size(), kMostNameServers);
}

}  // namespace
}  // namespace warder::boot
