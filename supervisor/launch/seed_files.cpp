#include "supervisor/launch/seed_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "supervisor/base/fd.h"
#include "supervisor/base/wire.h"

namespace warder::launch {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;
namespace fs = std::filesystem;
namespace json = base::json;

namespace {

constexpr std::string_view kWorkspace = "${WORKSPACE}";
constexpr mode_t kPrivate = 0600;

std::string filledIn(std::string_view text, const std::string& workspace) {
  std::string filled(text);
  for (std::size_t at = 0; (at = filled.find(kWorkspace, at)) != std::string::npos;
       at += workspace.size())
    filled.replace(at, kWorkspace.size(), workspace);
  return filled;
}

json::value filledIn(const json::value& value, const std::string& workspace) {
  if (const auto* text = value.if_string())
    return json::string(filledIn(std::string_view(*text), workspace));
  if (const auto* array = value.if_array()) {
    json::array filled;
    for (const auto& item : *array) filled.push_back(filledIn(item, workspace));
    return filled;
  }
  const auto* object = value.if_object();
  if (object == nullptr) return value;
  json::object filled;
  for (const auto& item : *object)
    filled[filledIn(std::string_view(item.key()), workspace)] = filledIn(item.value(), workspace);
  return filled;
}

struct Existing {
  bool there = false;
  bool usable = true;  // may be completed
  mode_t mode = kPrivate;
  json::object content;
};

Existing readExisting(const std::string& path) {
  Existing existing;
  struct stat facts {};
  existing.there = ::lstat(path.c_str(), &facts) == 0;
  if (!existing.there) return existing;
  existing.usable = false;
  existing.mode = facts.st_mode & 07777;
  if (!S_ISREG(facts.st_mode)) return existing;
  auto text = base::readFile(path, kLargestSeeded);
  if (!text) return existing;
  auto value = base::parseJson(*text);
  if (!value || !value->is_object()) return existing;
  existing.usable = true;
  existing.content = std::move(value->get_object());
  return existing;
}

/// Replaced whole, so that nobody reads half of it.
Status writeWhole(const std::string& path, const std::string& text, mode_t mode) {
  const std::string next = path + ".warder-seed";
  ::unlink(next.c_str());
  auto file = base::openFile(next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode);
  if (!file) return file.error();
  if (::fchmod(file->get(), mode) != 0) return kernelError("cannot set the mode of " + next);
  if (auto written = base::writeAll(file->get(), text); !written)
    return written.error().during(next);
  if (::rename(next.c_str(), path.c_str()) != 0) return kernelError("cannot replace " + path);
  return {};
}

Status seedFile(const std::string& home, const Seed& seed) {
  const std::string path = home + "/" + seed.path;
  std::error_code failure;
  fs::create_directories(fs::path(path).parent_path(), failure);
  if (failure) return kernelError("cannot make the folder of " + path, failure.value());
  Existing existing = readExisting(path);
  if (!existing.usable || !mergeMissing(existing.content, seed.content)) return {};
  return writeWhole(path, json::serialize(existing.content) + "\n", existing.mode);
}

}  // namespace

Result<json::object> seedContent(std::string_view text, const std::string& workspace) {
  auto value = base::parseJson(text);
  if (!value) return value.error().during("the content of a seed file");
  if (!value->is_object()) return Error{Kind::Config, "the content of a seed file is no object", 0};
  return filledIn(*value, workspace).as_object();
}

bool mergeMissing(json::object& into, const json::object& seed) {
  bool added = false;
  for (const auto& item : seed) {
    auto* present = into.if_contains(item.key());
    if (present == nullptr) {
      into[item.key()] = item.value();
      added = true;
    } else if (present->is_object() && item.value().is_object()) {
      added = mergeMissing(present->get_object(), item.value().get_object()) || added;
    }
  }
  return added;
}

Status seedFiles(const std::string& home, const std::vector<Seed>& seeds) {
  for (const auto& seed : seeds)
    if (auto done = seedFile(home, seed); !done)
      return done.error().during("preparing the agent's home");
  return {};
}

}  // namespace warder::launch
