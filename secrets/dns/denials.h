// Counts of what was not resolved, by domain: many long names below one domain are an attempt to
// carry data out in questions. Pure.
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace warder::dns {

/// Domains that are counted each by itself; what comes later is counted together.
inline constexpr std::size_t kMostDomains = 256;
/// Of those, so many are told at the end, the most asked first.
inline constexpr std::size_t kDomainsTold = 20;

class Denials {
 public:
  /// `name` as readQuery gives it.
  void add(std::string_view name);
  std::uint64_t total() const { return total_; }
  /// [{domain, queries, bytes, longest_label}]: bytes are those of all names in front of the
  /// domain.
  boost::json::array told() const;
  /// Queries that told() leaves out.
  std::uint64_t untold() const;

 private:
  struct Count {
    std::uint64_t queries = 0;
    std::uint64_t bytes = 0;
    std::size_t longest_label = 0;
  };
  using Counts = std::map<std::string, Count, std::less<>>;
  std::vector<Counts::const_iterator> mostAsked() const;

  Counts counts_;
  std::uint64_t total_ = 0;
};

/// The last two labels, or three where the last two look like a country's suffix ("co.uk"); a guess
/// that is good enough for counting. In lower case.
std::string domainOf(std::string_view name);

}  // namespace warder::dns
