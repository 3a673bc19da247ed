// The store by itself, with times given: leases and what survives a restart.
#include "collector/store.h"

#include <gtest/gtest.h>

#include "tests/support/box_client.h"
#include "tests/support/run_folder.h"

namespace warder::collector {
namespace {

using support::JournalLines;

const AttemptKey kKey{"3f1c2a54-0000-4000-8000-000000000001", 1};
constexpr Moment kStart = 1'800'000'000'000;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override { reopen(kStart); }
  void reopen(Moment now) {
    store.reset();
    auto opened = Store::open(folder.path + "/data", std::chrono::seconds(60), now);
    ASSERT_TRUE(opened) << opened.error().sentence();
    store = std::move(*opened);
  }
  std::string state() { return std::string(store->describeRun(kKey.run)->at("state").as_string()); }
  AppendAnswer append(const JournalLines& lines, Moment now) {
    const std::string body = lines.body(1, lines.count());
    const auto batch = parseBatch(body, kKey);
    return *store->append(kKey, *batch, now);
  }

  support::TemporaryFolder folder;
  std::unique_ptr<Store> store;
};

TEST_F(StoreTest, KeepsALeaseToItsLastMillisecond_BC101) {
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  EXPECT_EQ(*store->markLost(kStart + 60'000), 0u);
  EXPECT_EQ(state(), "running");
  EXPECT_EQ(*store->markLost(kStart + 60'001), 1u);
  EXPECT_EQ(state(), "lost");
  EXPECT_EQ(*store->markLost(kStart + 60'002), 0u) << "told once";
}

TEST_F(StoreTest, RenewsTheLeaseWithEverySignOfLife) {
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  ASSERT_TRUE(store->append(kKey, {}, kStart + 50'000));
  EXPECT_EQ(*store->markLost(kStart + 110'000), 0u);
  ASSERT_TRUE(store->touch(kKey, kStart + 110'000));
  EXPECT_EQ(*store->markLost(kStart + 170'000), 0u);
  EXPECT_EQ(*store->markLost(kStart + 170'001), 1u);
  ASSERT_TRUE(store->append(kKey, {}, kStart + 200'000));
  EXPECT_EQ(state(), "running") << "a box that comes back is not lost any more";
}

TEST_F(StoreTest, GivesRunsAWholeLeaseAfterTheCollectorWasAway) {
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  reopen(kStart + 3'600'000);
  EXPECT_EQ(*store->markLost(kStart + 3'660'000), 0u);
  EXPECT_EQ(*store->markLost(kStart + 3'660'001), 1u);
}

TEST_F(StoreTest, NeverLosesAFinishedRun) {
  JournalLines lines(kKey.run);
  lines.add("run.finished", {{"outcome", {{"class", "ok"}}}});
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  append(lines, kStart);
  const auto report = store->putReport(kKey, support::reportOf("ok", 1), kStart);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->what, ReportAnswer::What::Complete);
  EXPECT_EQ(*store->markLost(kStart + 1'000'000), 0u);
  EXPECT_EQ(state(), "finished");
}

TEST_F(StoreTest, AsksForTheEndOfTheJournalBeforeItClosesARun) {
  JournalLines lines(kKey.run);
  lines.add("run.started", json::object());
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  append(lines, kStart);
  const auto report = store->putReport(kKey, support::reportOf("ok", 2), kStart);
  ASSERT_TRUE(report);
  EXPECT_EQ(report->what, ReportAnswer::What::Missing);
  EXPECT_EQ(report->events_from, 2u);
}

TEST_F(StoreTest, KeepsTheFirstKeyOfAnAttempt) {
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", "first"}, kStart));
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", "second"}, kStart));
  EXPECT_EQ(store->describeRun(kKey.run)->at("key"), "first");
}

TEST_F(StoreTest, ChangesNothingWhenABatchDoesNotFit) {
  JournalLines lines(kKey.run), other(kKey.run);
  lines.add("a", json::object());
  other.add("b", json::object());
  other.add("c", json::object());
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  EXPECT_EQ(append(lines, kStart).what, AppendAnswer::What::Stored);
  const auto fork = append(other, kStart);
  EXPECT_EQ(fork.what, AppendAnswer::What::Fork);
  EXPECT_EQ(*store->events(kKey, 0), lines.body(1, 1));
}

TEST_F(StoreTest, DoesNotBelieveAReportThatAnEarlierVersionTook) {
  JournalLines lines(kKey.run);
  lines.add("run.finished", {{"outcome", {{"class", "agent"}}}});
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  append(lines, kStart);
  store.reset();
  {
    Database database(folder.path + "/data/collector.db");
    database.query("UPDATE attempts SET state = 'finished', receipt = '{}', report = ?")
        .with(support::reportOf("ok", 1))
        .run();
    database.run("UPDATE attempts SET summary = '{\"outcome\":{\"class\":\"ok\"}}'");
    database.run("PRAGMA user_version = 1");
  }
  reopen(kStart);
  const auto run = store->describeRun(kKey.run);
  ASSERT_TRUE(run);
  EXPECT_EQ(run->at("summary").at("outcome").at("class"), "agent");
  EXPECT_NE(run->at("report_fault").as_string().find("agent"), json::string::npos);
}

/// Puts a value into the database behind the store's back.
void poison(const std::string& folder, const char* sql) {
  Database database(folder + "/data/collector.db");
  database.run(sql);
}

TEST_F(StoreTest, MakesPoisonedDataOfAnEarlierVersionReadable) {
  JournalLines lines(kKey.run);
  lines.add("llm.call", {{"status", 200}, {"cost_usd", 1e308}});
  lines.add("llm.call", {{"status", 200}, {"cost_usd", 1e308}});
  const AttemptKey other{"3f1c2a54-0000-4000-8000-000000000002", 1};
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  ASSERT_TRUE(store->openAttempt(other, {"{}", ""}, kStart));
  append(lines, kStart);
  store.reset();
  poison(folder.path,
         "UPDATE attempts SET summary = '{\"calls\":2,\"cost_usd\":Infinity}', "
         "state = 'finished' WHERE run LIKE '%1'");
  poison(folder.path, "PRAGMA user_version = 1");
  reopen(kStart);
  const auto list = store->listRuns("");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->at("runs").as_array().size(), 2u);
  const auto run = store->describeRun(kKey.run);
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->contains("fault"));
  EXPECT_EQ(json::serialize(run->at("summary").at("cost_usd")), "9007199254740992");
  EXPECT_EQ(json::serialize(run->at("summary").at("calls")), "2");
  EXPECT_EQ(state(), "running") << "its journal has no end";
}

TEST_F(StoreTest, ShowsARowThatCannotBeReadAsSuchAndAllOthers) {
  JournalLines lines(kKey.run);
  lines.add("run.started", {{"preset", "claude-code"}});
  const AttemptKey other{"3f1c2a54-0000-4000-8000-000000000002", 1};
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  ASSERT_TRUE(store->openAttempt(other, {"{}", ""}, kStart));
  for (const char* text : {"{\"cost_usd\":Infinity}", "", "[]", "\xff"}) {
    const std::string sql =
        "UPDATE attempts SET summary = '" + std::string(text) + "' WHERE run LIKE '%1'";
    poison(folder.path, sql.c_str());
    const auto list = store->listRuns("");
    ASSERT_TRUE(list) << text;
    ASSERT_EQ(list->at("runs").as_array().size(), 2u);
    EXPECT_FALSE(list->at("runs").at(0).as_object().contains("fault"));
    EXPECT_TRUE(list->at("runs").at(1).as_object().contains("fault")) << text;
    ASSERT_TRUE(store->describeRun(kKey.run)) << text;
  }
  EXPECT_EQ(append(lines, kStart).what, AppendAnswer::What::Stored) << "the box can go on";
  EXPECT_EQ(store->describeRun(kKey.run)->at("summary").at("preset"), "claude-code");
}

TEST_F(StoreTest, SaysWhatDidNotWorkAndWhy) {
  poison(folder.path, "ALTER TABLE attempts RENAME TO elsewhere");
  const auto list = store->listRuns("");
  ASSERT_FALSE(list);
  EXPECT_NE(list.error().sentence().find("listing the runs"), std::string::npos);
  EXPECT_NE(list.error().sentence().find("no such table"), std::string::npos);
}

TEST_F(StoreTest, ReadsEventsInParts) {
  JournalLines lines(kKey.run);
  for (int i = 0; i < 3; ++i) lines.add("x", {{"text", std::string(600'000, 'a')}});
  ASSERT_TRUE(store->openAttempt(kKey, {"{}", ""}, kStart));
  append(lines, kStart);
  EXPECT_EQ(*store->events(kKey, 0), lines.body(1, 2));
  EXPECT_EQ(*store->events(kKey, 2), lines.body(3, 3));
  EXPECT_EQ(*store->events(kKey, 3), "");
  EXPECT_FALSE(store->events({kKey.run, 2}, 0));
}

TEST_F(StoreTest, RemovesHalfWrittenBlobsWhenItStarts) {
  support::writeText(folder.path + "/data/incoming/7", "half");
  reopen(kStart);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path + "/data/incoming"));
}

}  // namespace
}  // namespace warder::collector
