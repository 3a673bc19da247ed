// A run's folder with a real journal, output, blobs and report.
#pragma once
#include "supervisor/journal/digest.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/writer.h"
#include "tests/support/run_folder.h"

namespace warder::support {

class FinishedRun {
 public:
  FinishedRun() {
    std::filesystem::create_directories(folder.path + "/blobs");
    std::filesystem::create_directories(folder.path + "/output");
    auto opened = journal::Writer::open({folder.path, folder.run_id});
    if (!opened) throw std::runtime_error(opened.error().sentence());
    writer = std::make_unique<journal::Writer>(std::move(*opened));
    add("run.started", {{"preset", "claude-code"}});
  }

  /// Returns the seq of the line; a seal may follow it.
  std::uint64_t add(const std::string& type, base::json::object data) {
    base::Event event;
    event.type = type;
    event.data = std::move(data);
    const auto appended = writer->append(std::move(event));
    if (!appended || !writer->sync()) throw std::runtime_error("the journal takes nothing");
    return appended->seq;
  }

  std::string addArtifact(const std::string& path, const std::string& bytes) {
    const std::string digest = journal::sha256Hex(bytes);
    writeText(folder.path + "/blobs/" + digest, bytes);
    add("artifact.stored",
        {{"path", path}, {"bytes", bytes.size()}, {"sha256", "sha256:" + digest}});
    return digest;
  }

  std::string addOutput(const std::string& stream, const std::string& bytes) {
    const std::string digest = journal::sha256Hex(bytes);
    writeText(folder.path + "/output/" + stream, bytes);
    add("output.closed",
        {{"stream", stream}, {"bytes", bytes.size()}, {"sha256", "sha256:" + digest}});
    return digest;
  }

  /// run.finished and report.json. Returns the report.
  std::string finish() {
    const std::uint64_t last =
        add("run.finished", {{"outcome", {{"class", "ok"}, {"reason", "completed"}}}});
    const std::string report = base::json::serialize(
        base::json::object{{"schema", "warder.run-report/1"},
                           {"outcome", {{"class", "ok"}, {"reason", "completed"}}},
                           {"artifacts", base::json::array()},
                           {"events", {{"last_seq", last}}}});
    writeText(folder.path + "/report.json", report);
    return report;
  }

  /// All lines as NDJSON.
  std::string lines() const {
    std::string text;
    for (const auto& line : *journal::readJournal(folder.path)) text += line.text + "\n";
    return text;
  }

  RunFolder folder;
  std::unique_ptr<journal::Writer> writer;
};

}  // namespace warder::support
