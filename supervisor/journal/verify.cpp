#include "supervisor/journal/verify.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "supervisor/base/fd.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/frame.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/journal/signing.h"

namespace warder::journal {

using base::Result;
namespace json = boost::json;

namespace {

constexpr std::size_t kLargestSegment = 64 << 20;
constexpr std::size_t kMostFindings = 100;

std::string textOf(const json::object& object, const char* key) {
  const auto* field = object.if_contains(key);
  return field && field->is_string() ? std::string(field->as_string()) : std::string();
}

std::uint64_t numberOf(const json::object& object, const char* key) {
  const auto* field = object.if_contains(key);
  boost::system::error_code failure;
  return field ? field->to_number<std::uint64_t>(failure) : 0;
}

bool isSealed(const std::string& type) {
  return type == "run.started" || type == "agent.exited" || type == "run.finished" ||
         type == "journal.reopened";
}

std::string printed(std::uint64_t number) {
  return std::to_string(number);
}

}  // namespace

void ChainChecker::fault(std::uint64_t seq, std::string sentence) {
  if (result_.findings.size() < kMostFindings)
    result_.findings.push_back({seq, std::move(sentence)});
}

void ChainChecker::add(std::string_view text) {
  auto value = base::parseJson(text);
  const auto* line = value ? value->if_object() : nullptr;
  const std::uint64_t expected = result_.last_seq + 1;
  if (line == nullptr) return fault(expected, "a line is no JSON object");
  const std::uint64_t seq = numberOf(*line, "seq");
  const std::string type = textOf(*line, "type"), prev = textOf(*line, "prev"),
                    source = textOf(*line, "source"), id = textOf(*line, "id");
  const auto* data = line->contains("data") ? line->at("data").if_object() : nullptr;
  if (result_.lines == 0) {
    source_ = source;
    if (id.size() > 2) id_prefix_ = id.substr(0, id.rfind('/') + 1);
  }
  if (seq != expected)
    fault(expected, "line " + printed(expected) + " is missing; line " + printed(seq) +
                        " stands in its place");
  const std::string wanted = result_.lines == 0 ? std::string(64, '0') : toHex(previous_digest_);
  if (prev != wanted)
    fault(seq, "line " + printed(seq) +
                   " does not continue the line before it: one of them was "
                   "changed");
  if (source != source_ || id != id_prefix_ + printed(seq))
    fault(seq, "line " + printed(seq) + " belongs to another run");
  if (awaiting_seal_ && type != "journal.seal")
    fault(result_.last_seq,
          "line " + printed(result_.last_seq) + " (" + previous_type_ + ") has no seal");
  if (data == nullptr) fault(seq, "line " + printed(seq) + " holds no data");
  if (data && (result_.lines == 0 || type == "run.started" || type == "journal.reopened")) {
    if (type == "journal.reopened")
      result_.notes.push_back("from line " + printed(seq) +
                              " on another process continued the journal, with a key of its own");
    key_ = textOf(*data, "key");
  }
  if (data && type == "journal.seal") checkSeal(text, *line, seq);
  if (data) takeNamed(type, *data, seq);
  awaiting_seal_ = isSealed(type);
  previous_digest_ = sha256Raw(text);
  previous_type_ = type;
  previous_time_ = textOf(*line, "time");
  result_.last_seq = seq;
  ++result_.lines;
}

/// A seal follows from the line before it and the key, to the last byte.
void ChainChecker::checkSeal(std::string_view text, const json::object& line, std::uint64_t seq) {
  ++result_.seals;
  const json::object& data = line.at("data").as_object();
  const std::string digest = toHex(previous_digest_), signature = textOf(data, "signature");
  if (numberOf(data, "of") != result_.last_seq || result_.lines == 0 ||
      textOf(data, "hash") != "sha256:" + digest)
    return fault(seq, "the seal in line " + printed(seq) + " is of another line");
  if (!signatureHolds(key_, previous_digest_, signature))
    return fault(seq, "the seal in line " + printed(seq) +
                          " was not made with the key that the journal names");
  const json::object expected{
      {"specversion", "1.0"},
      {"id", id_prefix_ + printed(seq)},
      {"source", source_},
      {"type", "journal.seal"},
      {"time", previous_time_},
      {"seq", seq},
      {"prev", digest},
      {"data", {{"of", seq - 1}, {"hash", "sha256:" + digest}, {"signature", signature}}}};
  if (text != json::serialize(expected))
    return fault(seq, "the seal in line " + printed(seq) + " holds more than a seal does");
  result_.sealed_to = result_.last_seq;
  if (previous_type_ == "run.finished") result_.finished = true;
}

void ChainChecker::takeNamed(const std::string& type, const json::object& data, std::uint64_t seq) {
  const bool output = type == "output.closed";
  if (!output && type != "artifact.stored" && type != "patch.stored") return;
  const std::string digest = textOf(data, "sha256"), stream = textOf(data, "stream");
  if (!digest.starts_with("sha256:") || !isHexDigest(digest.substr(7)) ||
      (output && stream != "stdout" && stream != "stderr"))
    return fault(seq, "line " + printed(seq) + " names a file without a sound digest");
  const std::string hex = digest.substr(7);
  result_.named.push_back(
      {seq,
       output ? std::string(kOutputFolder) + "/" + stream : std::string(kBlobFolder) + "/" + hex,
       hex, numberOf(data, "bytes")});
}

Verified ChainChecker::done() const {
  Verified result = result_;
  const auto find = [&result](std::uint64_t seq, std::string sentence) {
    result.findings.push_back({seq, std::move(sentence)});
  };
  result.head = previous_digest_.empty() ? std::string(64, '0') : toHex(previous_digest_);
  if (result.lines == 0) {
    find(0, "the journal is empty");
    return result;
  }
  if (awaiting_seal_)
    find(result.last_seq,
         "line " + printed(result.last_seq) + " (" + previous_type_ + ") has no seal");
  if (!result.finished)
    find(0, "run.finished with its seal is missing: the run started, and never ended");
  const std::uint64_t after = result.last_seq - result.sealed_to - 1;
  if (result.seals > 0 && result.last_seq > result.sealed_to + 1)
    result.notes.push_back(printed(after) + " lines stand after the last seal");
  return result;
}

namespace {

/// Every byte of every segment must belong to a frame.
Result<bool> readSegment(const std::string& run_dir, int number, ChainChecker& checker,
                         std::vector<Finding>& findings) {
  const std::string path = segmentPath(run_dir, number);
  auto bytes = base::readFile(path, kLargestSegment);
  if (!bytes && bytes.error().kind == base::Kind::NotFound) return false;
  if (!bytes) return bytes.error();
  const Scan scan = scanFrames(*bytes);
  for (const auto& damage : scan.damage)
    findings.push_back({0, segmentName(number) + ": " + printed(damage.length) + " bytes at " +
                               printed(damage.offset) + " are damaged"});
  if (scan.torn > 0)
    findings.push_back({0, segmentName(number) + ": the last " + printed(scan.torn) +
                               " bytes are damaged, or a write that was cut"});
  for (const auto& frame : scan.frames) checker.add(frame.payload);
  return true;
}

void checkFile(const std::string& run_dir, const Named& named, std::vector<Finding>& findings) {
  auto digest = sha256OfFile(run_dir + "/" + named.file);
  if (!digest)
    findings.push_back({named.seq, named.file + " cannot be read: " + digest.error().sentence()});
  else if (*digest != named.sha256)
    findings.push_back({named.seq, named.file + " is not what line " + printed(named.seq) +
                                       " says it is: its digest differs"});
}

}  // namespace

Result<Verified> verifyRun(const std::string& run_dir) {
  ChainChecker checker;
  std::vector<Finding> findings;
  for (int number = 1;; ++number) {
    auto there = readSegment(run_dir, number, checker, findings);
    if (!there) return there.error();
    if (!*there) break;
  }
  Verified result = checker.done();
  result.findings.insert(result.findings.begin(), findings.begin(), findings.end());
  std::map<std::string, Named> files;  // each once; a stream is judged by its last event
  for (const auto& named : result.named) files[named.file] = named;
  for (const auto& [file, named] : files) checkFile(run_dir, named, result.findings);
  return result;
}

}  // namespace warder::journal
