// Deliveries to the real collector and to servers that misbehave.
#include "supervisor/courier/delivery.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "tests/support/collector_process.h"
#include "tests/support/finished_run.h"
#include "tests/support/scripted_server.h"
#include "tests/support/test_ca.h"

namespace warder::courier {
namespace {

using namespace std::chrono_literals;
using support::Client;
using support::CollectorProcess;
using support::FinishedRun;
using support::ScriptedServer;
using support::SeenRequest;

WipedText tokenOf(std::string_view text) {
  WipedText token(text.size());
  token.append(text);
  return token;
}

/// A delivery with its loop; what it tells is kept.
class Delivering {
 public:
  Delivering(const FinishedRun& run, const std::string& url, const std::string& ca_file = {},
             std::string_view token = CollectorProcess::kToken) {
    DeliveryOrder order;
    order.run_dir = run.folder.path;
    order.run_id = run.folder.run_id;
    order.sink = *parseSink(url, ca_file);
    DeliveryNews news;
    news.acked = [this](std::uint64_t seq) {
      acked.push_back(seq);
      if (on_acked) on_acked(seq);
    };
    news.reachable = [this](bool up, const std::string& sentence) {
      changes.push_back((up ? "up: " : "down: ") + sentence);
      if (on_change) on_change(up);
    };
    delivery = std::make_unique<Delivery>(io.get_executor(), std::move(order), tokenOf(token),
                                          std::move(news));
  }

  base::Result<json::object> run() {
    base::Result<json::object> result = base::Error{base::Kind::Internal, "nothing"};
    auto running = delivery->run();
    auto ended = [&result](std::exception_ptr failure, base::Result<json::object> receipt) {
      if (!failure) result = std::move(receipt);
    };
    boost::asio::co_spawn(io, std::move(running), std::move(ended));
    io.run();
    return result;
  }
  base::Result<json::object> runWithin(std::chrono::milliseconds time) {
    delivery->finish(time);
    return run();
  }

  boost::asio::io_context io{1};
  std::vector<std::uint64_t> acked;
  std::vector<std::string> changes;
  std::function<void(std::uint64_t)> on_acked;
  std::function<void(bool)> on_change;
  std::unique_ptr<Delivery> delivery;
};

std::string attemptOf(const FinishedRun& run) {
  return "/v1/runs/" + run.folder.run_id + "/attempts/1";
}

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

// ---- servers that misbehave

const std::string kNoHead(64, '0');

std::string opened() {
  return ScriptedServer::json(200, R"({"acked_seq":0,"head":")" + kNoHead + "\"}");
}

/// A collector in a few lines: acknowledges what comes, and gives a receipt.
std::string acknowledge(const SeenRequest& request) {
  if (request.is("POST", "/open")) return opened();
  if (request.is("PUT", "/report"))
    return ScriptedServer::json(
        200, R"({"receipt":{"report_sha256":"sha256:)" + journal::sha256Hex(request.body) + "\"}}");
  const std::string last =
      request.body.substr(request.body.rfind('\n', request.body.size() - 2) + 1);
  const std::string line = last.substr(0, last.size() - 1);
  const auto seq = json::parse(line).at("seq").to_number<std::uint64_t>();
  return ScriptedServer::json(200, R"({"acked_seq":)" + std::to_string(seq) + R"(,"head":")" +
                                       journal::sha256Hex(line) + "\"}");
}

TEST(DeliveryToAnyServer, SpeaksTheProtocolExactly) {
  FinishedRun run;
  run.finish();
  ScriptedServer server(acknowledge);
  Delivering delivering(run, server.url + "/base/");
  ASSERT_TRUE(delivering.runWithin(60s));
  const auto seen = server.seen();
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].line, "POST /base" + attemptOf(run) + "/open HTTP/1.1");
  EXPECT_EQ(json::parse(seen[0].body).at("identity").at("run_id"), json::value(run.folder.run_id));
  EXPECT_NE(seen[0].head.find("Authorization: Bearer ingest-token-of-the-test\r\n"),
            std::string::npos);
  EXPECT_EQ(seen[1].body, run.lines());
  EXPECT_NE(seen[1].head.find("Warder-Seq: 1-" + std::to_string(run.writer->lastSeq()) + "\r\n"),
            std::string::npos);
  EXPECT_NE(seen[1].head.find("Content-Digest: sha-256=:"), std::string::npos);
  EXPECT_EQ(seen[2].line, "PUT /base" + attemptOf(run) + "/report HTTP/1.1");
}

TEST(DeliveryToAnyServer, RewindsToWhereTheServerStands) {
  FinishedRun run;
  for (int i = 0; i < 30; ++i) run.add("note", {{"text", std::string(20'000, 'x')}});
  run.finish();
  bool forgot = false;
  ScriptedServer server([&](const SeenRequest& request) {
    if (!forgot && request.is("POST", "/events") &&
        request.head.find("Warder-Seq: 1-") == std::string::npos) {
      forgot = true;
      return ScriptedServer::json(409, R"({"expected":1})");
    }
    return acknowledge(request);
  });
  Delivering delivering(run, server.url);
  ASSERT_TRUE(delivering.runWithin(60s));
  std::vector<std::string> bodies;
  for (const auto& request : server.seen())
    if (request.is("POST", "/events")) bodies.push_back(request.body);
  ASSERT_GE(bodies.size(), 4u);
  EXPECT_EQ(bodies[0], bodies[2]) << "from the first line again";
}

TEST(DeliveryToAnyServer, HalvesABatchThatIsTooLarge) {
  FinishedRun run;
  for (int i = 0; i < 8; ++i) run.add("note", {{"text", std::string(1'000, 'x')}});
  run.finish();
  ScriptedServer server([&](const SeenRequest& request) {
    return request.is("POST", "/events") && request.body.size() > 3'000
               ? ScriptedServer::json(413, "{}")
               : acknowledge(request);
  });
  EXPECT_TRUE(Delivering(run, server.url).runWithin(60s));
}

TEST(DeliveryToAnyServer, StopsWhenOneLineIsTooLarge) {
  FinishedRun run;
  run.finish();
  ScriptedServer server([&](const SeenRequest& request) {
    return request.is("POST", "/events") ? ScriptedServer::json(413, "{}") : acknowledge(request);
  });
  const auto refused = Delivering(run, server.url).runWithin(60s);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, base::Kind::Denied);
}

TEST(DeliveryToAnyServer, StopsAtOnceWhereWaitingCannotHelp) {
  for (const int status : {401, 403, 410, 422}) {
    FinishedRun run;
    run.finish();
    ScriptedServer server([&](const SeenRequest& request) {
      return request.is("POST", "/events") ? ScriptedServer::json(status, "{}")
                                           : acknowledge(request);
    });
    const auto refused = Delivering(run, server.url).runWithin(60s);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::Kind::Denied) << status;
    EXPECT_NE(refused.error().doing.find(std::to_string(status)), std::string::npos);
  }
}

TEST(DeliveryToAnyServer, TriesAgainAfterAnswersThatMakeNoSense) {
  FinishedRun run;
  run.finish();
  const std::vector<std::string> rubbish = {
      "", "garbage\r\n\r\n", ScriptedServer::json(200, "<html>OK</html>"),
      ScriptedServer::json(502, "<html>"),
      "CUT HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"acked"};
  std::size_t next = 0;
  bool overstated = false;
  ScriptedServer server([&](const SeenRequest& request) {
    if (request.is("POST", "/open") && next < rubbish.size()) return rubbish[next++];
    if (request.is("POST", "/events") && !std::exchange(overstated, true))
      return ScriptedServer::json(200, R"({"acked_seq":99,"head":")" + kNoHead + "\"}");
    return acknowledge(request);
  });
  Delivering delivering(run, server.url);
  const auto receipt = delivering.runWithin(60s);
  ASSERT_TRUE(receipt) << receipt.error().sentence();
  EXPECT_EQ(next, rubbish.size());
  EXPECT_TRUE(overstated);
}

TEST(DeliveryToAnyServer, TakesNoReceiptForAnotherReport) {
  FinishedRun run;
  run.finish();
  ScriptedServer server([&](const SeenRequest& request) {
    return request.is("PUT", "/report")
               ? ScriptedServer::json(200,
                                      R"({"receipt":{"report_sha256":"sha256:)" + kNoHead + "\"}}")
               : acknowledge(request);
  });
  EXPECT_FALSE(Delivering(run, server.url).runWithin(60s));
}

TEST(DeliveryToAnyServer, GivesUpAtTheDeadlineAndSaysWhy) {
  FinishedRun run;
  run.finish();
  ScriptedServer server([](const SeenRequest&) { return ScriptedServer::json(503, "{}"); });
  const auto late = Delivering(run, server.url).runWithin(300ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, base::Kind::Timeout);
  EXPECT_NE(late.error().doing.find("503"), std::string::npos);
  EXPECT_GE(server.seen().size(), 1u);
}

TEST(DeliveryToAnyServer, GivesUpAtTheDeadlineWhenTheServerIsSilent) {
  FinishedRun run;
  run.finish();
  std::atomic<bool> over = false;
  ScriptedServer server([&](const SeenRequest&) {
    support::eventually([&] { return over.load(); });
    return std::string();
  });
  const auto late = Delivering(run, server.url).runWithin(300ms);
  over = true;
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, base::Kind::Timeout);
}

TEST(DeliveryToAnyServer, UsesAnotherConnectionWhenAKeptOneIsDead) {
  FinishedRun run;
  run.finish();
  std::size_t requests = 0;
  ScriptedServer cutting([&](const SeenRequest& request) {
    return ++requests == 2 ? std::string() : acknowledge(request);
  });
  Delivering delivering(run, cutting.url);
  ASSERT_TRUE(delivering.runWithin(60s));
  EXPECT_TRUE(delivering.changes.empty()) << "nobody is told of it";
}

TEST(DeliveryToAnyServer, StopsAtAHoleInTheJournal) {
  FinishedRun run;
  run.add("note", {{"text", std::string(300'000, 'x')}});
  run.add("note", {{"text", std::string(300'000, 'y')}});
  run.finish();
  const std::string path = run.folder.path + "/journal/00000001.wal";
  std::string bytes = support::readText(path);
  bytes[bytes.find("yyyyyyyy") + 4] = 'n';
  support::writeText(path, bytes);
  ScriptedServer server(acknowledge);
  const auto refused = Delivering(run, server.url).runWithin(60s);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().doing.find("damaged"), std::string::npos) << refused.error().doing;
}

}  // namespace
}  // namespace warder::courier
