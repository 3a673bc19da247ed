// Deliveries to servers that misbehave.
#include <gtest/gtest.h>

#include "tests/support/delivering.h"
#include "tests/support/scripted_server.h"

namespace warder::courier {
namespace {

using namespace std::chrono_literals;
using support::ScriptedServer;
using support::SeenRequest;

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
