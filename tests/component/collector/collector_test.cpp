// The real collector over loopback: what it takes, what it refuses, what it keeps.
#include <gtest/gtest.h>

#include "collector/base64.h"
#include "supervisor/journal/digest.h"
#include "tests/support/collector_process.h"

namespace warder::collector {
namespace {

using support::Client;
using support::CollectorProcess;
using support::eventually;
using support::JournalLines;
using support::Reply;
namespace json = boost::json;

const std::string kRun = "3f1c2a54-0000-4000-8000-000000000001";

std::string fieldOf(const std::string& bytes) {
  return digestField(journal::sha256Raw(bytes));
}

/// A box as a client of the protocol.
class Box {
 public:
  explicit Box(const CollectorProcess& collector, const std::string& run = kRun, int attempt = 1)
      : client(collector.address), lines(run, attempt) {}

  std::string path(const std::string& rest) const {
    return "/v1/runs/" + lines.run() + "/attempts/" + std::to_string(lines.attempt()) + rest;
  }
  Reply open() {
    const json::object identity{{"run_id", lines.run()}, {"attempt", lines.attempt()}};
    return client.ask("POST", path("/open"), json::serialize(json::object{{"identity", identity}}));
  }
  Reply events(std::size_t first, std::size_t last) {
    const std::string body = lines.body(first, last);
    return client.ask("POST", path("/events"), body,
                      {{"Content-Digest", fieldOf(body)},
                       {"Warder-Seq", std::to_string(first) + "-" + std::to_string(last)}});
  }
  Reply blob(const std::string& bytes) {
    return client.ask("PUT", path("/blobs/" + journal::sha256Hex(bytes)), bytes,
                      {{"Repr-Digest", fieldOf(bytes)}});
  }
  Reply report(const std::string& text) { return client.ask("PUT", path("/report"), text); }
  json::value run() { return client.ask("GET", "/v1/runs/" + lines.run()).json(); }

  /// A whole run of four lines with one artifact.
  void work(const std::string& artifact = "artifact") {
    lines.add("run.started", {{"preset", "claude-code"}});
    lines.add("agent.exited", {{"code", 0}});
    lines.add("artifact.stored", {{"path", "out/a \"b\".html"},
                                  {"bytes", artifact.size()},
                                  {"sha256", "sha256:" + journal::sha256Hex(artifact)}});
    lines.add("run.finished", {{"outcome", {{"class", "ok"}}}});
  }

  Client client;
  JournalLines lines;
};

const std::string kReport =
    R"({"outcome":{"class":"ok","reason":"completed"},"events":{"last_seq":4}})";

class Collector : public ::testing::Test {
 protected:
  CollectorProcess collector;
};

TEST_F(Collector, TakesAWholeRunAndGivesAReceipt) {
  Box box(collector);
  box.work();
  const Reply opened = box.open();
  ASSERT_EQ(opened.status, 200) << opened.body;
  EXPECT_EQ(opened.json().at("acked_seq"), 0);
  EXPECT_EQ(opened.json().at("lease_s"), 60);
  const Reply stored = box.events(1, 4);
  ASSERT_EQ(stored.status, 200) << stored.body;
  EXPECT_EQ(stored.json().at("acked_seq"), 4);
  EXPECT_EQ(stored.json().at("head"), json::value(box.lines.head()));

  const Reply early = box.report(kReport);
  ASSERT_EQ(early.status, 202) << early.body;
  EXPECT_EQ(early.json().at("missing").at("blobs").at(0),
            json::value(journal::sha256Hex("artifact")));
  EXPECT_EQ(box.run().at("state"), "finished") << "the outcome is known before the rest is here";
  EXPECT_EQ(box.run().at("complete"), false);

  EXPECT_EQ(box.client.ask("HEAD", box.path("/blobs/" + journal::sha256Hex("artifact"))).status,
            404);
  EXPECT_EQ(box.blob("artifact").status, 201);
  EXPECT_EQ(box.client.ask("HEAD", box.path("/blobs/" + journal::sha256Hex("artifact"))).status,
            200);
  const Reply done = box.report(kReport);
  ASSERT_EQ(done.status, 200) << done.body;
  const auto receipt = done.json().at("receipt");
  EXPECT_EQ(receipt.at("report_sha256"), json::value("sha256:" + journal::sha256Hex(kReport)));
  EXPECT_EQ(receipt.at("head"), json::value(box.lines.head()));
  EXPECT_EQ(receipt.at("seq"), 4);
  EXPECT_EQ(receipt.at("run"), json::value(kRun));

  EXPECT_EQ(box.report(kReport).body, done.body) << "the same report again gives the same receipt";
  EXPECT_EQ(box.open().json().at("receipt"), receipt);
  EXPECT_EQ(box.report("{}").status, 422) << "another report does not replace it";
  box.lines.add("late", json::object());
  EXPECT_EQ(box.events(5, 5).status, 410);
  EXPECT_EQ(box.events(1, 4).status, 200) << "what is known already is no harm";
}

TEST_F(Collector, AsksForWhatIsMissingAndRefusesAnotherHistory) {
  Box box(collector);
  box.work();
  ASSERT_EQ(box.events(1, 2).status, 404) << "before it was opened";
  box.open();
  const Reply gap = box.events(2, 3);
  EXPECT_EQ(gap.status, 409);
  EXPECT_EQ(gap.json().at("expected"), 1);
  EXPECT_EQ(box.events(1, 2).status, 200);
  EXPECT_EQ(box.events(1, 3).json().at("acked_seq"), 3) << "an overlap is taken when identical";
  EXPECT_EQ(box.report(kReport).json().at("missing").at("events_from"), 4);
  EXPECT_EQ(box.report(R"({"run":{"run_id":"another","attempt":1}})").status, 400);
  EXPECT_EQ(box.report(R"({"run":{"run_id":")" + kRun + R"(","attempt":2}})").status, 400);
  EXPECT_EQ(box.report("no json").status, 400);

  Box forged(collector);
  forged.lines.add("run.started", {{"preset", "another"}});
  forged.lines.add("x", json::object());
  forged.lines.add("x", json::object());
  forged.lines.add("x", json::object());
  EXPECT_EQ(forged.events(1, 1).status, 422);
  EXPECT_EQ(forged.events(4, 4).status, 422);
  EXPECT_EQ(box.events(4, 4).status, 200) << "the true history goes on";
}

TEST_F(Collector, RefusesBytesThatAreNotWhatTheirDigestSays) {
  Box box(collector);
  box.work();
  box.open();
  const std::string body = box.lines.body(1, 1);
  EXPECT_EQ(box.client.ask("POST", box.path("/events"), body, {{"Warder-Seq", "1-1"}}).status, 400);
  EXPECT_EQ(box.client
                .ask("POST", box.path("/events"), body,
                     {{"Warder-Seq", "1-1"}, {"Content-Digest", fieldOf("other")}})
                .status,
            400);
  EXPECT_EQ(box.client
                .ask("POST", box.path("/events"), body,
                     {{"Warder-Seq", "1-2"}, {"Content-Digest", fieldOf(body)}})
                .status,
            400);
  const std::string digest = journal::sha256Hex("artifact");
  EXPECT_EQ(box.client.ask("PUT", box.path("/blobs/" + digest), "artifact").status, 400);
  EXPECT_EQ(box.client
                .ask("PUT", box.path("/blobs/" + digest), "not the artifact",
                     {{"Repr-Digest", fieldOf("artifact")}})
                .status,
            422);
  EXPECT_EQ(box.client.ask("HEAD", box.path("/blobs/" + digest)).status, 404);
  EXPECT_TRUE(std::filesystem::is_empty(collector.dataFolder() + "/incoming"));
}

TEST_F(Collector, LosesNothingThatItAcknowledgedWhenItIsKilled) {
  Box box(collector);
  box.work();
  box.open();
  ASSERT_EQ(box.events(1, 3).status, 200);
  ASSERT_EQ(box.blob("artifact").status, 201);
  collector.end(SIGKILL);
  collector.startAgain();
  box.client.disconnect();
  const Reply opened = box.open();
  EXPECT_EQ(opened.json().at("acked_seq"), 3);
  ASSERT_EQ(box.events(2, 4).status, 200);
  EXPECT_EQ(box.report(kReport).status, 200);
  EXPECT_EQ(box.client.ask("GET", box.path("/events")).body, box.lines.body(1, 4));
}

TEST_F(Collector, AnswersOnlyToTokensForTheirPurpose) {
  Box box(collector);
  for (const std::string token : {"", "wrong-token-of-the-test"}) {
    box.client.token = token;
    EXPECT_EQ(box.open().status, 401);
    EXPECT_EQ(box.blob("x").status, 401);
    EXPECT_EQ(box.report("{}").status, 401);
  }
  EXPECT_EQ(box.client.ask("GET", "/healthz").status, 200);
}

TEST_F(Collector, RefusesIdentitiesAndRunsThatDoNotFit) {
  Box box(collector);
  const auto open = [&](const std::string& body) {
    return box.client.ask("POST", box.path("/open"), body).status;
  };
  EXPECT_EQ(open("{}"), 400);
  EXPECT_EQ(open("not json"), 400);
  EXPECT_EQ(open(R"({"identity":{"run_id":"other","attempt":1}})"), 400);
  EXPECT_EQ(open(R"({"identity":{"run_id":")" + kRun + R"(","attempt":2}})"), 400);
  EXPECT_EQ(open(R"({"identity":{"run_id":")" + kRun + R"(","attempt":1},"key":7})"), 200);
  for (const char* target : {"/v1/runs/x' OR '1'='1", "/v1/runs/../../etc/passwd",
                             "/../collector.db", "/v1/runs/%00", "/collector.db",
                             "/v1/runs/3f1c2a54-0000-4000-8000-000000000001/attempts/1/"
                             "blobs/../../../collector.db"})
    EXPECT_EQ(box.client.ask("GET", target).status,
              std::string(target).find(' ') == std::string::npos ? 404 : 400)
        << target;
  EXPECT_EQ(box.client.ask("GET", "/v1/runs/3f1c2a54-0000-4000-8000-00000000ffff").status, 404);
  EXPECT_EQ(box.client.ask("DELETE", "/v1/runs").status, 405);
}

TEST_F(Collector, BoundsWhatItReads) {
  Box box(collector);
  box.open();
  const auto length = [&](const std::string& method, const std::string& rest, std::uint64_t bytes) {
    Client client(collector.address);
    return client
        .raw(method + " " + box.path(rest) + " HTTP/1.1\r\nHost: " + collector.address +
             "\r\nAuthorization: Bearer " + client.token + "\r\nContent-Length: " +
             std::to_string(bytes) + "\r\nRepr-Digest: " + fieldOf("x") + "\r\n\r\n")
        .status;
  };
  EXPECT_EQ(length("POST", "/events", (1 << 20) + (256 << 10) + 2), 413);
  EXPECT_EQ(length("PUT", "/report", (4 << 20) + 1), 413);
  EXPECT_EQ(length("POST", "/open", (256 << 10) + 1), 413);
  EXPECT_EQ(length("PUT", "/blobs/" + journal::sha256Hex("x"), (8ULL << 30) + 1), 413);
  Client client(collector.address);
  EXPECT_EQ(client
                .raw("POST " + box.path("/open") + " HTTP/1.1\r\nHost: " + collector.address +
                     "\r\nAuthorization: Bearer " + client.token + "\r\n\r\n")
                .status,
            411);
  Client chunked(collector.address);
  EXPECT_EQ(chunked
                .raw("POST " + box.path("/open") + " HTTP/1.1\r\nHost: " + collector.address +
                     "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                .status,
            400);
  EXPECT_TRUE(box.open().status == 200) << "the collector is well";
}

TEST_F(Collector, TakesALargestLineInOneBatch) {
  Box box(collector);
  box.open();
  const std::size_t frame = JournalLines(kRun).add("x", {{"text", ""}}).size();
  box.lines.add("x", {{"text", std::string((1 << 20) - frame, 'a')}});
  EXPECT_EQ(box.events(1, 1).status, 200);
}

TEST_F(Collector, ServesItsPageWithoutGivingScriptsAChance) {
  Client client(collector.address);
  for (const char* target : {"/", "/runs/3f1c2a54-0000-4000-8000-000000000001"}) {
    Reply page = client.ask("GET", target);
    EXPECT_EQ(page.status, 200);
    EXPECT_TRUE(page.headers["content-security-policy"].starts_with(
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"));
    EXPECT_EQ(page.headers["x-content-type-options"], "nosniff");
    EXPECT_EQ(page.body.find("style=\""), std::string::npos);
    EXPECT_EQ(page.body.find("onclick"), std::string::npos);
    EXPECT_EQ(page.body.find("http://"), std::string::npos) << "nothing from elsewhere";
    EXPECT_EQ(page.body.find("https://"), std::string::npos) << "nothing from elsewhere";
    for (std::size_t at = page.body.find("<script"); at != std::string::npos;
         at = page.body.find("<script", at + 1))
      EXPECT_EQ(page.body.substr(at, 13), "<script src=\"") << "no inline script";
  }
  for (const char* script : {"/app.js", "/list.js", "/run.js", "/events.js"}) {
    const Reply file = client.ask("GET", script);
    EXPECT_EQ(file.status, 200);
    for (const char* danger :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("})
      EXPECT_EQ(file.body.find(danger), std::string::npos) << script << " " << danger;
  }
}

TEST_F(Collector, HandsArtifactsOutAsAttachmentsOnly) {
  Box box(collector);
  const std::string hostile = "<html><script>alert(1)</script>";
  box.work(hostile);
  box.open();
  ASSERT_EQ(box.events(1, 4).status, 200);
  ASSERT_EQ(box.blob(hostile).status, 201);
  const std::string path = box.path("/blobs/" + journal::sha256Hex(hostile));
  Reply file = box.client.ask("GET", path);
  EXPECT_EQ(file.body, hostile);
  EXPECT_EQ(file.headers["content-type"], "application/octet-stream");
  EXPECT_EQ(file.headers["content-disposition"], "attachment; filename=\"a__b_.html\"");
  EXPECT_TRUE(file.headers["content-security-policy"].starts_with("sandbox"));
  Reply part = box.client.ask("GET", path, "", {{"Range", "bytes=-6"}});
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.body, "cript>");
  EXPECT_EQ(box.client.ask("GET", path, "", {{"Range", "bytes=100-"}}).status, 416);
  Box other(collector, "3f1c2a54-0000-4000-8000-000000000002");
  other.open();
  EXPECT_EQ(other.client.ask("GET", other.path("/blobs/" + journal::sha256Hex(hostile))).status,
            404)
      << "a run shows its own blobs only";
}

TEST_F(Collector, ListsRunsNewestFirstInParts) {
  for (int i = 0; i < 105; ++i) {
    char id[64];
    std::snprintf(id, sizeof id, "3f1c2a54-0000-4000-8000-%012d", i);
    Box(collector, id).open();
  }
  Client client(collector.address);
  const auto first = client.ask("GET", "/v1/runs").json();
  ASSERT_EQ(first.at("runs").as_array().size(), 100u);
  const std::string next(first.at("next").as_string());
  const auto rest = client.ask("GET", "/v1/runs?before=" + next).json();
  EXPECT_EQ(rest.at("runs").as_array().size(), 5u);
  EXPECT_FALSE(rest.as_object().contains("next"));
}

TEST_F(Collector, ShowsTheNewestAttemptOfARun) {
  Box first(collector, kRun, 1), second(collector, kRun, 2);
  first.open();
  second.open();
  EXPECT_EQ(first.run().at("attempt"), 2);
  EXPECT_EQ(first.run().at("attempts").as_array().size(), 2u);
  EXPECT_EQ(Client(collector.address).ask("GET", "/v1/runs").json().at("runs").as_array().size(),
            1u);
}

TEST_F(Collector, FinishesInGoodOrderOnSigterm) {
  Box box(collector);
  box.open();
  Client idle(collector.address);
  ASSERT_EQ(idle.ask("GET", "/healthz").status, 200);
  // A request whose body is still under way when the signal comes.
  const std::string body = R"({"identity":{"run_id":")" + kRun + R"(","attempt":1}})";
  Client busy(collector.address);
  busy.send("POST " + box.path("/open") + " HTTP/1.1\r\nHost: " + collector.address +
            "\r\nAuthorization: Bearer " + busy.token +
            "\r\nExpect: 100-continue\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\n\r\n");
  ASSERT_EQ(busy.receive(true).status, 100) << "the request is in flight";
  std::thread finishing([&] { EXPECT_EQ(collector.end(SIGTERM), 0); });
  EXPECT_TRUE(idle.atEnd()) << "connections without a request go at once";
  busy.send(body);
  EXPECT_EQ(busy.receive().status, 200) << "requests in flight are answered";
  finishing.join();
}

TEST_F(Collector, TurnsConnectionsAwayBeyondItsLimit) {
  std::vector<int> guests;
  for (int i = 0; i < 512; ++i) guests.push_back(support::connectTo(collector.address));
  Client late(collector.address);
  Reply reply = late.receive();
  if (reply.status == 0) reply = late.raw("");
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.headers["retry-after"], "1");
  for (const int guest : guests) ::close(guest);
  EXPECT_TRUE(
      eventually([&] { return Client(collector.address).ask("GET", "/healthz").status == 200; }));
}

TEST(CollectorLease, MarksASilentRunLostAndTakesItsLateReport_BC101) {
  CollectorProcess collector({"--lease", "1s"});
  Box box(collector);
  box.work();
  box.open();
  ASSERT_EQ(box.events(1, 1).status, 200);
  ASSERT_TRUE(eventually([&] { return box.run().at("state") == "lost"; }));
  EXPECT_NE(box.run().at("sentence").as_string().find("never ended"), json::string::npos);
  EXPECT_EQ(Client(collector.address).ask("GET", "/v1/runs").json().at("runs").at(0).at("state"),
            "lost");
  ASSERT_EQ(box.events(2, 4).status, 200);
  ASSERT_EQ(box.blob("artifact").status, 201);
  ASSERT_EQ(box.report(kReport).status, 200);
  EXPECT_EQ(box.run().at("state"), "finished") << "a late report is taken";
}

TEST(CollectorReaders, NeedTheReadTokenWhereThereIsOne) {
  support::TemporaryFolder folder;
  support::writeText(folder.path + "/read", "read-token-of-the-test");
  CollectorProcess collector({"--read-token-file", folder.path + "/read"});
  Client client(collector.address);
  Reply refused = client.ask("GET", "/v1/runs");
  EXPECT_EQ(refused.status, 403) << "the ingest token does not read";
  client.token.clear();
  refused = client.ask("GET", "/");
  EXPECT_EQ(refused.status, 401);
  EXPECT_TRUE(refused.headers["www-authenticate"].starts_with("Basic "));
  const std::string basic = "Basic " + toBase64("someone:read-token-of-the-test");
  EXPECT_EQ(client.ask("GET", "/", "", {{"Authorization", basic}}).status, 200);
  client.token = "read-token-of-the-test";
  EXPECT_EQ(client.ask("GET", "/v1/runs").status, 200);
  EXPECT_EQ(client.ask("POST", "/v1/runs/" + kRun + "/attempts/1/open", "{}").status, 403);
}

TEST_F(Collector, AnswersToNamesOfThisMachineOnlyWhileReadingIsOpen) {
  Client client(collector.address);
  EXPECT_EQ(client.raw("GET /v1/runs HTTP/1.1\r\nHost: attacker.example\r\n\r\n").status, 421);
  EXPECT_EQ(client.raw("GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
}

TEST_F(Collector, LeavesItsDataToOneCollectorAtATime) {
  const std::string command = std::string(WARDER_BINARY_DIR
                                          "/warder-collector serve --listen "
                                          "127.0.0.1:0 --data ") +
                              collector.dataFolder() + " --token-file " + collector.folder() +
                              "/token 2>/dev/null >/dev/null";
  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 2);
}

}  // namespace
}  // namespace warder::collector
