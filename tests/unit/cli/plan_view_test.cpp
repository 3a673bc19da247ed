// The plan that `warder check` prints: effective values (BC-080, BC-128), sources but no secrets.
#include "supervisor/cli/plan_view.h"

#include <gmock/gmock.h>

namespace warder::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

init::Orders orders() {
  init::Orders orders;
  job::JobSpec& job = orders.job;
  job.file = "/jobs/job.yaml";
  job.agent.command = {"sh", "-c", "echo 'a b'"};
  job.agent.workspace = "/jobs/repo";
  job.agent.umask = 027;
  job.agent.tmp_size = 4'000'000'000;
  job.agent.env = {{"CI", "1"}, {"ODD", "\x1b[2J"}};
  job.secrets = {{"anthropic", "anthropic", job::FileSource{"/keys/a"}, "", ""},
                 {"other", "anthropic", job::EnvSource{"OTHER_KEY"}, "", ""}};
  job.limits.wall = std::chrono::minutes(90);
  job.results.artifacts = {"out/**"};
  job.results.max_size = 1ULL << 30;
  job.results.directory = "/jobs/warder-results";
  job.policy_source = "inline";
  orders.policy.allow = {{"a.example", 443, {"POST"}, {"/v1/*"}, "/jobs/job.yaml:9"}};
  orders.executable = "/usr/bin/sh";
  return orders;
}

secrets::Grant grantFor(const std::string& host) {
  secrets::Grant grant;
  grant.placeholder = "PLACEHOLDER";
  grant.upstream = {true, host, 443, "/base", ""};
  return grant;
}

TEST(PlanView, ShowsEffectiveValues) {
  const init::Orders given = orders();
  const std::string text = planText({given, {grantFor("a.example"), grantFor("::1")}, false});
  for (const char* part :
       {"/usr/bin/sh -c \"echo 'a b'\"", "1000:1000, umask 0027", "4000000000 bytes (3.725 GiB)",
        "anthropic from file /keys/a, lent for https://a.example:443/base",
        "other from variable OTHER_KEY, lent for https://[::1]:443/base", "1h30m",
        "allow  POST a.example:443 /v1/*  (/jobs/job.yaml:9)", "out/**, at most 1073741824 bytes",
        "70%, 80%, 90%", "mechanism netns", "have a uid each"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("missing here")));
  EXPECT_THAT(text, Not(HasSubstr("PLACEHOLDER")));
}

TEST(PlanView, NamesTheWallsThatAnOrdinaryUserLacks) {
  const init::Orders given = orders();
  const std::string text = planText({given, {}, true});
  EXPECT_THAT(text, HasSubstr("missing here"));
  EXPECT_THAT(text, HasSubstr("your own uid"));
}

TEST(PlanView, SaysSoWhenTheAgentIsRoot) {
  init::Orders given = orders();
  given.job.agent.user = {0, 0};
  EXPECT_THAT(planText({given, {}, false}), HasSubstr("the agent is uid 0"));
}

TEST(PlanView, EscapesWhatCouldSteerATerminal) {
  const init::Orders given = orders();
  EXPECT_EQ(planText({given, {}, false}).find('\x1b'), std::string::npos);
}

TEST(PlanView, JsonHasUnitsInItsNames) {
  const init::Orders given = orders();
  const auto plan = planJson({given, {grantFor("a.example"), grantFor("b.example")}, false});
  EXPECT_EQ(plan.at("agent").at("tmp_size_bytes").as_uint64(), 4'000'000'000U);
  EXPECT_EQ(plan.at("agent").at("argv").at(0).as_string(), "/usr/bin/sh");
  EXPECT_EQ(plan.at("agent").at("umask").as_string(), "0027");
  EXPECT_EQ(plan.at("limits").at("wall_ms").as_int64(), 5'400'000);
  EXPECT_EQ(plan.at("secrets").at(1).at("upstream").as_string(), "https://b.example:443/base");
  EXPECT_EQ(plan.at("walls_missing").as_array().size(), 0U);
}

}  // namespace
}  // namespace warder::cli
