// The real collector over loopback: what it takes, what it refuses, what it keeps.
#include <gtest/gtest.h>

#include "tests/support/box_client.h"

namespace warder::collector {
namespace {

using support::Box;
using support::Client;
using support::CollectorProcess;
using support::eventually;
using support::fieldOf;
using support::JournalLines;
using support::kReport;
using support::kRun;
using support::Reply;
namespace json = boost::json;

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
