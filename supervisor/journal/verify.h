// Proves that a journal is complete and unchanged, or says where it is not.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/event.h"
#include "supervisor/base/result.h"

namespace warder::journal {

struct Finding {
  std::uint64_t seq = 0;  // line that it is about; 0 when about none
  std::string sentence;
};

/// Something that a line says lies beside the journal, with its digest.
struct Named {
  std::uint64_t seq = 0;
  std::string file;    // relative to the run's folder
  std::string sha256;  // 64 hexadecimal digits
  std::uint64_t bytes = 0;
};

struct Verified {
  std::vector<Finding> findings;   // empty: proven
  std::vector<std::string> notes;  // worth knowing, no fault
  std::uint64_t lines = 0;
  std::uint64_t seals = 0;
  std::uint64_t last_seq = 0;
  std::uint64_t sealed_to = 0;  // last seq that a seal covers
  std::string head;             // SHA-256 of the last line
  bool finished = false;        // run.finished is there and sealed
  std::vector<Named> named;     // output files and blobs
};

/// Checks lines in order: seq without a hole, the hash chain, identity, seals. Pure.
class ChainChecker {
 public:
  void add(std::string_view text);
  Verified done() const;

 private:
  void checkSeal(std::string_view text, const base::json::object& line, std::uint64_t seq);
  void takeNamed(const std::string& type, const base::json::object& data, std::uint64_t seq);
  void fault(std::uint64_t seq, std::string sentence);

  Verified result_;
  std::string previous_digest_;  // raw SHA-256 of the line before
  std::string previous_type_;
  std::string previous_time_;
  std::string source_;
  std::string id_prefix_;
  std::string key_;
  bool awaiting_seal_ = false;
};

/// The whole of a run's folder but its report: every segment byte, the chain, the seals, the
/// output files and the blobs. What is wrong is in `findings`; errors are only about reading.
base::Result<Verified> verifyRun(const std::string& run_dir);

}  // namespace warder::journal
