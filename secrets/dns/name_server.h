// What the agent's name server says: a question's bytes to an answer's bytes. No sockets; nothing
// is ever asked of anybody else.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "secrets/dns/denials.h"
#include "secrets/dns/message.h"
#include "secrets/dns/name_table.h"
#include "supervisor/base/event.h"

namespace warder::dns {

/// How long an answer may be kept by who asked. The address is right for the whole run, so this
/// only bounds what outlives it: a cache in a snapshot of a machine, or in a program that is moved
/// to another run, where the address is another name's. A minute also keeps programs that ask for
/// each connection (Node, Go) from paying for it. Denials carry no SOA and are therefore not kept
/// at all. Source: RFC 2308 section 5.
inline constexpr std::uint32_t kAnswerTtlSeconds = 60;
/// Endings that resolvers try behind an allowed name ("api.example.org.cluster.local"); so many
/// are told once each, and labels they may have.
inline constexpr std::size_t kMostSearchEndings = 16;
inline constexpr std::size_t kMostSearchLabels = 6;

struct Naming {
  /// May the agent know an address of this host? Asked only for canonical names
  /// (policies::canonicalHost) that are no addresses.
  std::function<bool(std::string_view canonical_name)> allowed;
  std::shared_ptr<NameTable> table;
  base::Emit emit;
  bool ipv6 = true;  // false: AAAA is NODATA
};

enum class Transport { Udp, Tcp };

class NameServer {
 public:
  explicit NameServer(Naming naming) : naming_(std::move(naming)) {}

  /// nullopt: say nothing. Emits `dns.denied` for a name that is not allowed, and
  /// `dns.table_full` once.
  std::optional<std::string> answer(std::string_view message, Transport transport);
  /// Counts of the whole run; `connections_refused` are the stub's.
  base::json::object counts(std::uint64_t connections_refused) const;
  bool wasAsked() const { return queries_ > 0; }

 private:
  Answer answerTo(const Query& query, Transport transport);
  Answer addressAnswer(const std::string& host, Type type);
  Answer fullAnswer();
  std::optional<Answer> reverseAnswer(const std::string& host, Type type) const;
  Answer deny(const Query& query, const std::string& host, Transport transport);
  std::string searchEndingOf(const std::string& host) const;
  bool isAllowed(std::string_view host) const;
  bool isServiceOfAllowed(std::string_view host) const;

  Naming naming_;
  Denials denials_;
  std::set<std::string> search_endings_;
  std::uint64_t queries_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t search_attempts_ = 0;
  std::uint64_t beyond_table_ = 0;
};

}  // namespace warder::dns
