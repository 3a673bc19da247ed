#include "secrets/dns/denials.h"

#include <algorithm>

namespace warder::dns {

namespace {

/// Where the label before `end` begins.
std::size_t labelStart(std::string_view name, std::size_t end) {
  const std::size_t dot = end == 0 ? std::string_view::npos : name.rfind('.', end - 1);
  return dot == std::string_view::npos ? 0 : dot + 1;
}

}  // namespace

std::string domainOf(std::string_view name) {
  const std::size_t last = labelStart(name, name.size());
  std::size_t start = last;
  if (start > 0) start = labelStart(name, start - 1);
  const bool is_country = name.size() - last == 2;
  const bool is_short = last > 0 && last - 1 - start <= 3;
  if (start > 0 && is_country && is_short) start = labelStart(name, start - 1);
  std::string domain(name.substr(start));
  for (char& c : domain)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return domain;
}

void Denials::add(std::string_view name) {
  ++total_;
  const std::string domain = domainOf(name);
  auto found = counts_.find(domain);
  if (found == counts_.end()) {
    if (counts_.size() >= kMostDomains) return;
    found = counts_.emplace(domain, Count{}).first;
  }
  Count& count = found->second;
  ++count.queries;
  std::string_view front = name.substr(0, name.size() - domain.size());
  count.bytes += front.size();
  while (!front.empty()) {
    const std::size_t length = std::min(front.find('.'), front.size());
    count.longest_label = std::max(count.longest_label, length);
    front.remove_prefix(std::min(length + 1, front.size()));
  }
}

std::vector<Denials::Counts::const_iterator> Denials::mostAsked() const {
  std::vector<Counts::const_iterator> all;
  for (auto at = counts_.begin(); at != counts_.end(); ++at) all.push_back(at);
  std::stable_sort(all.begin(), all.end(), [](const auto& one, const auto& other) {
    return one->second.queries > other->second.queries;
  });
  if (all.size() > kDomainsTold) all.resize(kDomainsTold);
  return all;
}

boost::json::array Denials::told() const {
  boost::json::array told;
  for (const auto& at : mostAsked())
    told.push_back(boost::json::object{{"domain", at->first},
                                       {"queries", at->second.queries},
                                       {"bytes", at->second.bytes},
                                       {"longest_label", at->second.longest_label}});
  return told;
}

std::uint64_t Denials::untold() const {
  std::uint64_t left = total_;
  for (const auto& at : mostAsked()) left -= at->second.queries;
  return left;
}

}  // namespace warder::dns
