#include "policies/host_pattern.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <limits>

#include "policies/policy.h"
#include "policies/punycode.h"
#include "supervisor/base/fault.h"

namespace warder::policies {
namespace {

constexpr std::string_view kOneLabel = "*.";
constexpr std::string_view kAnyDepth = "**.";
constexpr std::size_t kLongestBelow = 251;  // bytes; RFC 1035 allows 253, the label and its dot two

std::string_view starsOf(std::string_view pattern) {
  if (pattern.starts_with(kAnyDepth)) return kAnyDepth;
  return pattern.starts_with(kOneLabel) ? kOneLabel : std::string_view{};
}

bool hasStar(std::string_view text) {
  return text.find('*') != std::string_view::npos;
}

/// Why stars that do not stand in front as a whole label are refused.
std::string starFault(std::string_view written) {
  if (written.find_first_not_of("*.") == std::string_view::npos)
    return ": a star stands only in front of a name, as *.example.org; nothing allows all hosts";
  const std::string rest(written.substr(written.find_last_of('*') + 1));
  const bool only_front = rest.size() > 1 && rest.front() == '.' &&
                          written.find_first_not_of("*.") == written.size() - rest.size() + 1;
  if (only_front)
    return ": a star stands only in front, once; *" + rest + " is one label more, **" + rest +
           " any number";
  if (rest.empty())
    return ": a star stands only in front, as *.example.org; list the names, one rule each";
  return ": a star stands only in front, for whole labels, as *.example.org";
}

/// Many programs read 2852039166, 0xA9FEA9FE, 0251.0376.0251.0376 and 169.254.43518 as addresses.
std::string numberFault(const std::string& name) {
  in_addr address{};
  if (::inet_aton(name.c_str(), &address) == 0) return {};
  std::array<char, INET_ADDRSTRLEN> shown{};
  ::inet_ntop(AF_INET, &address, shown.data(), shown.size());
  return " is no host name; some programs read it as the address " + std::string(shown.data()) +
         ", which is written so";
}

std::string nameFault(std::string_view name, std::string_view stars) {
  const bool ascii = std::all_of(name.begin(), name.end(),
                                 [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (!ascii) {
    const std::string written = punycodeName(name);
    const bool usable = !written.empty() && !canonicalHost(written).empty();
    return usable ? ": write it as it is in the domain name system, " +
                        base::inQuotes(std::string(stars) + written)
                  : " has letters that no host name has; write its form in the domain name "
                    "system, with xn--";
  }
  if (name.find('%') != std::string_view::npos)
    return " has a percent sign; a host has no zone and no escapes";
  if (std::string number = numberFault(std::string(name)); !number.empty()) return number;
  const std::size_t colon = name.find(':');
  const bool has_port = colon != std::string_view::npos && name.rfind(':') == colon &&
                        !canonicalHost(name.substr(0, colon)).empty();
  if (has_port) return " has a port, which stands under port, beside host";
  return " is no host name (letters, digits, hyphens, dots) and no IP address";
}

std::string shapeFault(std::string_view written) {
  if (written.find("://") != std::string_view::npos)
    return " has a scheme; a host is written without one, as example.org, and a path stands under "
           "paths";
  if (const std::size_t slash = written.find('/'); slash != std::string_view::npos) {
    const std::string host = canonicalHost(written.substr(0, slash));
    return !host.empty() && isAddress(host)
               ? " is a network; a rule names one address, or a host name"
               : " has a path, which stands under paths, beside host";
  }
  if (written.size() > 1 && written.front() == '.' && !hasStar(written)) {
    const std::string rest(written);
    return " begins with a dot; write " + rest.substr(1) + " for the name itself, *" + rest +
           " for names with one label more, **" + rest + " for all names below it";
  }
  return {};
}

}  // namespace

bool matchesHost(std::string_view pattern, std::string_view host) {
  const std::string_view stars = starsOf(pattern);
  if (stars.empty()) return pattern == host;
  const std::string_view suffix = pattern.substr(stars.size() - 1);  // with its dot
  if (host.size() <= suffix.size() || !host.ends_with(suffix)) return false;
  const std::string_view more = host.substr(0, host.size() - suffix.size());
  return stars == kAnyDepth || more.find('.') == std::string_view::npos;
}

std::string_view nameBelow(std::string_view pattern) {
  return pattern.substr(starsOf(pattern).size());
}

bool isAddress(std::string_view host) {
  return host.find(':') != std::string_view::npos ||
         host.find_first_not_of("0123456789.") == std::string_view::npos;
}

std::size_t specificity(std::string_view pattern) {
  const std::string_view stars = starsOf(pattern);
  if (stars.empty()) return std::numeric_limits<std::size_t>::max();
  return 2 * nameBelow(pattern).size() + (stars == kOneLabel ? 1 : 0);
}

HostReading readHostPattern(std::string_view written) {
  const auto refused = [&](const std::string& why) {
    return HostReading{"", "host " + base::inQuotes(written) + why};
  };
  if (const std::string fault = shapeFault(written); !fault.empty()) return refused(fault);
  const std::string_view stars = starsOf(written);
  const std::string_view name = written.substr(stars.size());
  if (hasStar(name) || (!stars.empty() && name.empty())) return refused(starFault(written));
  const std::string host = canonicalHost(name);
  if (host.empty()) return refused(nameFault(name, stars));
  if (!stars.empty() && isAddress(host))
    return refused(" is no host name; nothing is below an IP address, which stands alone");
  if (!stars.empty() && host.size() > kLongestBelow)
    return refused(" matches nothing, since a name has at most 253 bytes");
  return {std::string(stars) + host, ""};
}

}  // namespace warder::policies
