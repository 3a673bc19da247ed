#include "collector/target.h"

#include <gtest/gtest.h>

namespace warder::collector {
namespace {

const std::string kRun = "3f1c2a54-0000-4000-8000-000000000001";
const std::string kDigest(64, 'a');

Resource resourceOf(const std::string& text) {
  return parseTarget(text).resource;
}

TEST(Target, KnowsExactlyTheAddressesOfTheProtocol) {
  EXPECT_EQ(resourceOf("/healthz"), Resource::Health);
  EXPECT_EQ(resourceOf("/v1/runs"), Resource::Runs);
  EXPECT_EQ(resourceOf("/v1/runs/" + kRun), Resource::Run);
  const std::string attempt = "/v1/runs/" + kRun + "/attempts/1";
  EXPECT_EQ(resourceOf(attempt + "/open"), Resource::Open);
  EXPECT_EQ(resourceOf(attempt + "/events"), Resource::Events);
  EXPECT_EQ(resourceOf(attempt + "/report"), Resource::Report);
  const Target blob = parseTarget(attempt + "/blobs/" + kDigest);
  EXPECT_EQ(blob.resource, Resource::Blob);
  EXPECT_EQ(blob.run, kRun);
  EXPECT_EQ(blob.attempt, 1u);
  EXPECT_EQ(blob.blob, kDigest);
}

TEST(Target, KnowsThePage) {
  EXPECT_EQ(parseTarget("/").asset, "index.html");
  EXPECT_EQ(parseTarget("/runs/" + kRun).asset, "run.html");
  EXPECT_EQ(parseTarget("/style.css").asset, "style.css");
  EXPECT_EQ(parseTarget("/?x=1").asset, "index.html");
}

TEST(Target, KnowsNothingElse) {
  const std::string attempt = "/v1/runs/" + kRun + "/attempts/1";
  for (const std::string& text : {
           std::string(),
           std::string("*"),
           std::string("http://h/v1/runs"),
           std::string("//v1/runs"),
           std::string("/v1/runs/"),
           std::string("/v1"),
           std::string("/v1/other"),
           std::string("/main.cpp"),
           std::string("/index.html"),
           std::string("/../style.css"),
           std::string("/page/../style.css"),
           std::string("/%2e%2e/style.css"),
           std::string("/style.css%00"),
           std::string("/style%2ecss"),
           std::string("/v1/%72uns"),
           std::string("/runs/") + kRun + "/",
           "/v1/runs/" + kRun + "/attempts",
           attempt,
           attempt + "/",
           attempt + "/open/",
           attempt + "/events/x",
           attempt + "/blobs",
           attempt + "/blobs/../report",
           attempt + "/blobs/" + kDigest + "a",
           attempt + "/blobs/" + std::string(63, 'a'),
           attempt + "/blobs/" + std::string(64, 'A'),
           attempt + "/blobs/" + std::string(64, 'g'),
           "/v1/runs/" + kRun + "/attempts/0/open",
           "/v1/runs/" + kRun + "/attempts/01/open",
           "/v1/runs/" + kRun + "/attempts/-1/open",
           "/v1/runs/" + kRun + "/attempts/1000001/open",
           "/v1/runs/" + kRun + "/attempts/1e3/open",
           attempt + "/open\r\nX: y",
           attempt + "/open\\",
           attempt + "/open?x",
           attempt + "/events?after=",
           attempt + "/events?after=-1",
           attempt + "/events?after=99999999999999999999",
           attempt + "/events?before=1",
           std::string("/v1/runs?before=x"),
           std::string("/v1/runs?"),
           std::string("/healthz?x=y"),
       })
    EXPECT_EQ(resourceOf(text), Resource::None) << text;
}

TEST(Target, TakesRunIdsInOneSpellingOnly) {
  EXPECT_TRUE(isRunId(kRun));
  for (const char* id :
       {"", "3f1c2a54-0000-4000-8000-00000000000", "../../../../../../etc/passwd",
        "3f1c2a54-0000-4000-8000-0000000000011", "3F1C2A54-0000-4000-8000-000000000001",
        "3f1c2a5400000-4000-8000-000000000001", "3f1c2a54-0000-4000-8000-00000000000'",
        "{f1c2a54-0000-4000-8000-000000000001"})
    EXPECT_FALSE(isRunId(id)) << id;
}

TEST(Target, ReadsTheCursorOfEvents) {
  const std::string events = "/v1/runs/" + kRun + "/attempts/7/events";
  EXPECT_EQ(parseTarget(events).after, 0u);
  EXPECT_EQ(parseTarget(events + "?after=12").after, 12u);
  EXPECT_EQ(parseTarget(events + "?after=9223372036854775807").after, 9223372036854775807u);
  EXPECT_EQ(resourceOf(events + "?after=9223372036854775808"), Resource::None);
}

TEST(Target, BoundsTheLength) {
  const std::string path = "/v1/runs?before=" + kRun;
  EXPECT_EQ(resourceOf("/?" + std::string(kMaxTarget - 2, 'x')), Resource::Asset);
  EXPECT_EQ(resourceOf("/?" + std::string(kMaxTarget - 1, 'x')), Resource::None);
  EXPECT_EQ(parseTarget(path).before, kRun);
}

TEST(Target, CountsAttemptsToTheLimit) {
  const std::string runs = "/v1/runs/" + kRun + "/attempts/";
  EXPECT_EQ(parseTarget(runs + "1000000/open").attempt, kMaxAttempt);
  EXPECT_EQ(resourceOf(runs + "1000001/open"), Resource::None);
}

}  // namespace
}  // namespace warder::collector
