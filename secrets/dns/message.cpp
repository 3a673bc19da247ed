#include "secrets/dns/message.h"

#include <algorithm>
#include <array>
#include <utility>

namespace warder::dns {
namespace {

constexpr std::size_t kHeader = 12;
constexpr std::size_t kLongestLabel = 63;
constexpr std::size_t kLongestWireName = 255;
constexpr std::uint16_t kClassIn = 1;
constexpr std::uint16_t kExtendedErrorOption = 15;

// Bits of the header's second word.
constexpr unsigned kIsAnswer = 0x8000;
constexpr unsigned kTruncated = 0x0200;
constexpr unsigned kRecursionDesired = 0x0100;
constexpr unsigned kRecursionAvailable = 0x0080;
constexpr unsigned kCheckingDisabled = 0x0010;
constexpr unsigned kDnssecOk = 0x8000;  // in the OPT record

/// Takes numbers and bytes from the front; what is not there makes it fail for good.
class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  unsigned byte() {
    if (rest_.empty()) return failNow();
    const auto value = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }
  std::uint16_t word() {
    const unsigned high = byte();
    return static_cast<std::uint16_t>((high << 8) | byte());
  }
  std::string_view bytes(std::size_t count) {
    if (count > rest_.size()) {
      failNow();
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  unsigned failNow() {
    failed_ = true;
    rest_ = {};
    return 0;
  }
  std::string_view rest() const { return rest_; }
  bool failed() const { return failed_; }
  bool isAtEnd() const { return rest_.empty() && !failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

void putWord(std::string& out, unsigned value) {
  out += static_cast<char>((value >> 8) & 0xff);
  out += static_cast<char>(value & 0xff);
}

void appendEscaped(std::string& out, char c) {
  const auto value = static_cast<unsigned char>(c);
  if (value > 0x20 && value < 0x7f && c != '.' && c != '\\') {
    out += c;
  } else if (c == '\\') {
    out += "\\\\";
  } else {
    out += '\\';
    for (const unsigned unit : {100U, 10U, 1U}) out += static_cast<char>('0' + value / unit % 10);
  }
}

/// The name of the question. Nothing stands before it that a compression pointer could mean, so a
/// pointer here is a fault, and there are no loops.
std::string readName(Reader& reader) {
  std::string name;
  std::size_t length_on_wire = 0;
  while (true) {
    const unsigned length = reader.byte();
    length_on_wire += length + 1;
    if (length > kLongestLabel || length_on_wire > kLongestWireName) reader.failNow();
    if (length == 0 || reader.failed()) return name;
    if (!name.empty()) name += '.';
    for (const char c : reader.bytes(length)) appendEscaped(name, c);
  }
}

/// The one additional record: OPT, with options that can be read.
Rcode readOpt(Reader& reader, Edns& edns) {
  if (reader.byte() != 0 || reader.word() != static_cast<unsigned>(Type::Opt))
    return Rcode::FormErr;
  edns.udp_size =
      std::max<std::uint16_t>(reader.word(), static_cast<std::uint16_t>(kPlainUdpAnswer));
  reader.byte();  // the extended code, of answers
  const unsigned version = reader.byte();
  edns.wants_dnssec = (reader.word() & kDnssecOk) != 0;
  Reader options(reader.bytes(reader.word()));
  while (!options.isAtEnd() && !options.failed()) {
    options.word();
    options.bytes(options.word());
  }
  if (reader.failed() || options.failed()) return Rcode::FormErr;
  return version == 0 ? Rcode::NoError : Rcode::BadVers;
}

std::string optRecord(const Query& query, const Answer& answer, bool with_text) {
  std::string options;
  if (answer.error) {
    const std::string_view text = with_text ? std::string_view(answer.error->text) : "";
    putWord(options, kExtendedErrorOption);
    putWord(options, static_cast<unsigned>(text.size() + 2));
    putWord(options, answer.error->code);
    options += text;
  }
  std::string record(1, '\0');
  putWord(record, static_cast<unsigned>(Type::Opt));
  putWord(record, kLargestUdpAnswer);
  putWord(record, (static_cast<unsigned>(answer.rcode) >> 4) << 8);
  putWord(record, query.edns->wants_dnssec ? kDnssecOk : 0);
  putWord(record, static_cast<unsigned>(options.size()));
  return record + options;
}

struct Cuts {
  bool text = false;
  bool records = false;
};

std::string writeCut(const Query& query, const Answer& answer, Cuts cuts) {
  // RA is set though nobody recurses here: glibc and Go take an answer without records that has
  // neither AA nor RA for a lame server's, and go on to the next one.
  unsigned flags = kIsAnswer | kRecursionAvailable | (unsigned{query.opcode} << 11) |
                   (static_cast<unsigned>(answer.rcode) & 0xf);
  if (query.recursion_desired) flags |= kRecursionDesired;
  if (query.checking_disabled) flags |= kCheckingDisabled;
  if (cuts.records) flags |= kTruncated;
  std::string out;
  putWord(out, query.id);
  putWord(out, flags);
  putWord(out, query.question.empty() ? 0 : 1);
  putWord(out, cuts.records ? 0 : static_cast<unsigned>(answer.records.size()));
  putWord(out, 0);
  putWord(out, query.edns ? 1 : 0);
  out += query.question;
  if (!cuts.records) {
    for (const Record& record : answer.records) {
      putWord(out, 0xc000 | kHeader);  // the question's name
      putWord(out, static_cast<unsigned>(record.type));
      putWord(out, kClassIn);
      putWord(out, answer.ttl_seconds >> 16);
      putWord(out, answer.ttl_seconds & 0xffff);
      putWord(out, static_cast<unsigned>(record.data.size()));
      out += record.data;
    }
  }
  if (query.edns) out += optRecord(query, answer, !cuts.text);
  return out;
}

}  // namespace

std::string nameOf(Type type) {
  static constexpr std::array<std::pair<std::uint16_t, std::string_view>, 27> kNames = {
      {{1, "A"},     {2, "NS"},          {5, "CNAME"}, {6, "SOA"},    {10, "NULL"},
       {12, "PTR"},  {13, "HINFO"},      {15, "MX"},   {16, "TXT"},   {24, "SIG"},
       {25, "KEY"},  {28, "AAAA"},       {29, "LOC"},  {33, "SRV"},   {35, "NAPTR"},
       {37, "CERT"}, {39, "DNAME"},      {43, "DS"},   {44, "SSHFP"}, {48, "DNSKEY"},
       {52, "TLSA"}, {61, "OPENPGPKEY"}, {64, "SVCB"}, {65, "HTTPS"}, {255, "ANY"},
       {256, "URI"}, {257, "CAA"}}};
  const auto number = static_cast<std::uint16_t>(type);
  for (const auto& [known, name] : kNames)
    if (known == number) return std::string(name);
  return "TYPE" + std::to_string(number);
}

std::optional<ReadQuery> readQuery(std::string_view message) {
  if (message.size() < kHeader) return std::nullopt;
  Reader reader(message);
  ReadQuery read;
  Query& query = read.query;
  query.id = reader.word();
  const unsigned flags = reader.word();
  if ((flags & kIsAnswer) != 0) return std::nullopt;
  query.opcode = static_cast<std::uint8_t>((flags >> 11) & 0xf);
  query.recursion_desired = (flags & kRecursionDesired) != 0;
  query.checking_disabled = (flags & kCheckingDisabled) != 0;
  const auto fault = [&read](Rcode rcode) {
    read.fault = rcode;
    return read;
  };
  const unsigned questions = reader.word();
  const unsigned answers = reader.word();
  const unsigned authorities = reader.word();
  const unsigned additionals = reader.word();
  if (query.opcode != 0) return fault(Rcode::NotImp);
  if (message.size() > kLongestQuery || questions != 1 || answers != 0 || authorities != 0 ||
      additionals > 1)
    return fault(Rcode::FormErr);
  std::string name = readName(reader);
  const auto type = static_cast<Type>(reader.word());
  const std::uint16_t dns_class = reader.word();
  if (reader.failed() || type == Type::Opt) return fault(Rcode::FormErr);
  query.question = message.substr(kHeader, message.size() - kHeader - reader.rest().size());
  query.name = std::move(name);
  query.type = type;
  if (additionals == 1) {
    Edns edns;
    const Rcode opt = readOpt(reader, edns);
    if (opt != Rcode::FormErr) query.edns = edns;
    if (opt != Rcode::NoError) return fault(opt);
  }
  if (!reader.isAtEnd()) return fault(Rcode::FormErr);
  return dns_class == kClassIn ? read : fault(Rcode::Refused);
}

std::string writeAnswer(const Query& query, const Answer& answer, std::size_t limit) {
  std::string out = writeCut(query, answer, {});
  if (out.size() > limit) out = writeCut(query, answer, {true, false});
  if (out.size() > limit) out = writeCut(query, answer, {true, true});
  return out;
}

std::size_t udpLimitOf(const Query& query) {
  return query.edns ? std::min<std::size_t>(query.edns->udp_size, kLargestUdpAnswer)
                    : kPlainUdpAnswer;
}

std::string wireName(std::string_view name) {
  std::string wire;
  while (!name.empty()) {
    const std::string_view label = name.substr(0, name.find('.'));
    wire += static_cast<char>(label.size());
    wire += label;
    name.remove_prefix(std::min(label.size() + 1, name.size()));
  }
  return wire + '\0';
}

}  // namespace warder::dns
