// Deliveries to the real collector.
#include <gtest/gtest.h>

#include "tests/support/delivering.h"
#include "tests/support/test_ca.h"

namespace warder::courier {
namespace {

using namespace std::chrono_literals;
using support::Client;

/// The collector holds exactly this run, once.
void expectComplete(const CollectorProcess& collector, const FinishedRun& run) {
  Client client(collector.address);
  const auto told = client.ask("GET", "/v1/runs/" + run.folder.run_id).json();
  EXPECT_EQ(told.at("complete"), true);
  std::string events;
  for (std::uint64_t after = 0;;) {
    const std::string part =
        client.ask("GET", attemptOf(run) + "/events?after=" + std::to_string(after)).body;
    if (part.empty()) break;
    events += part;
    after += static_cast<std::uint64_t>(std::count(part.begin(), part.end(), '\n'));
  }
  EXPECT_EQ(events, run.lines());
  for (const auto& file : told.at("files").as_array()) EXPECT_EQ(file.at("stored"), true);
}

FinishedRun& filled(FinishedRun& run) {
  for (int i = 0; i < 40; ++i) run.add("note", {{"text", std::string(20'000, 'x')}});
  run.addArtifact("out/a.txt", "artifact");
  run.addArtifact("out/empty", "");
  run.addArtifact("out/large", std::string(3 << 20, 'z'));
  run.addOutput("stdout", "hello\n");
  run.addOutput("stderr", "");
  run.finish();
  return run;
}

TEST(DeliveryToCollector, BringsAWholeRun) {
  CollectorProcess collector;
  FinishedRun run;
  filled(run);
  Delivering delivering(run, "http://" + collector.address);
  const auto receipt = delivering.runWithin(60s);
  ASSERT_TRUE(receipt) << receipt.error().sentence();
  EXPECT_EQ(receipt->at("seq"), run.writer->lastSeq());
  EXPECT_EQ(receipt->at("head"), json::value(run.writer->head()));
  EXPECT_GT(delivering.acked.size(), 2u) << "several batches";
  EXPECT_TRUE(delivering.changes.empty());
  expectComplete(collector, run);

  Delivering again(run, "http://" + collector.address);
  EXPECT_EQ(*again.runWithin(60s), *receipt) << "a second delivery changes nothing";
}

TEST(DeliveryToCollector, BringsAWholeRunOverTls) {
  tests::TestCa ca;
  const auto [certificate, key] = ca.issueFiles();
  CollectorProcess collector({"--tls-cert", certificate, "--tls-key", key});
  FinishedRun run;
  filled(run);
  Delivering delivering(run, "https://" + collector.address, ca.file());
  const auto receipt = delivering.runWithin(60s);
  ASSERT_TRUE(receipt) << receipt.error().sentence();

  Delivering distrusting(run, "https://" + collector.address);
  const auto refused = distrusting.runWithin(1s);
  ASSERT_FALSE(refused) << "without its root the collector is a stranger";
  EXPECT_NE(refused.error().doing.find("certificate"), std::string::npos) << refused.error().doing;
}

TEST(DeliveryToCollector, SendsWhileTheRunIsAtWorkAndEndsItLater) {
  CollectorProcess collector;
  FinishedRun run;
  Delivering delivering(run, "http://" + collector.address);
  bool finished = false;
  delivering.on_acked = [&](std::uint64_t seq) {
    if (seq < 2 || finished) return;
    finished = true;
    run.addArtifact("out/a", "late");
    run.finish();
    delivering.delivery->finish(60s);
  };
  const auto receipt = delivering.run();
  ASSERT_TRUE(receipt) << receipt.error().sentence();
  expectComplete(collector, run);
}

TEST(DeliveryToCollector, WaitsForACollectorThatIsDown) {
  CollectorProcess collector;
  collector.end(SIGKILL);
  FinishedRun run;
  filled(run);
  Delivering delivering(run, "http://" + collector.address);
  delivering.on_change = [&](bool up) {
    if (!up) collector.startAgain();
  };
  const auto receipt = delivering.runWithin(60s);
  ASSERT_TRUE(receipt) << receipt.error().sentence();
  ASSERT_EQ(delivering.changes.size(), 2u) << "once down, once up";
  EXPECT_TRUE(delivering.changes[0].starts_with("down: "));
  EXPECT_TRUE(delivering.changes[1].starts_with("up: "));
  expectComplete(collector, run);
}

TEST(DeliveryToCollector, LosesAndDoublesNothingWhenTheCollectorIsKilledBetweenBatches) {
  CollectorProcess collector;
  FinishedRun run;
  filled(run);
  Delivering delivering(run, "http://" + collector.address);
  delivering.on_acked = [&](std::uint64_t) {
    collector.end(SIGKILL);
    collector.startAgain();
  };
  const auto receipt = delivering.runWithin(60s);
  ASSERT_TRUE(receipt) << receipt.error().sentence();
  expectComplete(collector, run);
}

TEST(DeliveryToCollector, StartsOverWhenTheCollectorLostItsData) {
  CollectorProcess collector;
  FinishedRun run;
  filled(run);
  Delivering delivering(run, "http://" + collector.address);
  bool wiped = false;
  delivering.on_acked = [&](std::uint64_t) {
    if (wiped) return;
    wiped = true;
    collector.end(SIGKILL);
    std::filesystem::remove_all(collector.dataFolder());
    collector.startAgain();
  };
  const auto receipt = delivering.runWithin(60s);
  ASSERT_TRUE(receipt) << receipt.error().sentence();
  expectComplete(collector, run);
}

TEST(DeliveryToCollector, RefusesToMixTwoHistories) {
  CollectorProcess collector;
  FinishedRun first, second;  // the same run id, another journal
  filled(first);
  second.finish();
  ASSERT_TRUE(Delivering(first, "http://" + collector.address).runWithin(60s));
  const auto refused = Delivering(second, "http://" + collector.address).runWithin(60s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::Kind::Denied);
  expectComplete(collector, first);
}

TEST(DeliveryToCollector, StopsAtAWrongToken) {
  CollectorProcess collector;
  FinishedRun run;
  run.finish();
  const auto refused =
      Delivering(run, "http://" + collector.address, "", "not the token at all").runWithin(60s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::Kind::Denied) << "no waiting for the deadline";
  EXPECT_NE(refused.error().doing.find("401"), std::string::npos);
  EXPECT_EQ(refused.error().doing.find("not the token"), std::string::npos);
}

TEST(DeliveryToCollector, SaysWhichBlobTheSpoolDoesNotHold) {
  CollectorProcess collector;
  FinishedRun run;
  const std::string lost = run.addArtifact("out/lost", "lost");
  const std::string changed = run.addArtifact("out/changed", "changed");
  run.addArtifact("out/kept", "kept");
  run.finish();
  std::filesystem::remove(run.folder.path + "/blobs/" + lost);
  support::writeText(run.folder.path + "/blobs/" + changed, "other bytes");
  const auto refused = Delivering(run, "http://" + collector.address).runWithin(60s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::Kind::Denied);
  Client client(collector.address);
  const auto told = client.ask("GET", "/v1/runs/" + run.folder.run_id).json();
  EXPECT_EQ(told.at("state"), "finished") << "the outcome is there all the same";
  EXPECT_EQ(told.at("complete"), false);
  int stored = 0;
  for (const auto& file : told.at("files").as_array()) stored += file.at("stored").as_bool();
  EXPECT_EQ(stored, 1) << "what could be sent was sent";
}

TEST(DeliveryToCollector, NeverFollowsALinkOutOfTheSpool) {
  CollectorProcess collector;
  FinishedRun run;
  const std::string bytes = "something of the machine";
  support::TemporaryFolder elsewhere;
  support::writeText(elsewhere.path + "/secret", bytes);
  const std::string digest = run.addArtifact("out/x", bytes);
  std::filesystem::remove(run.folder.path + "/blobs/" + digest);
  std::filesystem::create_symlink(elsewhere.path + "/secret", run.folder.path + "/blobs/" + digest);
  run.finish();
  EXPECT_FALSE(Delivering(run, "http://" + collector.address).runWithin(60s));
}

}  // namespace
}  // namespace warder::courier
