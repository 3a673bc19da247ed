// What a request asks for: the request target, strictly parsed. Pure; hostile bytes come in here,
// and only what a Target holds goes on to the database and the file system.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace warder::collector {

enum class Resource {
  None,    // nothing that exists
  Asset,   // a file of the page: /, /runs/RUN, /style.css ...
  Health,  // /healthz
  Runs,    // /v1/runs
  Run,     // /v1/runs/RUN
  Open,    // /v1/runs/RUN/attempts/N/open
  Events,  // .../events
  Blob,    // .../blobs/SHA256
  Report,  // .../report
};

struct Target {
  Resource resource = Resource::None;
  std::string asset;  // file name within the page's folder
  std::string run;    // canonical UUID
  std::uint32_t attempt = 0;
  std::string blob;         // 64 lower-case hex digits
  std::uint64_t after = 0;  // ?after=N of events
  std::string before;       // ?before=RUN of the list of runs; empty: from the newest
};

inline constexpr std::size_t kMaxTarget = 512;
inline constexpr std::uint32_t kMaxAttempt = 1'000'000;

/// Exactly the targets of docs/protocol.md; everything else, percent-encoded spellings of them
/// included, is Resource::None.
Target parseTarget(std::string_view text);

/// 8-4-4-4-12 lower-case hex digits.
bool isRunId(std::string_view text);

/// Plain decimal without sign or leading zero, at most `limit`.
std::optional<std::uint64_t> parseNumber(std::string_view text, std::uint64_t limit);

}  // namespace warder::collector
