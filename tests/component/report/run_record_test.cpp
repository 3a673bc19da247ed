// The record of a run as it lies in the spool: replay, comparison, closing, export.
#include <sys/stat.h>

#include "supervisor/journal/digest.h"
#include "supervisor/journal/output_digest.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/run_files.h"
#include "supervisor/journal/verify.h"
#include "supervisor/journal/writer.h"
#include "supervisor/report/close_interrupted.h"
#include "supervisor/report/fold.h"
#include "supervisor/report/refused_record.h"
#include "supervisor/report/results_folder.h"
#include "tests/support/run_folder.h"

namespace warder::report {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using base::Durability;
using base::Event;
using support::readText;
using support::RunFolder;
using support::writeText;

/// What init does: every event goes to the fold and to the writer.
class LiveRun {
 public:
  explicit LiveRun(const RunFolder& run) : run_(run), writer_(open(run)) {}

  void record(const std::string& type, json::object data = {},
              Durability durability = Durability::Message) {
    const Event event{type, std::move(data), durability};
    fold.add(event);
    auto appended = writer_.append(event);
    if (!appended) throw std::runtime_error(appended.error().sentence());
    if (type == "run.finished") fold.setLastSeq(appended->seq);
  }
  void store(const char* type, const std::string& path, const std::string& bytes) {
    const std::string hex = journal::sha256Hex(bytes);
    writeText(run_.path + "/blobs/" + hex, bytes);
    json::object data{{"bytes", bytes.size()}, {"sha256", "sha256:" + hex}};
    if (!path.empty()) data["path"] = path;
    record(type, std::move(data));
  }
  void output(const char* stream, const std::string& text) {
    writeText(run_.path + "/output/" + stream, text);
    record("output.closed", *journal::digestOfOutput(run_.path + "/output/" + stream, stream));
  }
  void finish() {
    record("run.finished", {{"outcome", fold.outcomeJson()}}, Durability::Outcome);
    if (!journal::writeJsonFile(run_.path, "report.json", fold.report()))
      throw std::runtime_error("no report");
  }

  Fold fold;

 private:
  static journal::Writer open(const RunFolder& run) {
    journal::WriterOptions options;
    options.run_dir = run.path;
    options.run_id = run.run_id;
    return std::move(journal::Writer::open(options).value());
  }
  const RunFolder& run_;
  journal::Writer writer_;
};

void wholeRun(const RunFolder& folder) {
  LiveRun run(folder);
  run.record("run.started", {{"run_id", folder.run_id}, {"attempt", 1}, {"preset", "claude-code"}});
  run.record("agent.started", {{"pid", 9}});
  for (int i = 0; i < 20; ++i)
    run.record("llm.call", {{"method", "POST"},
                            {"model", i % 2 ? "a" : "b"},
                            {"status", 200},
                            {"cost_usd", 0.0012345678 * i},
                            {"input_tokens", i},
                            {"priced", true}});
  run.record("broker.denied", {{"host", "bad\xff.example"}, {"path", "/"}, {"reason", "no rule"}});
  run.record("memory.warning", {{"mark_percent", 70}});
  run.record("agent.exited", {{"code", 0}, {"max_rss_bytes", 1 << 20}, {"cpu_ms", 5}},
             Durability::Outcome);
  run.output("stdout",
             "{\"type\":\"result\",\"is_error\":false,\"total_cost_usd\":0.1234567,"
             "\"num_turns\":2,\"session_id\":\"s\",\"usage\":{\"input_tokens\":3}}\n");
  run.output("stderr", "warning \xff\n");
  run.store("artifact.stored", "out/a.txt", "artifact");
  run.store("artifact.stored", "out/deep/b", "bee");
  run.record("artifact.skipped", {{"path", "l"}, {"reason", "is a symbolic link"}});
  run.store("patch.stored", "", "diff --git a b\n");
  run.finish();
}

TEST(RunRecord, ReplayGivesTheReportThatTheLiveFoldGave) {
  RunFolder run;
  wholeRun(run);
  EXPECT_EQ(*compareWithJournal(run.path), std::vector<std::string>());
  EXPECT_TRUE(journal::verifyRun(run.path)->findings.empty());
  auto fold = replay(run.path);
  ASSERT_TRUE(fold);
  EXPECT_EQ(fold->outcome().reason, "completed");
}

TEST(RunRecord, AnyFieldOfTheReportThatWasChangedIsFound) {
  RunFolder run;
  wholeRun(run);
  const auto report = json::parse(readText(run.path + "/report.json")).as_object();
  for (const auto& item : report) {
    json::object changed = report;
    changed[item.key()] = "something else";
    writeText(run.path + "/report.json", json::serialize(changed));
    EXPECT_EQ(compareWithJournal(run.path)->size(), 1u) << item.key();
    changed.erase(item.key());
    writeText(run.path + "/report.json", json::serialize(changed));
    EXPECT_EQ(compareWithJournal(run.path)->size(), 1u) << item.key();
  }
  json::object more = report;
  more["extra"] = 1;
  writeText(run.path + "/report.json", json::serialize(more));
  EXPECT_EQ(compareWithJournal(run.path)->size(), 1u);
  fs::remove(run.path + "/report.json");
  EXPECT_EQ(compareWithJournal(run.path)->size(), 1u);
}

TEST(RunRecord, InterruptedRunIsClosedOnceAndThenProven) {  // BC-101
  RunFolder run;
  {
    LiveRun live(run);
    live.record("run.started", {{"run_id", run.run_id}, {"attempt", 1}});
    live.record("agent.started", {{"pid", 9}});
    writeText(run.path + "/output/stdout", "half a line");
    writeText(run.path + "/output/stderr", "");
  }
  ASSERT_TRUE(closeInterrupted(run.path));
  const auto verified = journal::verifyRun(run.path);
  EXPECT_TRUE(verified->findings.empty());
  EXPECT_EQ(*compareWithJournal(run.path), std::vector<std::string>());
  const auto report = json::parse(readText(run.path + "/report.json")).as_object();
  EXPECT_EQ(report.at("outcome").at("class"), "internal");
  EXPECT_EQ(report.at("outcome").at("reason"), "supervisor_lost");
  EXPECT_EQ(report.at("logs").at("stdout").at("bytes"), 11);
  const auto head = verified->head;
  ASSERT_TRUE(closeInterrupted(run.path));
  EXPECT_EQ(journal::verifyRun(run.path)->head, head);
}

TEST(RunRecord, RunWhoseScribeDiedIsClosedAsThat) {
  for (const bool ended : {false, true}) {
    RunFolder run;
    {
      LiveRun live(run);
      live.record("run.started", {{"run_id", run.run_id}});
      if (ended) live.record("agent.exited", {{"code", 0}}, Durability::Outcome);
    }
    ASSERT_TRUE(closeInterrupted(run.path, "scribe"));
    EXPECT_TRUE(journal::verifyRun(run.path)->findings.empty());
    EXPECT_EQ(*compareWithJournal(run.path), std::vector<std::string>());
    const auto report = json::parse(readText(run.path + "/report.json")).as_object();
    EXPECT_EQ(report.at("outcome").at("class"), "internal");
    EXPECT_EQ(report.at("outcome").at("reason"), "scribe_lost");
    EXPECT_EQ(report.at("stages_lost").at(0).at("stage"), "scribe");
    ASSERT_TRUE(closeInterrupted(run.path));  // once is enough, whoever comes later
    EXPECT_EQ(replay(run.path)->outcome().reason, "scribe_lost");
  }
  RunFolder run;
  EXPECT_FALSE(closeInterrupted(run.path, "courier"));
}

TEST(RunRecord, RunThatDiedBeforeItsJournalIsClosedToo) {
  RunFolder run;
  ASSERT_TRUE(closeInterrupted(run.path));
  EXPECT_TRUE(journal::verifyRun(run.path)->findings.empty());
  EXPECT_EQ(replay(run.path)->outcome().reason, "supervisor_lost");
}

TEST(RunRecord, TornEndIsCutOffBeforeClosing) {
  RunFolder run;
  {
    LiveRun live(run);
    live.record("run.started", {{"run_id", run.run_id}});
    live.record("llm.call", {{"status", 200}});
  }
  const std::string segment = journal::segmentPath(run.path, 1);
  fs::resize_file(segment, fs::file_size(segment) - 7);
  ASSERT_TRUE(closeInterrupted(run.path));
  EXPECT_TRUE(journal::verifyRun(run.path)->findings.empty());
}

TEST(RunRecord, FinishedRunIsLeftAloneAndALivingOneRefused) {
  RunFolder finished, living;
  wholeRun(finished);
  const std::string before = readText(journal::segmentPath(finished.path, 1));
  ASSERT_TRUE(closeInterrupted(finished.path));
  EXPECT_EQ(readText(journal::segmentPath(finished.path, 1)), before);
  LiveRun live(living);
  live.record("run.started");
  const auto refused = closeInterrupted(living.path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::Kind::Denied);
  EXPECT_FALSE(closeInterrupted("/nonexistent/run"));
}

TEST(RunRecord, ARefusedRunIsProvenAndReportedLikeAnyOther) {
  RunFolder run;
  const Refusal refusal{"job", {{"job.yaml:2:1", "unknown key"}, {"job.yaml:3:1", "no unit"}}};
  ASSERT_TRUE(recordRefusal(run.path, {{"run_id", run.run_id}, {"attempt", 1}}, refusal));
  EXPECT_TRUE(journal::verifyRun(run.path)->findings.empty());
  EXPECT_TRUE(compareWithJournal(run.path)->empty());
  const json::value report = json::parse(readText(run.path + "/report.json"));
  EXPECT_EQ(report.at("outcome").at("reason"), "bad_spec");
  EXPECT_EQ(report.at("faults").as_array().size(), 2u);
  // Whoever closes what a dead box left finds nothing to do.
  const std::string before = readText(journal::segmentPath(run.path, 1));
  ASSERT_TRUE(closeInterrupted(run.path));
  EXPECT_EQ(readText(journal::segmentPath(run.path, 1)), before);
}

TEST(RunRecord, ARefusedRunWithoutItsFolderIsAnError) {
  EXPECT_FALSE(recordRefusal("/nonexistent/run", {}, {"job", {{"", "no"}}}));
}

TEST(ResultsFolder, HoldsEverythingUnderTheRunsName) {
  RunFolder run;
  support::TemporaryFolder target;
  wholeRun(run);
  ASSERT_TRUE(exportResults(run.path, target.path + "/results"));
  const std::string folder = target.path + "/results/" + run.run_id;
  EXPECT_EQ(readText(folder + "/artifacts/out/a.txt"), "artifact");
  EXPECT_EQ(readText(folder + "/artifacts/out/deep/b"), "bee");
  EXPECT_EQ(readText(folder + "/changes.patch"), "diff --git a b\n");
  EXPECT_EQ(readText(folder + "/stderr.log"), "warning \xff\n");
  EXPECT_EQ(json::parse(readText(folder + "/report.json")).at("run").at("run_id").as_string(),
            run.run_id);
  struct stat status {};
  ASSERT_EQ(::stat((folder + "/artifacts/out/a.txt").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0644u);
  ASSERT_EQ(::stat((folder + "/artifacts/out").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777u, 0755u);
}

TEST(ResultsFolder, NeverMixesRuns) {  // BC-101
  RunFolder first("aaaaaaaa-0000-4000-8000-000000000001"),
      second("bbbbbbbb-0000-4000-8000-000000000002");
  support::TemporaryFolder target;
  wholeRun(first);
  wholeRun(second);
  ASSERT_TRUE(exportResults(first.path, target.path));
  ASSERT_TRUE(exportResults(second.path, target.path));
  writeText(target.path + "/" + first.run_id + "/stale", "x");
  ASSERT_TRUE(exportResults(first.path, target.path));  // again: replaced as a whole
  EXPECT_FALSE(fs::exists(target.path + "/" + first.run_id + "/stale"));
  EXPECT_EQ(std::distance(fs::directory_iterator(target.path), {}), 2);
  fs::remove_all(target.path + "/" + second.run_id);
  writeText(target.path + "/" + second.run_id + "/run.json",
            "{\"run_id\":\"other\",\"attempt\":1}");
  EXPECT_FALSE(exportResults(second.path, target.path));
  EXPECT_EQ(std::distance(fs::directory_iterator(target.path), {}), 2);
}

TEST(ResultsFolder, LinksAndHostilePathsLeadNowhere) {
  RunFolder run;
  support::TemporaryFolder target, outside;
  {
    LiveRun live(run);
    live.record("run.started", {{"run_id", run.run_id}});
    live.store("artifact.stored", "../../escape", "one");
    live.store("artifact.stored", "/etc/escape", "two");
    live.store("artifact.stored", std::string(300, 'n'), "three");
    live.store("artifact.stored", "a", "four");
    live.store("artifact.stored", "a/b", "five");
    live.store("artifact.stored", "a", "six");
    live.record("agent.exited", {{"code", 0}});
    live.finish();
  }
  const std::string folder = target.path + "/" + run.run_id;
  fs::create_directory_symlink(outside.path, folder);  // somebody got there first
  EXPECT_FALSE(exportResults(run.path, target.path));
  EXPECT_TRUE(fs::is_empty(outside.path));
  fs::remove(folder);
  ASSERT_TRUE(exportResults(run.path, target.path));
  EXPECT_EQ(readText(folder + "/artifacts/a"), "four");
  for (const char* bytes : {"one", "two", "three", "five", "six"})
    EXPECT_EQ(readText(folder + "/artifacts-by-digest/" + journal::sha256Hex(bytes)), bytes);
  EXPECT_FALSE(fs::exists(target.path + "/../escape"));
}

TEST(ResultsFolder, BlobThatIsNotWhatTheJournalSaysIsRefusedAndNothingAppears) {
  RunFolder run;
  support::TemporaryFolder target;
  wholeRun(run);
  writeText(run.path + "/blobs/" + journal::sha256Hex("bee"), "wasp");
  EXPECT_FALSE(exportResults(run.path, target.path));
  EXPECT_TRUE(fs::is_empty(target.path));
}

}  // namespace
}  // namespace warder::report
