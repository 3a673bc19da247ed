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
using support::reportOf;
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

TEST_F(Collector, BelievesTheJournalAndNotAReportThatContradictsIt) {
  Box box(collector);
  box.work();
  box.open();
  ASSERT_EQ(box.events(1, 3).status, 200);
  const Reply early = box.report(reportOf("agent", 4));
  EXPECT_EQ(early.status, 202) << "the end of the journal is still to come";
  EXPECT_EQ(box.run().at("state"), "running") << "finished is what the journal says";
  EXPECT_EQ(box.run().at("report"), nullptr) << "nothing is shown that nothing speaks for";
  const Reply within = box.report(reportOf("ok", 3));
  EXPECT_EQ(within.status, 422) << within.body;
  EXPECT_NE(within.json().at("sentence").as_string().find("not run.finished"), json::string::npos);
  ASSERT_EQ(box.events(4, 4).status, 200);
  ASSERT_EQ(box.blob("artifact").status, 201);

  const Reply other = box.report(reportOf("agent", 4));
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_EQ(other.json().at("sentence"),
            "the report says that the run ended as \"agent\", its journal says \"ok\"");
  for (const std::uint64_t seq : {0, 3, 5}) {
    const Reply wrong = box.report(reportOf("ok", seq));
    EXPECT_EQ(wrong.status, 422) << seq;
    EXPECT_NE(wrong.json().at("sentence").as_string().find("ends with line 4"), json::string::npos);
  }
  EXPECT_EQ(box.run().at("complete"), false);
  EXPECT_EQ(box.run().at("summary").at("outcome").at("class"), "ok");
  EXPECT_EQ(box.report(reportOf("ok", 4)).status, 200);
  EXPECT_EQ(box.run().at("state"), "finished");
  EXPECT_FALSE(box.run().as_object().contains("report_fault"));
}

TEST_F(Collector, RefusesWhatIsNoReport) {
  Box box(collector);
  box.work();
  box.open();
  ASSERT_EQ(box.events(1, 4).status, 200);
  ASSERT_EQ(box.blob("artifact").status, 201);
  const json::object whole = json::parse(kReport).as_object();
  const auto with = [&](const char* name, const json::value& value) {
    json::object changed = whole;
    changed[name] = value;
    return json::serialize(changed);
  };
  std::vector<std::string> none = {"{}",
                                   "[]",
                                   "null",
                                   "7",
                                   with("schema", "warder.run-report/2"),
                                   with("schema", 1),
                                   with("outcome", "ok"),
                                   with("outcome", {{"class", "ok"}}),
                                   with("outcome", {{"class", 1}, {"reason", "x"}}),
                                   with("outcome", {{"class", "ok"}, {"reason", nullptr}}),
                                   with("artifacts", nullptr),
                                   with("artifacts", json::object()),
                                   with("events", nullptr),
                                   with("events", {{"last_seq", "4"}}),
                                   with("events", {{"last_seq", 4.0}}),
                                   with("events", {{"last_seq", -4}}),
                                   with("events", {{"last_seq", 18446744073709551615u}})};
  for (const char* name : {"schema", "outcome", "artifacts", "events"}) {
    json::object without = whole;
    without.erase(name);
    none.push_back(json::serialize(without));
  }
  for (const std::string& text : none) {
    const Reply reply = box.report(text);
    EXPECT_EQ(reply.status, 422) << text;
    EXPECT_FALSE(reply.json().at("sentence").as_string().empty()) << text;
  }
  EXPECT_EQ(box.run().at("state"), "running");
  EXPECT_EQ(box.run().at("report"), nullptr);
  EXPECT_EQ(box.report(kReport).status, 200) << "the right one is taken";
}

TEST_F(Collector, RefusesASecondBoxWithTheSameRunId) {
  Box box(collector), other(collector);
  box.work();
  ASSERT_EQ(box.open("2026-11-30T02:13:13.1Z").status, 200);
  ASSERT_EQ(box.events(1, 1).status, 200);
  const Reply second = other.open("2026-11-30T02:13:13.2Z");
  EXPECT_EQ(second.status, 409) << second.body;
  EXPECT_NE(second.json().at("sentence").as_string().find("another box"), json::string::npos);
  EXPECT_EQ(other.open("").status, 409);
  EXPECT_EQ(box.run().at("identity").at("created"), "2026-11-30T02:13:13.1Z");
  EXPECT_EQ(box.open("2026-11-30T02:13:13.1Z").json().at("acked_seq"), 1) << "the same may again";
  EXPECT_EQ(Box(collector, kRun, 2).open("2026-11-30T02:13:13.2Z").status, 200)
      << "another attempt is another box";
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
  EXPECT_EQ(open(R"({"identity":{"run_id":")" + kRun + R"(","attempt":1,"created":7}})"), 200);
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
  const auto headOf = [&](std::size_t bytes) {
    std::string head = "GET /healthz HTTP/1.1\r\nHost: " + collector.address + "\r\nX: ";
    head += std::string(bytes - head.size() - 4, 'x') + "\r\n\r\n";
    return Client(collector.address).raw(head);
  };
  EXPECT_EQ(headOf(16 * 1024).status, 200);
  Reply large = headOf(16 * 1024 + 1);
  EXPECT_EQ(large.status, 431);
  EXPECT_EQ(large.headers["connection"], "close");
  EXPECT_EQ(headOf(100 * 1024).status, 431);
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
  const std::string body =
      R"({"identity":{"run_id":")" + kRun + R"(","attempt":1,"created":"2026-11-30T02:13:13Z"}})";
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
