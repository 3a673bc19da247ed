// Writer, reader and verification over real files.
#include "supervisor/journal/writer.h"

#include <sys/mount.h>
#include <sys/wait.h>

#include "supervisor/journal/digest.h"
#include "supervisor/journal/frame.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/verify.h"
#include "tests/support/run_folder.h"

namespace warder::journal {
namespace {

using base::Durability;
using base::Event;
using support::RunFolder;
namespace fs = std::filesystem;

Writer open(const RunFolder& run, std::size_t segment_bytes = 8 << 20) {
  WriterOptions options;
  options.run_dir = run.path;
  options.run_id = run.run_id;
  options.segment_bytes = segment_bytes;
  auto writer = Writer::open(options);
  if (!writer) throw std::runtime_error(writer.error().sentence());
  return std::move(*writer);
}

void append(Writer& writer, const std::string& type, json::object data = {}) {
  auto appended = writer.append(Event{type, std::move(data)});
  if (!appended) throw std::runtime_error(appended.error().sentence());
}

/// A whole run: five events of ours and three seals.
void writeRun(Writer& writer) {
  append(writer, "run.started", {{"run_id", "r"}});
  append(writer, "agent.started", {{"pid", 7}});
  append(writer, "agent.exited", {{"code", 0}});
  append(writer, "agent.leftovers", {{"terminated", 1}});
  append(writer, "run.finished", {{"outcome", {{"class", "ok"}}}});
}

std::vector<std::string> sentencesOf(const Verified& verified) {
  std::vector<std::string> sentences;
  for (const auto& finding : verified.findings) sentences.push_back(finding.sentence);
  return sentences;
}

Verified check(const std::string& segment) {
  ChainChecker checker;
  const Scan scan = scanFrames(segment);
  for (const auto& frame : scan.frames) checker.add(frame.payload);
  Verified verified = checker.done();
  if (scan.torn > 0 || !scan.damage.empty()) verified.findings.push_back({0, "damaged"});
  return verified;
}

TEST(Writer, NumbersChainsAndSealsEventsAndAReaderGetsThemBack) {
  RunFolder run;
  {
    Writer writer = open(run);
    writeRun(writer);
  }
  const auto lines = readJournal(run.path);
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 8u);
  std::string previous(64, '0');
  std::uint64_t seq = 0;
  for (const auto& line : *lines) {
    const auto object = json::parse(line.text).as_object();
    EXPECT_EQ(line.seq, ++seq);
    EXPECT_EQ(object.at("prev").as_string(), previous);
    EXPECT_EQ(object.at("id").as_string(), run.run_id + "/1/" + std::to_string(seq));
    EXPECT_EQ(object.at("specversion"), "1.0");
    previous = sha256Hex(line.text);
  }
  EXPECT_TRUE(eventOf(lines->front())->data.contains("key"));
  EXPECT_EQ(eventOf((*lines)[1])->type, "journal.seal");
  const auto verified = verifyRun(run.path);
  ASSERT_TRUE(verified);
  EXPECT_EQ(sentencesOf(*verified), std::vector<std::string>());
  EXPECT_TRUE(verified->finished);
  EXPECT_EQ(verified->seals, 3u);
  EXPECT_EQ(verified->head, previous);
}

TEST(Writer, OutcomeGradeIsOnDiskWhenAppendReturnsAndMessagesAreLater) {
  RunFolder run;
  Writer writer = open(run);
  EXPECT_TRUE(writer.append(Event{"run.started", {}})->on_disk);
  EXPECT_TRUE(writer.append(Event{"limit.reached", {}, Durability::Outcome})->on_disk);
  EXPECT_EQ(writer.unsyncedBytes(), 0u);
  EXPECT_FALSE(writer.append(Event{"llm.call", {}})->on_disk);
  EXPECT_GT(writer.unsyncedBytes(), 0u);
  EXPECT_TRUE(writer.sync());
  EXPECT_EQ(writer.unsyncedBytes(), 0u);
}

TEST(Writer, GoesOnInANewSegmentAndReadersFollow) {
  RunFolder run;
  Writer writer = open(run, 2000);
  JournalTail tail(run.path);
  EXPECT_TRUE(tail.more()->empty());
  std::uint64_t seen = 0;
  for (int i = 0; i < 40; ++i) {
    append(writer, "llm.call", {{"number", i}, {"text", std::string(100, 'x')}});
    const auto lines = tail.more();
    ASSERT_TRUE(lines);
    for (const auto& line : *lines) EXPECT_EQ(line.seq, ++seen);
  }
  while (true) {
    const auto lines = tail.more();
    if (lines->empty()) break;
    for (const auto& line : *lines) EXPECT_EQ(line.seq, ++seen);
  }
  EXPECT_EQ(seen, 40u);
  EXPECT_TRUE(fs::exists(segmentPath(run.path, 3)));
  EXPECT_EQ(tail.damagedBytes(), 0u);
  JournalTail rest(run.path, 38);
  const auto lines = rest.more();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ(lines->front().seq, 39u);
}

TEST(Writer, ContinuesAChainWhoseLastWriteWasTornAtEveryByte) {
  RunFolder whole;
  std::string bytes;
  std::size_t last_frame = 0;
  {
    Writer writer = open(whole);
    append(writer, "run.started");
    append(writer, "llm.call", {{"n", 1}});
    bytes = support::readText(segmentPath(whole.path, 1));
    last_frame = bytes.size();
    append(writer, "llm.call", {{"n", 2}});
    bytes = support::readText(segmentPath(whole.path, 1));
  }
  for (std::size_t cut = last_frame; cut < bytes.size(); cut += 13) {
    RunFolder run;
    support::writeText(segmentPath(run.path, 1), std::string_view(bytes).substr(0, cut));
    {
      Writer writer = open(run);
      EXPECT_EQ(writer.lastSeq(), 5u);  // 3 that were sound, reopened, its seal
      append(writer, "run.finished");
    }
    const auto verified = verifyRun(run.path);
    EXPECT_EQ(sentencesOf(*verified), std::vector<std::string>()) << cut;
    EXPECT_EQ(verified->notes.size(), 1u);
  }
}

TEST(Writer, RefusesAJournalThatAnotherProcessWrites) {
  RunFolder run;
  const pid_t child = ::fork();
  if (child == 0) {
    Writer writer = open(run);
    append(writer, "run.started");
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  ::waitpid(child, nullptr, WUNTRACED);
  WriterOptions options;
  options.run_dir = run.path;
  const auto second = Writer::open(options);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, base::Kind::Denied);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(Writer::open(options));  // the lock went with the process
}

TEST(Writer, LineOfOneMebibyteIsTakenAndOneByteMoreIsRefusedWithoutHarm) {
  RunFolder run;
  Writer writer = open(run);
  append(writer, "agent.started");  // the first line alone holds the key
  append(writer, "llm.call", {{"text", ""}});
  const std::size_t frame = readJournal(run.path)->back().text.size();
  const std::string largest(kMaxPayload - frame, 'x');
  EXPECT_TRUE(writer.append(Event{"llm.call", {{"text", largest}}}));
  EXPECT_FALSE(writer.append(Event{"llm.call", {{"text", largest + "x"}}}));
  append(writer, "llm.call");
  EXPECT_EQ(writer.lastSeq(), 4u);
}

TEST(Writer, InvalidUtf8OfAnEventBecomesValidJson) {
  RunFolder run;
  Writer writer = open(run);
  append(writer, "broker.denied", {{"path", "/\xff\xc3"}});
  const auto lines = readJournal(run.path);
  EXPECT_EQ(eventOf(lines->front())->data.at("path"), "/\xef\xbf\xbd\xef\xbf\xbd");
}

TEST(Writer, FullDiskIsAnErrorThatLeavesTheJournalSoundAndTheReserveHoldsTheOutcome) {
  RunFolder run;
  fs::create_directories(run.path + "/journal");
  if (::mount("none", (run.path + "/journal").c_str(), "tmpfs", 0, "size=2m") != 0)
    GTEST_SKIP() << "mounting a small file system needs root";
  {
    Writer writer = open(run);
    append(writer, "run.started");
    bool full = false;
    for (int i = 0; i < 100 && !full; ++i) {
      auto appended = writer.append(Event{"llm.call", {{"text", std::string(100'000, 'x')}}});
      full = !appended;
      if (full) {
        EXPECT_EQ(appended.error().system_errno, ENOSPC);
      }
    }
    EXPECT_TRUE(full);
    append(writer, "agent.exited", {{"text", std::string(300'000, 'x')}});
    append(writer, "run.finished");
  }
  EXPECT_EQ(sentencesOf(*verifyRun(run.path)), std::vector<std::string>());
  ::umount((run.path + "/journal").c_str());
}

TEST(Verify, FindsAnyByteThatWasChanged) {
  RunFolder run;
  {
    Writer writer = open(run);
    writeRun(writer);
  }
  const std::string bytes = support::readText(segmentPath(run.path, 1));
  ASSERT_TRUE(check(bytes).findings.empty());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    ASSERT_FALSE(check(bad).findings.empty()) << "byte " << at;
  }
}

/// The lines in frames whose checksums are right, as a forger would write them.
std::string reframed(const std::vector<std::string>& lines) {
  std::string bytes;
  for (const auto& line : lines) bytes += *encodeFrame(line);
  return bytes;
}

TEST(Verify, FindsLinesThatWereChangedRemovedSwappedOrAddedWithSoundChecksums) {
  RunFolder run;
  {
    Writer writer = open(run);
    writeRun(writer);
  }
  std::vector<std::string> lines;
  for (auto& line : *readJournal(run.path)) lines.push_back(line.text);
  ASSERT_TRUE(check(reframed(lines)).findings.empty());
  for (std::size_t i = 0; i < lines.size(); ++i) {
    auto changed = lines;
    changed[i].insert(changed[i].find("\"data\":{") + 8, "\"x\":1,");
    EXPECT_FALSE(check(reframed(changed)).findings.empty()) << "changed " << i;
    auto removed = lines;
    removed.erase(removed.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_FALSE(check(reframed(removed)).findings.empty()) << "removed " << i;
    auto doubled = lines;
    doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    EXPECT_FALSE(check(reframed(doubled)).findings.empty()) << "doubled " << i;
    if (i == 0) continue;
    auto swapped = lines;
    std::swap(swapped[i], swapped[i - 1]);
    EXPECT_FALSE(check(reframed(swapped)).findings.empty()) << "swapped " << i;
  }
}

TEST(Verify, ForgerWithoutTheKeyCannotRewriteASealedLineEvenWithANewChain) {
  RunFolder run;
  {
    Writer writer = open(run);
    writeRun(writer);
  }
  std::string previous(64, '0');
  std::vector<std::string> forged;
  for (auto& line : *readJournal(run.path)) {
    auto object = json::parse(line.text).as_object();
    if (object.at("type") == "agent.exited") object["data"].as_object()["code"] = 1;
    object["prev"] = previous;
    if (object.at("type") == "journal.seal")
      object["data"].as_object()["hash"] = "sha256:" + previous;
    forged.push_back(json::serialize(object));
    previous = sha256Hex(forged.back());
  }
  const auto verified = check(reframed(forged));
  ASSERT_EQ(verified.findings.size(), 3u);  // two seals, and so no sealed end
  EXPECT_NE(verified.findings[0].sentence.find("was not made with the key"), std::string::npos);
}

TEST(Verify, RunThatNeverEndedIsNotProven) {  // BC-101
  RunFolder run;
  {
    Writer writer = open(run);
    append(writer, "run.started");
  }
  const auto verified = verifyRun(run.path);
  ASSERT_EQ(verified->findings.size(), 1u);
  EXPECT_NE(verified->findings[0].sentence.find("started, and never ended"), std::string::npos);
}

TEST(Verify, ComparesOutputAndBlobsWithTheirDigests) {
  RunFolder run;
  const std::string hex = sha256Hex("artifact");
  support::writeText(run.path + "/blobs/" + hex, "artifact");
  support::writeText(run.path + "/output/stdout", "hello\n");
  {
    Writer writer = open(run);
    append(writer, "run.started");
    append(writer, "output.closed",
           {{"stream", "stdout"}, {"bytes", 6}, {"sha256", "sha256:" + sha256Hex("hello\n")}});
    append(writer, "artifact.stored", {{"path", "a"}, {"bytes", 8}, {"sha256", "sha256:" + hex}});
    append(writer, "run.finished");
  }
  EXPECT_TRUE(verifyRun(run.path)->findings.empty());
  support::writeText(run.path + "/output/stdout", "jello\n");
  EXPECT_EQ(verifyRun(run.path)->findings.size(), 1u);
  fs::remove(run.path + "/blobs/" + hex);
  EXPECT_EQ(verifyRun(run.path)->findings.size(), 2u);
}

}  // namespace
}  // namespace warder::journal
