#include "supervisor/boot/dhcp_message.h"

#include <algorithm>
#include <bit>
#include <map>

namespace warder::boot {

using base::Error;
using base::Kind;
using base::Result;

namespace {

// Source: RFC 2131 section 2, figure 1, and RFC 2132.
constexpr std::size_t kTransactionAt = 4, kFlagsAt = 10, kYourAddressAt = 16, kHardwareAt = 28;
constexpr std::string_view kCookie("\x63\x82\x53\x63", 4);
enum Option : std::uint8_t {
  kPad = 0,
  kMask = 1,
  kRouter = 3,
  kNameServers = 6,
  kHostName = 12,
  kRequested = 50,
  kLease = 51,
  kMessageType = 53,
  kServer = 54,
  kParameters = 55,
  kLargest = 57,
  kEnd = 255
};

Error notAnAnswer(std::string sentence) {
  return Error{Kind::Peer, "a DHCP answer " + std::move(sentence)};
}

std::string bigEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::uint32_t numberAt(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

using Options = std::map<std::uint8_t, std::string>;

/// An option that stands twice is one long one (RFC 3396 section 5).
Result<Options> readOptions(std::string_view bytes) {
  Options options;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto code = static_cast<std::uint8_t>(bytes[at++]);
    if (code == kEnd) return options;
    if (code == kPad) continue;
    if (at == bytes.size()) return notAnAnswer("ends within an option");
    const auto length = static_cast<unsigned char>(bytes[at++]);
    if (length > bytes.size() - at) return notAnAnswer("has an option that runs past its end");
    options[code] += bytes.substr(at, length);
    at += length;
  }
  return notAnAnswer("has no end of its options");
}

std::optional<std::uint32_t> number(const Options& options, std::uint8_t code) {
  const auto found = options.find(code);
  if (found == options.end() || found->second.size() < 4) return {};
  return numberAt(found->second, 0);
}

/// The length of a mask whose ones all stand before its zeros; 0 for none and for any other mask.
int prefixOf(std::uint32_t mask) {
  const int ones = std::countl_one(mask);
  return std::popcount(mask) == ones ? ones : 0;
}

Result<DhcpAnswer> readFields(std::string_view bytes, const Options& options) {
  DhcpAnswer answer;
  const auto type = options.find(kMessageType);
  if (type == options.end() || type->second.size() != 1) return notAnAnswer("says no type");
  answer.type = static_cast<DhcpType>(type->second[0]);
  if (answer.type == DhcpType::Nak) return answer;
  if (answer.type != DhcpType::Offer && answer.type != DhcpType::Ack)
    return notAnAnswer("is neither an offer nor an agreement");
  answer.address.address = {numberAt(bytes, kYourAddressAt)};
  const auto first = answer.address.address.value >> 24;
  if (first == 0 || first == 127 || first >= 224) return notAnAnswer("gives no usable address");
  answer.address.prefix = prefixOf(number(options, kMask).value_or(0));
  if (answer.address.prefix == 0) return notAnAnswer("gives no usable network mask");
  if (const auto router = number(options, kRouter)) answer.address.gateway = Ipv4{*router};
  const auto server = number(options, kServer);
  if (!server) return notAnAnswer("does not say which server it is from");
  answer.server = {*server};
  answer.lease = number(options, kLease).value_or(0);
  if (const auto servers = options.find(kNameServers); servers != options.end())
    for (std::size_t at = 0;
         at + 4 <= servers->second.size() && answer.dns.size() < kMostNameServers; at += 4)
      answer.dns.push_back(printIpv4({numberAt(servers->second, at)}));
  return answer;
}

}  // namespace

std::string writeDhcp(const DhcpClient& client, const std::optional<DhcpAnswer>& offer) {
  std::string bytes(236, '\0');
  bytes[0] = 1;  // a request
  bytes[1] = 1;  // Ethernet
  bytes[2] = 6;  // bytes of its addresses
  bytes.replace(kTransactionAt, 4, bigEndian(client.transaction));
  bytes[kFlagsAt] = '\x80';
  std::copy(client.hardware.begin(), client.hardware.end(), bytes.begin() + kHardwareAt);
  bytes += kCookie;
  const auto add = [&bytes](std::uint8_t code, std::string_view value) {
    bytes += static_cast<char>(code);
    bytes += static_cast<char>(value.size());
    bytes += value;
  };
  const auto type = offer ? DhcpType::Request : DhcpType::Discover;
  add(kMessageType, std::string(1, static_cast<char>(type)));
  if (offer) {
    add(kRequested, bigEndian(offer->address.address.value));
    add(kServer, bigEndian(offer->server.value));
  }
  add(kHostName, client.host);
  add(kLargest, std::string("\x05\xc0", 2));  // kLongestDhcp
  const char wanted[] = {kMask, kRouter, kNameServers, kLease};
  add(kParameters, std::string_view(wanted, sizeof wanted));
  bytes += static_cast<char>(kEnd);
  return bytes;
}

Result<DhcpAnswer> readDhcp(std::string_view bytes, const DhcpClient& client) {
  if (bytes.size() < kShortestDhcp) return notAnAnswer("is too short");
  if (bytes.size() > kLongestDhcp) return notAnAnswer("is too long");
  if (bytes[0] != 2 || bytes.substr(236, 4) != kCookie) return notAnAnswer("is none");
  if (numberAt(bytes, kTransactionAt) != client.transaction)
    return notAnAnswer("belongs to another question");
  const bool ours =
      std::equal(client.hardware.begin(), client.hardware.end(), bytes.begin() + kHardwareAt,
                 [](std::uint8_t a, char b) { return a == static_cast<std::uint8_t>(b); });
  if (!ours) return notAnAnswer("belongs to another machine");
  auto options = readOptions(bytes.substr(kShortestDhcp));
  if (!options) return options.error();
  return readFields(bytes, *options);
}

}  // namespace warder::boot
