// The reading side of the real collector: page, lists, artifacts, rights.
#include <gtest/gtest.h>

#include "tests/support/box_client.h"

namespace warder::collector {
namespace {

using support::Box;
using support::Client;
using support::CollectorProcess;
using support::kRun;
using support::Reply;
namespace json = boost::json;

class CollectorReading : public ::testing::Test {
 protected:
  CollectorProcess collector;
};

TEST_F(CollectorReading, ServesItsPageWithoutGivingScriptsAChance) {
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

TEST_F(CollectorReading, HandsArtifactsOutAsAttachmentsOnly) {
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

TEST_F(CollectorReading, ListsRunsNewestFirstInParts) {
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

TEST_F(CollectorReading, IsNotTakenDownByTheNumbersOfOneRun) {
  Box hostile(collector), honest(collector, "3f1c2a54-0000-4000-8000-000000000002");
  honest.open();
  hostile.open();
  json::value deep = 1;
  for (int i = 0; i < 55; ++i) deep = json::array{deep};
  for (int i = 0; i < 2; ++i) hostile.lines.add("llm.call", {{"status", 200}, {"cost_usd", 1e308}});
  hostile.lines.add("run.finished", {{"outcome", {{"class", "ok"}, {"deep", deep}, {"x", 1e308}}}});
  ASSERT_EQ(hostile.events(1, 3).status, 200);
  for (int start = 0; start < 2; ++start) {
    Client client(collector.address);
    const Reply list = client.ask("GET", "/v1/runs");
    ASSERT_EQ(list.status, 200) << list.body;
    EXPECT_EQ(list.json().at("runs").as_array().size(), 2u);
    const Reply run = client.ask("GET", "/v1/runs/" + kRun);
    ASSERT_EQ(run.status, 200) << run.body;
    EXPECT_EQ(run.json().at("summary").at("cost_usd").to_number<std::uint64_t>(),
              9007199254740992u);
    collector.end(SIGKILL);
    collector.startAgain();
  }
}

TEST_F(CollectorReading, ShowsTheNewestAttemptOfARun) {
  Box first(collector, kRun, 1), second(collector, kRun, 2);
  first.open();
  second.open();
  EXPECT_EQ(first.run().at("attempt"), 2);
  EXPECT_EQ(first.run().at("attempts").as_array().size(), 2u);
  EXPECT_EQ(Client(collector.address).ask("GET", "/v1/runs").json().at("runs").as_array().size(),
            1u);
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

TEST_F(CollectorReading, AnswersToNamesOfThisMachineOnlyWhileReadingIsOpen) {
  Client client(collector.address);
  EXPECT_EQ(client.raw("GET /v1/runs HTTP/1.1\r\nHost: attacker.example\r\n\r\n").status, 421);
  EXPECT_EQ(client.raw("GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n").status, 200);
}

}  // namespace
}  // namespace warder::collector
