#include "secrets/models/route.h"

#include <algorithm>

#include "secrets/http/head.h"

namespace warder::models {

namespace {

constexpr std::string_view kModel = "{model}";

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool whole = text[at] == '%' && at + 2 < text.size();
    const int high = whole ? hexValue(text[at + 1]) : -1;
    const int low = whole ? hexValue(text[at + 2]) : -1;
    const bool spelled = high >= 0 && low >= 0;
    out += spelled ? static_cast<char>(high * 16 + low) : text[at];
    if (spelled) at += 2;
  }
  return out;
}

/// Takes the first segment off "/a/b": "a" remains to be looked at, "/b" is the rest.
std::string_view takeSegment(std::string_view& path) {
  path.remove_prefix(1);
  const std::string_view segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  return segment;
}

struct Star {
  std::size_t at = std::string_view::npos;
  std::size_t length = 0;
};

Star starOf(std::string_view pattern) {
  const std::size_t model = pattern.find(kModel);
  if (model != std::string_view::npos) return {model, kModel.size()};
  return {pattern.find('*'), 1};
}

/// What the star of the segment stands for goes to `model` when it is that one.
bool matchesSegment(std::string_view pattern, std::string_view text, std::string_view& model) {
  const Star star = starOf(pattern);
  if (star.at == std::string_view::npos) return pattern == text;
  const std::string_view before = pattern.substr(0, star.at);
  const std::string_view after = pattern.substr(star.at + star.length);
  if (text.size() <= before.size() + after.size()) return false;
  if (!text.starts_with(before) || !text.ends_with(after)) return false;
  if (star.length > 1)
    model = text.substr(before.size(), text.size() - before.size() - after.size());
  return true;
}

bool matchesPath(std::string_view pattern, std::string_view path, std::string_view& model) {
  while (!pattern.empty()) {
    if (pattern == "/**") return true;
    if (path.empty()) return false;
    const std::string_view wanted = takeSegment(pattern);
    if (!matchesSegment(wanted, takeSegment(path), model)) return false;
  }
  return path.empty();
}

bool matchesMethod(std::string_view pattern, std::string_view method) {
  return pattern == "*" || pattern == method;
}

bool matchesHost(std::string_view pattern, std::string_view host) {
  std::string_view unused;
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == host;
  const std::size_t fixed = pattern.size() - 1;
  if (host.size() <= fixed || !matchesSegment(pattern, host, unused)) return false;
  return host.substr(star, host.size() - fixed).find('.') == std::string_view::npos;
}

/// As the most generous server would read it.
std::string folded(std::string_view path) {
  std::string out;
  const std::string plain = http::lowerCase(decoded(path));
  std::string_view rest = plain;
  while (rest.starts_with('/')) {
    const std::string_view segment = takeSegment(rest);
    const std::string_view named = segment.substr(0, segment.find(';'));
    if (!named.empty()) out += "/" + std::string(named);
  }
  return out;
}

}  // namespace

std::string whyNoPattern(std::string_view pattern) {
  if (!pattern.starts_with('/')) return "does not begin with /";
  std::string_view rest = pattern;
  while (!rest.empty()) {
    const std::string_view segment = takeSegment(rest);
    if (segment == "**" && rest.empty()) continue;
    const Star star = starOf(segment);
    const std::size_t after = star.at == std::string_view::npos ? 0 : star.at + star.length;
    if (segment.substr(after).find_first_of("*{}") != std::string_view::npos ||
        (star.length > 1 && segment.substr(0, star.at).find_first_of("*{}") != std::string::npos))
      return "has more than one * or {model} in a segment, or a ** that does not end it";
  }
  return {};
}

Routed routeOf(std::span<const Route> routes, std::string_view method, std::string_view path) {
  Routed found;
  if (!path.starts_with('/')) return found;
  for (const Route& route : routes) {
    std::string_view model;
    if (!matchesPath(route.path, path, model)) continue;
    found.known_path = true;
    if (!matchesMethod(route.method, method)) continue;
    found.route = &route;
    found.model = decoded(model);
    return found;
  }
  return found;
}

const Denied* credentialEndpoint(std::span<const Denied> denied, std::string_view host,
                                 std::string_view method, std::string_view path) {
  const std::string plain = folded(path);
  for (const Denied& one : denied) {
    std::string_view unused;
    if (matchesHost(one.host, host) && matchesMethod(one.method, method) &&
        matchesPath(http::lowerCase(one.path), plain, unused))
      return &one;
  }
  return nullptr;
}

}  // namespace warder::models
