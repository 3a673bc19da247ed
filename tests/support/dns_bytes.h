// Questions and answers of DNS as a resolver would write and read them, apart from the product's
// own code.
#pragma once
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace warder::tests {

inline std::string dnsWord(unsigned value) {
  return {static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}

/// "a.b" as labels.
inline std::string dnsName(std::string_view name) {
  std::string wire;
  while (!name.empty()) {
    const std::size_t dot = std::min(name.find('.'), name.size());
    wire += static_cast<char>(dot);
    wire += name.substr(0, dot);
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return wire + '\0';
}

inline std::string dnsOpt(unsigned udp_size, const std::string& options = "", unsigned ttl = 0) {
  return std::string(1, '\0') + dnsWord(41) + dnsWord(udp_size) + dnsWord(ttl >> 16) +
         dnsWord(ttl & 0xffff) + dnsWord(static_cast<unsigned>(options.size())) + options;
}

struct DnsHead {
  unsigned id = 0x1234;
  unsigned flags = 0x0100;  // recursion desired
  unsigned questions = 1;
  unsigned answers = 0;
  unsigned authorities = 0;
  unsigned additionals = 0;

  std::string bytes() const {
    return dnsWord(id) + dnsWord(flags) + dnsWord(questions) + dnsWord(answers) +
           dnsWord(authorities) + dnsWord(additionals);
  }
};

inline constexpr unsigned kTypeA = 1;
inline constexpr unsigned kTypePtr = 12;
inline constexpr unsigned kTypeTxt = 16;
inline constexpr unsigned kTypeAaaa = 28;
inline constexpr unsigned kTypeHttps = 65;

/// A question as most resolvers send it; with EDNS unless `udp_size` is 0.
inline std::string dnsQuery(std::string_view name, unsigned type = kTypeA,
                            unsigned udp_size = 1232) {
  DnsHead head;
  head.additionals = udp_size > 0 ? 1 : 0;
  return head.bytes() + dnsName(name) + dnsWord(type) + dnsWord(1) +
         (udp_size > 0 ? dnsOpt(udp_size) : "");
}

struct DnsRecord {
  std::string name;  // "" when it is a pointer to the question
  unsigned type = 0;
  std::uint32_t ttl = 0;
  std::string data;
};

struct DnsAnswer {
  unsigned id = 0;
  unsigned flags = 0;
  unsigned rcode = 0;    // with the upper bits of OPT
  std::string question;  // bytes
  std::vector<DnsRecord> records;
  std::optional<unsigned> udp_size;
  std::optional<unsigned> error;  // extended
  std::string error_text;

  bool truncated() const { return (flags & 0x0200) != 0; }
};

/// Throws std::out_of_range on what is no answer, or has bytes left.
class DnsAnswerReader {
 public:
  explicit DnsAnswerReader(std::string_view bytes) : rest_(bytes) {}

  DnsAnswer read() {
    DnsAnswer answer;
    answer.id = word();
    answer.flags = word();
    answer.rcode = answer.flags & 0xf;
    const unsigned questions = word();
    const unsigned records = word();
    const unsigned authorities = word();
    const unsigned additionals = word();
    if (questions > 1 || authorities != 0 || additionals > 1) throw std::out_of_range("counts");
    if (questions == 1) {
      answer.question = name();
      answer.question += take(4);
    }
    for (unsigned i = 0; i < records; ++i) answer.records.push_back(record());
    if (additionals == 1) readOpt(answer);
    if (!rest_.empty()) throw std::out_of_range("bytes are left");
    return answer;
  }

 private:
  std::string take(std::size_t count) {
    const std::string taken(rest_.substr(0, count));
    if (taken.size() < count) throw std::out_of_range("the message is cut");
    rest_.remove_prefix(count);
    return taken;
  }
  unsigned word() {
    const std::string two = take(2);
    return static_cast<unsigned>(static_cast<unsigned char>(two[0])) << 8 |
           static_cast<unsigned char>(two[1]);
  }
  std::string name() {
    std::string name;
    for (;;) {
      const std::string length = take(1);
      name += length;
      if (length[0] == 0) return name;
      name += take(static_cast<unsigned char>(length[0]));
    }
  }
  DnsRecord record() {
    DnsRecord record;
    if (word() != 0xc00c) throw std::out_of_range("an owner that is not the question's name");
    record.type = word();
    if (word() != 1) throw std::out_of_range("a class");
    record.ttl = word() << 16;
    record.ttl |= word();
    record.data = take(word());
    return record;
  }
  void readOpt(DnsAnswer& answer) {
    if (take(1)[0] != 0 || word() != 41) throw std::out_of_range("no OPT");
    answer.udp_size = word();
    answer.rcode |= (word() >> 8) << 4;
    word();
    unsigned left = word();
    while (left > 0) {
      const unsigned option = word();
      const unsigned length = word();
      left -= 4 + length;
      std::string data = take(length);
      if (option != 15) continue;
      DnsAnswerReader code(data);
      answer.error = code.word();
      answer.error_text = data.substr(2);
    }
  }

  std::string_view rest_;
};

inline DnsAnswer readDnsAnswer(std::string_view bytes) {
  return DnsAnswerReader(bytes).read();
}

}  // namespace warder::tests
