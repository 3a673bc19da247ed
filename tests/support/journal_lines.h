// Journal lines as the scribe writes them, made in memory.
#pragma once
#include <boost/json.hpp>
#include <string>
#include <vector>

#include "supervisor/journal/digest.h"

namespace warder::support {

/// A chained journal of one attempt.
class JournalLines {
 public:
  explicit JournalLines(std::string run, int attempt = 1)
      : run_(std::move(run)), attempt_(attempt) {}

  /// Returns the line.
  const std::string& add(const std::string& type, boost::json::object data) {
    const std::string seq = std::to_string(lines_.size() + 1);
    const boost::json::object line{{"specversion", "1.0"},
                                   {"id", run_ + "/" + std::to_string(attempt_) + "/" + seq},
                                   {"source", "warder/" + run_},
                                   {"type", type},
                                   {"time", "2026-11-30T02:13:13.123456789Z"},
                                   {"seq", lines_.size() + 1},
                                   {"prev", head_},
                                   {"data", std::move(data)}};
    lines_.push_back(boost::json::serialize(line));
    head_ = journal::sha256Hex(lines_.back());
    return lines_.back();
  }

  /// NDJSON of the lines first..last.
  std::string body(std::size_t first, std::size_t last) const {
    std::string text;
    for (std::size_t i = first; i <= last; ++i) text += lines_.at(i - 1) + "\n";
    return text;
  }

  std::size_t count() const { return lines_.size(); }
  const std::string& head() const { return head_; }
  const std::string& run() const { return run_; }
  int attempt() const { return attempt_; }

 private:
  std::string run_;
  int attempt_;
  std::string head_ = std::string(64, '0');
  std::vector<std::string> lines_;
};

}  // namespace warder::support
