// A batch of journal lines as it arrives: parsed, numbered, chained. Pure.
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::collector {

namespace json = boost::json;

struct AttemptKey {
  std::string run;
  std::uint32_t attempt = 1;
};

struct EventLine {
  std::uint64_t seq = 0;
  std::string prev;  // hash that the line claims for the line before it
  std::string hash;  // hash of this line: hex SHA-256 of its exact bytes
  std::string type;
  std::string time;
  std::string_view text;  // points into the body that was parsed
  json::object data;
};

/// Longest line: what the journal can hold (1 MiB of payload in a frame).
inline constexpr std::size_t kMaxLine = 1 << 20;
/// Longest body of a batch: the longest line with its newline, and a batch of usual size.
inline constexpr std::size_t kMaxBatch = kMaxLine + (256 << 10) + 1;

/// Splits NDJSON into lines and checks what can be checked without the past: each line is a
/// CloudEvent of this run and attempt, numbers follow one another, each line names the hash of the
/// one before it. The lines point into `body`. An empty body is an empty batch (a heartbeat).
/// Errors: Config when the form is wrong, Denied when the chain is broken.
base::Result<std::vector<EventLine>> parseBatch(std::string_view body, const AttemptKey& key);

/// A blob that a line refers to.
struct BlobReference {
  std::string digest;  // 64 hex digits
  std::uint64_t bytes = 0;
  std::string kind;  // "artifact", "patch", "stdout", "stderr"
  std::string name;  // the artifact's path; else the kind
};

/// The `prev` of a journal's first line, and the head of an attempt without lines.
inline constexpr std::string_view kNoHead =
    "0000000000000000000000000000000000000000000000000000000000000000";

/// The blob of artifact.stored, patch.stored and output.closed; nullopt for other events and for
/// digests that are not SHA-256.
std::optional<BlobReference> blobOf(const EventLine& line);

}  // namespace warder::collector
