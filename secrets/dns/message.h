// Messages of DNS as bytes: one question in, an answer out. Pure.
// Sources: RFC 1035 section 4, RFC 6891 (EDNS), RFC 8914 (Extended DNS Errors).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warder::dns {

/// A longer question is none that a resolver asks: FORMERR.
inline constexpr std::size_t kLongestQuery = 4'096;
/// An answer over UDP without EDNS, and what is offered with it (the size that never is fragmented;
/// source: RFC 9715).
inline constexpr std::size_t kPlainUdpAnswer = 512;
inline constexpr std::size_t kLargestUdpAnswer = 1'232;
inline constexpr std::size_t kLargestTcpAnswer = 65'535;

/// Types of records by their numbers, as far as they are told apart here. Source: IANA DNS
/// parameters.
enum class Type : std::uint16_t {
  A = 1,
  Ptr = 12,
  Aaaa = 28,
  Opt = 41,
  Ixfr = 251,
  Axfr = 252,
  Any = 255
};

/// "A", "TXT", "TYPE65280": as RFC 3597 writes a type that has no name here.
std::string nameOf(Type type);

enum class Rcode : std::uint16_t {
  NoError = 0,
  FormErr = 1,
  ServFail = 2,
  NxDomain = 3,
  NotImp = 4,
  Refused = 5,
  BadVers = 16
};

/// What the asker says about itself. Source: RFC 6891 section 6.1.
struct Edns {
  std::uint16_t udp_size = kPlainUdpAnswer;  // at least kPlainUdpAnswer
  bool wants_dnssec = false;
};

struct Query {
  std::uint16_t id = 0;
  std::uint8_t opcode = 0;
  bool recursion_desired = false;
  bool checking_disabled = false;
  std::string question;  // as it was sent (case kept), for the answer; empty if it cannot be read
  /// Without the final dot; "" is the root. A byte that is no printable ASCII, a dot within a label
  /// and a backslash are escaped as in zone files (`\046`, `\\`), so a name that holds one is no
  /// host name.
  std::string name;
  Type type{};
  std::optional<Edns> edns;
};

struct ReadQuery {
  Query query;
  Rcode fault = Rcode::NoError;  // NoError: the query is one question of class IN
};

/// Reads a message of at most kLongestQuery bytes. Anything else than one well-formed question with
/// at most one OPT record and nothing behind it is FormErr; another opcode is NotImp; another class
/// is Refused; EDNS of another version is BadVers. nullopt: say nothing (no whole header, or an
/// answer: answering answers would make loops).
std::optional<ReadQuery> readQuery(std::string_view message);

/// A record of the name that was asked for.
struct Record {
  Type type{};
  std::string data;
};

/// Source: RFC 8914 section 4.
struct ExtendedError {
  std::uint16_t code = 0;
  std::string text;  // for people and models; UTF-8
};

struct Answer {
  Rcode rcode = Rcode::NoError;
  std::uint32_t ttl_seconds = 0;  // of the records
  std::vector<Record> records{};
  std::optional<ExtendedError> error{};  // told only to who speaks EDNS
};

/// The answer as bytes, not longer than `limit` (at least kPlainUdpAnswer). Too long: first the
/// error's text goes, then the records, with the TC bit: the asker comes back over TCP.
std::string writeAnswer(const Query& query, const Answer& answer, std::size_t limit);

/// The most that an answer over UDP to this query may have.
std::size_t udpLimitOf(const Query& query);

/// A name as wire bytes, for a PTR record. `name` is canonical: labels of 1 to 63 bytes.
std::string wireName(std::string_view name);

}  // namespace warder::dns
