#include "collector/target.h"

#include <algorithm>
#include <array>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <vector>

#include "supervisor/journal/digest.h"

namespace warder::collector {

namespace {

constexpr std::array<std::string_view, 6> kAssets = {"style.css", "app.js",    "list.js",
                                                     "run.js",    "events.js", "icon.svg"};

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  path.remove_prefix(1);
  for (;;) {
    const std::size_t end = path.find('/');
    segments.push_back(path.substr(0, end));
    if (end == std::string_view::npos) return segments;
    path.remove_prefix(end + 1);
  }
}

Target pageTarget(const std::vector<std::string_view>& parts) {
  Target target;
  if (parts.size() == 1 && parts[0].empty()) target.asset = "index.html";
  if (parts.size() == 1 && std::find(kAssets.begin(), kAssets.end(), parts[0]) != kAssets.end())
    target.asset = parts[0];
  if (parts.size() == 2 && parts[0] == "runs" && isRunId(parts[1])) {
    target.asset = "run.html";
    target.run = parts[1];
  }
  if (parts.size() == 1 && parts[0] == "healthz") target.resource = Resource::Health;
  if (!target.asset.empty()) target.resource = Resource::Asset;
  return target;
}

Target attemptTarget(const std::vector<std::string_view>& parts) {
  const auto attempt = parseNumber(parts[4], kMaxAttempt);
  if (parts[3] != "attempts" || !attempt || *attempt == 0) return {};
  Target target;
  target.run = parts[2];
  target.attempt = static_cast<std::uint32_t>(*attempt);
  if (parts.size() == 6) {
    if (parts[5] == "open") target.resource = Resource::Open;
    if (parts[5] == "events") target.resource = Resource::Events;
    if (parts[5] == "report") target.resource = Resource::Report;
  } else if (parts.size() == 7 && parts[5] == "blobs" && journal::isHexDigest(parts[6])) {
    target.resource = Resource::Blob;
    target.blob = parts[6];
  }
  return target;
}

Target apiTarget(const std::vector<std::string_view>& parts) {
  Target target;
  if (parts[1] != "runs") return target;
  if (parts.size() == 2) target.resource = Resource::Runs;
  if (parts.size() == 2 || !isRunId(parts[2])) return target;
  if (parts.size() >= 6) return attemptTarget(parts);
  if (parts.size() == 3) {
    target.resource = Resource::Run;
    target.run = parts[2];
  }
  return target;
}

/// Reads the one parameter that the resource knows. False when there is anything else.
bool readQuery(std::string_view query, Target& target) {
  const std::size_t equals = query.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view name = query.substr(0, equals);
  const std::string_view value = query.substr(equals + 1);
  if (target.resource == Resource::Events && name == "after") {
    const auto after = parseNumber(value, INT64_MAX);
    target.after = after.value_or(0);
    return after.has_value();
  }
  if (target.resource == Resource::Runs && name == "before" && isRunId(value)) {
    target.before = value;
    return true;
  }
  return false;
}

}  // namespace

bool isRunId(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

std::optional<std::uint64_t> parseNumber(std::string_view text, std::uint64_t limit) {
  if (text.empty() || text.size() > 19 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (value > limit) return std::nullopt;
  return value;
}

Target parseTarget(std::string_view text) {
  if (text.empty() || text.size() > kMaxTarget || text[0] != '/') return {};
  const auto parsed = boost::urls::parse_origin_form({text.data(), text.size()});
  if (!parsed) return {};
  const auto encoded = parsed->encoded_path();
  const std::string_view path(encoded.data(), encoded.size());
  // No name of ours needs an escape, so an escape is a trick.
  if (path.empty() || path[0] != '/' || path.find('%') != std::string_view::npos) return {};
  const auto parts = split(path);
  Target target = parts.size() >= 2 && parts[0] == "v1" ? apiTarget(parts) : pageTarget(parts);
  if (parsed->has_query() && target.resource != Resource::Asset) {
    const auto query = parsed->encoded_query();
    if (!readQuery({query.data(), query.size()}, target)) return {};
  }
  return target;
}

}  // namespace warder::collector
