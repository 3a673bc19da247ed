// What the agent's program is: the stage that reads it, so that nobody else waits for its disk.
#pragma once
#include <optional>
#include <string>

#include "supervisor/base/event.h"
#include "supervisor/base/result.h"

namespace warder::report {

struct ProgramFacts {
  std::string sha256;
  std::uint64_t bytes = 0;
  std::string version;  // of the npm package that it lies in; empty where it does not say
};

/// {"program": {"sha256","bytes","version"}}, and back; nullopt when `message` is none.
base::json::object toMessage(const ProgramFacts& facts);
std::optional<ProgramFacts> programFactsFrom(const base::json::object& message);

/// `version` of a package.json's text; empty where it says none. At most 128 bytes of it, safe for
/// a terminal. Pure.
std::string versionOf(std::string_view package_json);

inline constexpr std::size_t kLargestPackageFile = 256 * 1024;

/// The stage: base::kFirstExtraFd is the program, the next one its package.json (or /dev/null).
/// Says one message and ends.
int programFactsMain();

}  // namespace warder::report
