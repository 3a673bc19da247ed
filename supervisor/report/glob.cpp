#include "supervisor/report/glob.h"

#include <fnmatch.h>

#include <algorithm>

namespace warder::report {

namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> parts;
  while (!path.empty()) {
    const auto slash = std::min(path.find('/'), path.size());
    const auto part = path.substr(0, slash);
    if (!part.empty() && part != ".") parts.emplace_back(part);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return parts;
}

}  // namespace

Glob::Glob(const std::string& pattern) : pattern_(pattern), parts_(split(pattern)) {}

/// `**` may stand for no folder at all.
void Glob::skipStars(Places& places) const {
  for (std::size_t i = 0; i < parts_.size(); ++i)
    if (places[i] && parts_[i] == "**") places[i + 1] = true;
}

Glob::Places Glob::start() const {
  Places places(parts_.size() + 1, false);
  if (!parts_.empty()) places[0] = true;
  skipStars(places);
  places.back() = false;  // the workspace itself is no artifact
  return places;
}

Glob::Places Glob::step(const Places& places, const std::string& name) const {
  Places next(parts_.size() + 1, false);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    if (!places[i]) continue;
    if (parts_[i] == "**")
      next[i] = true;
    else if (::fnmatch(parts_[i].c_str(), name.c_str(), FNM_NOESCAPE) == 0)
      next[i + 1] = true;
  }
  if (places.back()) next.back() = true;  // inside a folder that is meant as a whole
  skipStars(next);
  return next;
}

bool Glob::mayGoOn(const Places& places) const {
  return std::find(places.begin(), places.end(), true) != places.end();
}

bool Glob::matches(std::string_view path) const {
  Places places = start();
  for (const auto& part : split(path)) places = step(places, part);
  return accepts(places);
}

}  // namespace warder::report
