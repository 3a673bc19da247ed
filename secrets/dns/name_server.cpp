#include "secrets/dns/name_server.h"

#include <arpa/inet.h>

#include <algorithm>

#include "policies/policy.h"

namespace warder::dns {

namespace ip = boost::asio::ip;

namespace {

// Source: RFC 8914 section 4 (17: filtered, by who runs the network and for the asker).
constexpr std::uint16_t kOtherError = 0;
constexpr std::uint16_t kFiltered = 17;
constexpr std::size_t kLongestToldName = 253;
constexpr std::string_view kDeniedText =
    "not allowed by the policy of this run; use an allowed host, or have an allow rule added for "
    "this one";
constexpr std::string_view kNoHostText =
    "no host name; ask for a name of letters, digits and hyphens, and dial an address as it is";
constexpr std::string_view kSearchText =
    "an allowed name with an ending of the resolver's search list, which is not resolved; told "
    "once "
    "for each ending";

std::string fullText(std::size_t names) {
  return "this run has asked for " + std::to_string(names) +
         " names already and gets addresses for no more; allow fewer names";
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

/// The canonical name; empty for what is no host name, also for an address that is written as one.
std::string hostOf(std::string_view name) {
  std::string host = policies::canonicalHost(name);
  in_addr ignored{};
  const bool is_address =
      host.find(':') != std::string::npos || ::inet_pton(AF_INET, host.c_str(), &ignored) == 1;
  return is_address ? std::string{} : host;
}

/// RFC 6761 section 6.3.
bool isLocalhost(std::string_view host) {
  return host == "localhost" || endsWith(host, ".localhost");
}

std::string dataOf(const ip::address_v4& address) {
  const auto bytes = address.to_bytes();
  return {bytes.begin(), bytes.end()};
}
std::string dataOf(const ip::address_v6& address) {
  const auto bytes = address.to_bytes();
  return {bytes.begin(), bytes.end()};
}

Answer recordsOf(const SyntheticAddresses& addresses, Type type, bool ipv6) {
  Answer answer;
  answer.ttl_seconds = kAnswerTtlSeconds;
  if (type == Type::A || type == Type::Any)
    answer.records.push_back({Type::A, dataOf(addresses.v4)});
  if (ipv6 && (type == Type::Aaaa || type == Type::Any))
    answer.records.push_back({Type::Aaaa, dataOf(addresses.v6)});
  return answer;
}

/// The labels of "4.3.2.1" in the other order, put together in groups: "1.2.3.4".
std::string reversed(std::string_view labels, std::size_t group, char separator) {
  std::string text;
  std::size_t count = 0;
  while (!labels.empty()) {
    const std::size_t dot = labels.rfind('.');
    const std::string_view last = dot == std::string_view::npos ? labels : labels.substr(dot + 1);
    if (count > 0 && count % group == 0) text += separator;
    if (group > 1 && last.size() != 1) return {};
    text += last;
    ++count;
    labels = dot == std::string_view::npos ? std::string_view{} : labels.substr(0, dot);
  }
  return text;
}

/// The address of a name such as "1.0.18.198.in-addr.arpa". Sources: RFC 1035 section 3.5,
/// RFC 3596 section 2.5.
std::optional<ip::address> addressOfReverse(std::string_view host) {
  constexpr std::string_view kV4 = ".in-addr.arpa";
  constexpr std::string_view kV6 = ".ip6.arpa";
  boost::system::error_code failure;
  ip::address address;
  if (endsWith(host, kV4))
    address =
        ip::make_address_v4(reversed(host.substr(0, host.size() - kV4.size()), 1, '.'), failure);
  else if (endsWith(host, kV6) && host.size() == 63 + kV6.size())
    address =
        ip::make_address_v6(reversed(host.substr(0, host.size() - kV6.size()), 4, ':'), failure);
  else
    return std::nullopt;
  return failure ? std::nullopt : std::optional(address);
}

}  // namespace

std::optional<std::string> NameServer::answer(std::string_view message, Transport transport) {
  const auto read = readQuery(message);
  if (!read) return std::nullopt;
  ++queries_;
  Answer answer;
  if (read->fault == Rcode::NoError) {
    answer = answerTo(read->query, transport);
  } else {
    ++malformed_;
    answer.rcode = read->fault;
  }
  const std::size_t limit =
      transport == Transport::Udp ? udpLimitOf(read->query) : kLargestTcpAnswer;
  return writeAnswer(read->query, answer, limit);
}

Answer NameServer::answerTo(const Query& query, Transport transport) {
  Answer answer;
  if (query.type == Type::Axfr || query.type == Type::Ixfr) {
    answer.rcode = Rcode::Refused;
    return answer;
  }
  if (query.name.empty()) return answer;  // the root exists, and has nothing to say here
  const std::string host = hostOf(query.name);
  if (isLocalhost(host))
    return recordsOf({ip::address_v4::loopback(), ip::address_v6::loopback()}, query.type,
                     naming_.ipv6);
  if (auto reverse = reverseAnswer(host, query.type)) return *reverse;
  if (isAllowed(host)) return addressAnswer(host, query.type);
  if (isServiceOfAllowed(host)) return answer;  // as TXT and the like of the host itself
  return deny(query, host, transport);
}

/// A part of a name need not be one: it is asked for only if it is.
bool NameServer::isAllowed(std::string_view host) const {
  return !host.empty() && hostOf(host) == host && naming_.allowed(host);
}

Answer NameServer::addressAnswer(const std::string& host, Type type) {
  const bool wants_address =
      type == Type::A || type == Type::Any || (type == Type::Aaaa && naming_.ipv6);
  if (!wants_address) return {};
  const auto addresses = naming_.table->addressesOf(host);
  return addresses ? recordsOf(*addresses, type, naming_.ipv6) : fullAnswer();
}

Answer NameServer::fullAnswer() {
  const std::string text = fullText(naming_.table->size());
  if (beyond_table_++ == 0)
    naming_.emit({"dns.table_full", {{"names", naming_.table->size()}, {"sentence", text}}});
  Answer answer;
  answer.rcode = Rcode::ServFail;
  answer.error = ExtendedError{kOtherError, text};
  return answer;
}

std::optional<Answer> NameServer::reverseAnswer(const std::string& host, Type type) const {
  const auto address = addressOfReverse(host);
  if (!address) return std::nullopt;
  std::string_view name = naming_.table->nameOf(*address);
  if (address->is_loopback()) name = "localhost";
  if (name.empty()) return std::nullopt;
  Answer answer;
  answer.ttl_seconds = kAnswerTtlSeconds;
  if (type == Type::Ptr || type == Type::Any) answer.records.push_back({Type::Ptr, wireName(name)});
  return answer;
}

Answer NameServer::deny(const Query& query, const std::string& host, Transport transport) {
  Answer answer;
  answer.rcode = Rcode::NxDomain;
  std::string_view text = host.empty() ? kNoHostText : kDeniedText;
  answer.error = ExtendedError{kFiltered, std::string(text)};
  if (const std::string ending = searchEndingOf(host); !ending.empty()) {
    const bool is_new = search_endings_.count(ending) == 0;
    if (!is_new) {
      ++search_attempts_;
      return answer;
    }
    // Beyond the limit these are no search list any more, and are told like all others.
    if (search_endings_.size() < kMostSearchEndings) {
      search_endings_.insert(ending);
      text = kSearchText;
    }
  }
  denials_.add(query.name);
  naming_.emit({"dns.denied",
                {{"name", query.name.substr(0, kLongestToldName)},
                 {"type", nameOf(query.type)},
                 {"transport", transport == Transport::Udp ? "udp" : "tcp"},
                 {"sentence", text}}});
  return answer;
}

/// What stands behind an allowed name: "cluster.local" of "api.example.org.cluster.local".
std::string NameServer::searchEndingOf(const std::string& host) const {
  std::string_view front = host;
  for (std::size_t labels = 0; labels < kMostSearchLabels; ++labels) {
    const std::size_t dot = front.rfind('.');
    if (dot == std::string_view::npos) return {};
    front = front.substr(0, dot);
    if (isAllowed(front)) return host.substr(dot + 1);
  }
  return {};
}

/// "_http._tcp.deb.example.org": a service of an allowed host (SRV, TLSA), for which apt and others
/// ask before the address.
bool NameServer::isServiceOfAllowed(std::string_view host) const {
  std::string_view base = host;
  while (!base.empty() && base.front() == '_')
    base.remove_prefix(std::min(base.find('.'), base.size() - 1) + 1);
  return base.size() < host.size() && isAllowed(base);
}

base::json::object NameServer::counts(std::uint64_t connections_refused) const {
  return {{"queries", queries_},
          {"denied", denials_.total()},
          {"search_list", search_attempts_},
          {"malformed", malformed_},
          {"names", naming_.table->size()},
          {"names_refused", beyond_table_},
          {"connections_refused", connections_refused},
          {"domains", denials_.told()},
          {"domains_untold", denials_.untold()}};
}

}  // namespace warder::dns
