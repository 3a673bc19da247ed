// A real scribe process, fed through real pipes.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "supervisor/base/event.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/harvest_stream.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/journal/verify.h"
#include "tests/support/run_folder.h"

namespace warder::journal {
namespace {

using base::Durability;
using base::Event;
using support::RunFolder;

class Scribe : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override {
    control_.reset();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }

  void start() {
    auto pair = base::makeMessagePair();
    auto config = base::sealedText(
        "config", json::serialize(json::object{
                      {"run_dir", run_.path}, {"run_id", run_.run_id}, {"attempt", 1}}));
    ASSERT_TRUE(pair && config);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(config->get(), 200);
      ::dup2(pair->theirs.get(), 201);
      ::dup2(200, base::kConfigFd);
      ::dup2(201, base::kControlFd);
      ::close_range(5, ~0u, 0);
      ::_exit(scribeMain());
    }
    control_ = std::move(pair->ours);
    ASSERT_TRUE(next().contains("ready"));
  }

  void say(const json::object& body, std::initializer_list<int> fds = {}) {
    const std::vector<int> list(fds);
    ASSERT_TRUE(base::sendMessage(control_.get(), body, list));
  }
  void record(const std::string& type, int token = 0, Durability durability = Durability::Message) {
    json::object body{{"event", base::toMessage(Event{type, {}, durability})}};
    if (token != 0) body["token"] = token;
    say(body);
  }
  json::object next() {
    auto message = base::receiveMessage(control_.get());
    if (!message || !*message) return {};
    return (*message)->body;
  }
  /// The next message that has this key; what comes before it is passed over.
  json::object await(const char* key) {
    for (int i = 0; i < 1000; ++i) {
      auto message = next();
      if (message.empty() || message.contains(key)) return message;
    }
    return {};
  }
  json::object awaitAuthored() { return await("authored").at("authored").as_object(); }
  int waitForEnd() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status;
  }
  std::string stored(const char* stream) {
    return support::readText(run_.path + "/output/" + stream);
  }

  RunFolder run_;
  pid_t pid_ = -1;
  base::UniqueFd control_;
};

TEST_F(Scribe, AcknowledgesOutcomesOnceTheyAreOnDiskAndMessagesWithTheNextCommit) {
  record("run.started", 1);
  const auto first = await("stored");
  EXPECT_EQ(first.at("stored"), 1);
  EXPECT_EQ(first.at("seq"), 1);
  record("agent.started", 2);  // seq 3: the seal took 2
  EXPECT_EQ(await("stored").at("seq"), 3);
  record("run.finished", 3);
  say({{"report", {{"schema", "warder.run-report/1"}}}});
  const auto report = await("report_stored");
  EXPECT_EQ(report.at("report_stored").as_string(),
            "sha256:" + sha256Hex(support::readText(run_.path + "/report.json")));
  say({{"receipt", {{"seq", 5}}}});
  EXPECT_EQ(await("receipt_stored").at("receipt_stored"), true);
  say({{"finish", true}});
  const auto finished = await("finished").at("finished").as_object();
  EXPECT_EQ(finished.at("seq"), 5);
  control_.reset();
  EXPECT_EQ(waitForEnd(), 0);
  const auto verified = verifyRun(run_.path);
  EXPECT_TRUE(verified->findings.empty());
  EXPECT_EQ(finished.at("head").as_string(), verified->head);
}

/// Starts a shell whose output streams are pipes that the scribe reads.
pid_t runShell(const char* script, int output, int errors) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(output, 1);
    ::dup2(errors, 2);
    ::execl("/bin/sh", "sh", "-c", script, nullptr);
    ::_exit(127);
  }
  return pid;
}

TEST_F(Scribe, StoresOutputByteForByteThoughItIsOneLineOfThreeMebibytes) {
  auto output = base::makePipe(), errors = base::makePipe();
  say({{"output", "stdout"}}, {output->read.get()});
  say({{"output", "stderr"}}, {errors->read.get()});
  const pid_t shell =
      runShell("head -c 3145728 /dev/zero | tr '\\0' x; printf '\\377\\376 no utf-8' >&2",
               output->write.get(), errors->write.get());
  output->write.reset();
  errors->write.reset();
  json::object closed[2] = {awaitAuthored(), awaitAuthored()};
  for (auto& event : closed) {
    EXPECT_EQ(event.at("type"), "output.closed");
    const auto& data = event.at("data").as_object();
    const bool out = data.at("stream") == "stdout";
    EXPECT_EQ(data.at("bytes"), out ? 3 << 20 : 11);
    EXPECT_EQ(data.at("last_line_complete"), false);
    EXPECT_EQ(data.at("last_line_bytes"), out ? 3 << 20 : 11);
    if (!out) {
      EXPECT_EQ(data.at("last_line"), "\xef\xbf\xbd\xef\xbf\xbd no utf-8");
    }
    EXPECT_EQ(data.at("sha256").as_string(),
              "sha256:" + sha256Hex(stored(out ? "stdout" : "stderr")));
  }
  EXPECT_EQ(stored("stdout"), std::string(3 << 20, 'x'));
  EXPECT_EQ(stored("stderr"), "\xff\xfe no utf-8");
  ::waitpid(shell, nullptr, 0);
}

// BC-017: a program that writes 3 MiB without waiting and exits at once loses what the pipe does
// not take. The scribe drains at once; a writer that respects a full pipe loses nothing.
TEST_F(Scribe, LosesNothingOfAProgramThatWritesMoreThanThePipeHoldsAndExits) {
  auto output = base::makePipe(), errors = base::makePipe();
  say({{"output", "stdout"}}, {output->read.get()});
  const pid_t shell = runShell(
      "i=0; while [ $i -lt 2000 ]; do echo $i-$(printf %0500d $i); "
      "i=$((i+1)); done; printf end",
      output->write.get(), errors->write.get());
  output->write.reset();
  const auto closed = awaitAuthored();
  const std::string text = stored("stdout");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2000);
  EXPECT_TRUE(text.ends_with("end"));
  EXPECT_EQ(closed.at("data").at("last_line"), "end");
  EXPECT_EQ(closed.at("data").at("bytes"), text.size());
  ::waitpid(shell, nullptr, 0);
}

TEST_F(Scribe, TakesWhatThereIsFromAPipeThatADaemonHolds) {
  auto output = base::makePipe();  // our end of it stays open: the daemon's
  say({{"output", "stdout"}}, {output->read.get()});
  ASSERT_TRUE(base::writeAll(output->write.get(), "before\n"));
  say({{"close_output", true}});
  const auto closed = awaitAuthored();
  EXPECT_EQ(closed.at("data").at("last_line"), "before");
  EXPECT_TRUE(await("outputs_closed").contains("outputs_closed"));
  output->read.reset();
  ::signal(SIGPIPE, SIG_IGN);
  EXPECT_FALSE(base::writeAll(output->write.get(), "after"));  // nobody holds the other end
}

TEST_F(Scribe, KilledScribeLosesNoAcknowledgedEventAndTheNextOneContinues) {
  record("run.started", 1);
  await("stored");
  for (int i = 2; i <= 50; ++i) {
    record("llm.call", i, i % 10 == 0 ? Durability::Outcome : Durability::Message);
    if (i % 10 == 0)
      while (await("stored").at("stored") != i) {
      }
  }
  ::kill(pid_, SIGKILL);
  waitForEnd();
  const auto lines = readJournal(run_.path);
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->size(), 50u + 6u);  // and the seals of 1, 10, 20, 30, 40, 50
  start();
  record("run.finished", 99);
  await("stored");
  const auto verified = verifyRun(run_.path);
  EXPECT_TRUE(verified->findings.empty());
  EXPECT_EQ(verified->notes.size(), 1u);
}

TEST_F(Scribe, KeepsWhatThePipesStillHoldWhenInitDies) {
  auto output = base::makePipe();
  say({{"output", "stdout"}}, {output->read.get()});
  record("run.started", 1);
  await("stored");
  ASSERT_TRUE(base::writeAll(output->write.get(), "last words\n"));
  control_.reset();
  EXPECT_EQ(waitForEnd(), 0);
  EXPECT_EQ(stored("stdout"), "last words\n");
  const auto lines = readJournal(run_.path);
  EXPECT_EQ(eventOf(lines->back())->type, "output.closed");
}

TEST_F(Scribe, SignalsOfTheTerminalDoNotEndIt) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::kill(pid_, signal);
  record("run.started", 1);
  EXPECT_EQ(await("stored").at("seq"), 1);
}

TEST_F(Scribe, WrongMessagesAreTroubleAndNotItsEnd) {
  say({{"nonsense", true}});
  EXPECT_TRUE(await("trouble").contains("trouble"));
  say({{"output", "stdin"}});
  EXPECT_TRUE(await("trouble").contains("trouble"));
  say({{"event", {{"type", 5}}}});
  EXPECT_TRUE(await("trouble").contains("trouble"));
  record("run.started", 1);
  EXPECT_EQ(await("stored").at("seq"), 1);
}

/// The journal lies on a small disk of its own, which is filled to the last page.
class FullDisk : public Scribe {
 protected:
  void SetUp() override {
    const std::string folder = run_.path + "/journal";
    std::filesystem::create_directories(folder);
    if (::mount("none", folder.c_str(), "tmpfs", 0, "size=2m") != 0)
      GTEST_SKIP() << "mounting a small file system needs root";
    mounted_ = true;
    start();
    record("run.started", 1);
    await("stored");
    fill("filler");
  }
  void TearDown() override {
    Scribe::TearDown();
    if (mounted_) ::umount((run_.path + "/journal").c_str());
  }
  std::string file(const char* name) const { return run_.path + "/journal/" + name; }
  void fill(const char* name) {
    auto filler = base::openFile(file(name), O_WRONLY | O_CREAT, 0600);
    while (base::writeAll(filler->get(), std::string(4096, 'x'))) {
    }
  }
  void tell(const std::string& type, std::size_t bytes, int token = 0) {
    json::object body{{"event", base::toMessage(Event{type, {{"x", std::string(bytes, 'x')}}})}};
    if (token != 0) body["token"] = token;
    say(body);
  }
  /// The types of what init said, as they stand in the journal.
  std::vector<std::string> journal() const {
    std::vector<std::string> types;
    const auto lines = readJournal(run_.path);
    for (const auto& line : *lines)
      if (auto event = eventOf(line); event && event->type != "journal.seal")
        types.push_back(event->type);
    return types;
  }
  bool mounted_ = false;
};

TEST_F(FullDisk, LeavesNoHoleInWhatInitSaid) {
  tell("llm.call", 10'000);
  EXPECT_EQ(await("trouble").at("trouble").at("errno"), ENOSPC);
  tell("memory.warning", 10);  // would have fitted, but what was before it is not there
  record("spool.trouble", 2, Durability::Outcome);
  EXPECT_EQ(await("stored").at("stored"), 2);
  fill("more");  // somebody takes what was given back
  tell("memory.summary", 10'000);
  record("agent.exited", 3);
  record("run.finished", 4);
  std::filesystem::remove(file("filler"));  // the agent's end made room; nothing more is said
  EXPECT_EQ(await("stored").at("stored"), 3);
  EXPECT_EQ(await("stored").at("stored"), 4);
  EXPECT_EQ(journal(),
            (std::vector<std::string>{"run.started", "llm.call", "memory.warning", "spool.trouble",
                                      "memory.summary", "agent.exited", "run.finished"}));
  EXPECT_TRUE(verifyRun(run_.path)->findings.empty());
}

TEST_F(FullDisk, TakesNothingMoreOnceTooMuchHadToBeHeld) {
  for (int i = 0; i < 60; ++i) tell("llm.call", 10'000);  // 600 kB of 512 KiB
  say({{"close_output", true}});  // answered in its turn, when all 60 were taken or refused
  await("outputs_closed");
  std::filesystem::remove(file("filler"));
  record("run.finished", 2);
  say({{"finish", true}});
  EXPECT_FALSE(await("finished").empty());
  EXPECT_GT(journal().size(), 40u);
  EXPECT_EQ(journal().back(), "llm.call");
}

class Harvest : public Scribe {
 protected:
  /// Sends the stream and returns the events that the scribe made of it.
  std::vector<json::object> harvest(const std::string& stream, std::uint64_t max_size = 1 << 20) {
    auto pipe = base::makePipe();
    say({{"harvest", true}, {"max_size", max_size}}, {pipe->read.get()});
    pipe->read.reset();
    EXPECT_TRUE(base::writeAll(pipe->write.get(), stream));
    pipe->write.reset();
    std::vector<json::object> events;
    for (int i = 0; i < 1000; ++i) {
      auto message = next();
      if (message.empty() || message.contains("harvested")) break;
      if (message.contains("authored")) events.push_back(message.at("authored").as_object());
    }
    return events;
  }
  static std::string file(const std::string& path, std::string_view bytes) {
    return encodeHarvest(HarvestFile{{path, false}, bytes.size(), 0755, 1000}) +
           encodeHarvest(HarvestData{bytes}) +
           encodeHarvest(HarvestEnd{sha256Hex(bytes), false, ""});
  }
  std::string blob(const std::string& hex) {
    return support::readText(run_.path + "/blobs/" + hex);
  }
};

TEST_F(Harvest, BecomesBlobsAndEvents) {
  const auto events =
      harvest(file("out/a", "hello") + encodeHarvest(HarvestSkipped{{"l", false}, "is a pipe"}) +
              encodeHarvest(HarvestPatch{}) + encodeHarvest(HarvestData{"diff"}) +
              encodeHarvest(HarvestEnd{}) + encodeHarvest(HarvestDone{}));
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].at("type"), "artifact.stored");
  EXPECT_EQ(events[0].at("data").at("path"), "out/a");
  EXPECT_EQ(events[0].at("data").at("mode"), "0755");
  EXPECT_EQ(events[0].at("data").at("sha256").as_string(), "sha256:" + sha256Hex("hello"));
  EXPECT_EQ(blob(sha256Hex("hello")), "hello");
  EXPECT_EQ(events[1].at("data").at("reason"), "is a pipe");
  EXPECT_EQ(events[2].at("type"), "patch.stored");
  EXPECT_EQ(blob(sha256Hex("diff")), "diff");
}

TEST_F(Harvest, TakesAsMuchAsMaxSizeAndNotOneByteMore) {
  const auto fits =
      harvest(file("a", "12345") + file("b", "12345") + encodeHarvest(HarvestDone{}), 10);
  EXPECT_EQ(fits.at(0).at("type"), "artifact.stored");
  EXPECT_EQ(fits.at(1).at("type"), "artifact.stored");
  const auto more =
      harvest(file("a", "12345") + file("b", "123456") + encodeHarvest(HarvestDone{}), 10);
  EXPECT_EQ(more.at(0).at("type"), "artifact.stored");
  EXPECT_EQ(more.at(1).at("type"), "artifact.skipped");
  EXPECT_EQ(more.at(1).at("data").at("reason"), "would exceed results.max_size");
}

TEST_F(Harvest, StreamThatBreaksItsRulesIsAnEventAndTheRestIsDropped) {
  const auto events =
      harvest(file("good", "1") + encodeHarvest(HarvestFile{{"../escape", false}, 1, 0, 0}) +
              file("after", "2"));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].at("data").at("path"), "good");
  EXPECT_EQ(events[1].at("type"), "artifact.skipped");
  const std::string reason(events[1].at("data").at("reason").as_string());
  EXPECT_NE(reason.find("../escape"), std::string::npos) << reason;
}

TEST_F(Harvest, StreamThatEndsInsideAFileOrHasAWrongDigestStoresNothing) {
  const std::string whole = file("a", "hello");
  auto events = harvest(whole.substr(0, whole.size() - 80));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("data").at("reason"), "the harvest ended before it was complete");
  events = harvest(
      encodeHarvest(HarvestFile{{"a", false}, 5, 0, 0}) + encodeHarvest(HarvestData{"hello"}) +
      encodeHarvest(HarvestEnd{sha256Hex("other"), false, ""}) + encodeHarvest(HarvestDone{}));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("type"), "artifact.skipped");
  events = harvest(encodeHarvest(HarvestFile{{"a", false}, 5, 0, 0}) +
                   encodeHarvest(HarvestData{"hel"}) + encodeHarvest(HarvestEnd{}) +
                   encodeHarvest(HarvestDone{}));
  EXPECT_EQ(events.at(0).at("data").at("reason"), "fewer bytes came than were announced");
  EXPECT_TRUE(std::filesystem::is_empty(run_.path + "/blobs"));
}

TEST_F(Harvest, PatchThatIsNotCompleteIsNone) {
  const auto events = harvest(encodeHarvest(HarvestPatch{}) + encodeHarvest(HarvestData{"di"}) +
                              encodeHarvest(HarvestEnd{"", true, "it took too long"}) +
                              encodeHarvest(HarvestDone{}));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].at("type"), "patch.skipped");
  EXPECT_EQ(events[0].at("data").at("reason"), "it took too long");
}

}  // namespace
}  // namespace warder::journal
