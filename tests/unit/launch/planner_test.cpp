#include "supervisor/launch/planner.h"

#include <gmock/gmock.h>

#include "supervisor/launch/box_root.h"
#include "supervisor/launch/inherited_environment.h"

namespace warder::launch {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

job::JobSpec someJob() {
  job::JobSpec job;
  job.agent.command = {"agent", "--flag"};
  job.agent.secret = "anthropic";
  job.agent.base_url_env = "AGENT_URL";
  job.agent.key_env = "AGENT_KEY";
  job::SecretSpec secret;
  secret.name = secret.provider = "anthropic";
  secret.from = job::FileSource{"/k"};
  job.secrets.push_back(secret);
  return job;
}

BoxFacts someFacts() {
  BoxFacts facts;
  facts.run_id = "r1";
  facts.root = "/spool/r1/root";
  facts.executable = "/usr/bin/agent";
  facts.doors = {{"anthropic", "http://127.0.0.1:7411", "placeholder-1"}};
  return facts;
}

TEST(Planner, TellsTheDoorUnderTheSecretsNameAndThePresetsOwn) {
  const auto plan = planAgent(someJob(), someFacts());
  EXPECT_THAT(plan.environment, Contains("ANTHROPIC_BASE_URL=http://127.0.0.1:7411"));
  EXPECT_THAT(plan.environment, Contains("ANTHROPIC_API_KEY=placeholder-1"));
  EXPECT_THAT(plan.environment, Contains("AGENT_URL=http://127.0.0.1:7411"));
  EXPECT_THAT(plan.environment, Contains("AGENT_KEY=placeholder-1"));
}

TEST(Planner, TellsTheUnixSocketOfADoorAndPointsTheAgentAtItOnlyWhenThePresetSaysSo) {
  auto job = someJob();
  auto facts = someFacts();
  facts.doors[0].socket = "/run/warder-doors/anthropic.sock";
  auto plan = planAgent(job, facts);
  EXPECT_THAT(plan.environment, Contains("ANTHROPIC_SOCKET=/run/warder-doors/anthropic.sock"));
  EXPECT_THAT(plan.environment, Not(Contains(HasSubstr("ANTHROPIC_UNIX_SOCKET="))));
  job.agent.unix_socket_env = "ANTHROPIC_UNIX_SOCKET";
  plan = planAgent(job, facts);
  EXPECT_THAT(plan.environment, Contains("ANTHROPIC_UNIX_SOCKET=/run/warder-doors/anthropic.sock"));
  EXPECT_THAT(planAgent(someJob(), someFacts()).environment,
              Not(Contains(HasSubstr("ANTHROPIC_SOCKET="))));
}

TEST(Planner, GivesASecondSecretItsOwnNamesOnly) {
  auto job = someJob();
  auto facts = someFacts();
  facts.doors.push_back({"git-hub", "http://127.0.0.1:7412", "placeholder-2"});
  const auto plan = planAgent(job, facts);
  EXPECT_THAT(plan.environment, Contains("GIT_HUB_API_KEY=placeholder-2"));
  EXPECT_THAT(plan.environment, Contains("AGENT_KEY=placeholder-1"));
}

TEST(Planner, LetsTheJobsEnvironmentWin) {
  auto job = someJob();
  job.agent.env["LANG"] = "de_DE.UTF-8";
  const auto plan = planAgent(job, someFacts());
  EXPECT_THAT(plan.environment, Contains("LANG=de_DE.UTF-8"));
  EXPECT_THAT(plan.environment, Not(Contains("LANG=C.UTF-8")));
}

TEST(Planner, GivesTheRunsTrustTheLastWordOverWhatIsInheritedAndAddedTo) {  // BC-004
  auto job = someJob();
  auto facts = someFacts();
  facts.inherited = {{"HTTPS_PROXY", "http://corp:3128"}, {"SSL_CERT_FILE", "/old.pem"}};
  job.agent.env["JAVA_TOOL_OPTIONS"] = "-Xmx1g";
  facts.trust.unset = {"HTTPS_PROXY"};
  facts.trust.set = {{"SSL_CERT_FILE", "/run/trust/bundle.pem"},
                     {"JAVA_TOOL_OPTIONS", "-Xmx1g -Dmore"}};
  const auto plan = planAgent(job, facts);
  EXPECT_THAT(plan.environment, Contains("SSL_CERT_FILE=/run/trust/bundle.pem"));
  EXPECT_THAT(plan.environment, Contains("JAVA_TOOL_OPTIONS=-Xmx1g -Dmore"));
  EXPECT_THAT(plan.environment, Not(Contains(HasSubstr("HTTPS_PROXY"))));
}

// BC-041: USER and LOGNAME are set whatever the uid.
TEST(Planner, NamesTheUserForAnyUid) {
  auto job = someJob();
  job.agent.user = {1000680000, 0};
  const auto plan = planAgent(job, someFacts());
  EXPECT_THAT(plan.environment, Contains("USER=agent"));
  EXPECT_THAT(plan.environment, Contains("HOME=/home/agent"));
  EXPECT_EQ(plan.uid, 1000680000U);
}

TEST(Planner, InPlaceKeepsTheContainersEnvironmentUnderItsOwn) {
  auto job = someJob();
  job.agent.path = {"/opt/bin", "/bin"};
  auto facts = someFacts();
  facts.root = "";
  facts.workspace = "/src";
  facts.home = "/home/node";
  facts.inherited = {{"LANG", "de_DE.UTF-8"}, {"HOME", "/root"}, {"JAVA_HOME", "/jdk"}};
  const auto plan = planAgent(job, facts);
  for (const char* variable :
       {"LANG=de_DE.UTF-8", "HOME=/home/node", "JAVA_HOME=/jdk", "PWD=/src", "PATH=/opt/bin:/bin"})
    EXPECT_THAT(plan.environment, Contains(variable));
  EXPECT_EQ(plan.working_directory, "/src");
  EXPECT_EQ(plan.home, "/home/node");
  EXPECT_EQ(planHarvest(job, facts, "/spool/r1/harvest").private_from, "");
}

TEST(Planner, TriesTheHomeThatTheJobNames) {
  auto job = someJob();
  job.agent.env["HOME"] = "/data";
  EXPECT_EQ(planAgent(job, someFacts()).home, "/data");
}

TEST(InheritedEnvironment, HoldsBackWhatSpeaksOfACredentialAndWhatTheJobLends) {
  const auto sifted = siftEnvironment(
      {"PATH=/bin", "PWD=/", "GITHUB_TOKEN=x", "anthropic_api_key=x", "DB_PASSWORD=x", "MINE=lent",
       "PGPASSWORD=x", "DB=postgres://u:p@h/d", "URL=https://h:1/a@b", "WARDER_SPOOL=/s",
       "KEYBOARD=de", "SECRETARY=y", "EMPTY=", "no equals", "=odd", "A=b=c"},
      {"MINE"});
  EXPECT_THAT(sifted.held_back,
              ElementsAre("DB", "DB_PASSWORD", "GITHUB_TOKEN", "PGPASSWORD", "anthropic_api_key"));
  EXPECT_EQ(sifted.passed, (std::map<std::string, std::string>{{"PATH", "/bin"},
                                                               {"PWD", "/"},
                                                               {"KEYBOARD", "de"},
                                                               {"SECRETARY", "y"},
                                                               {"URL", "https://h:1/a@b"},
                                                               {"EMPTY", ""},
                                                               {"A", "b=c"}}));
}

// BC-089: the list does not end with the names of yesterday.
TEST(InheritedEnvironment, HoldsBackThirtyInventedNamesOfSecretsAndWhatLoadsCode) {
  std::vector<std::string> environment = {"PATH=/bin", "LD_PRELOAD=/x.so", "NODE_OPTIONS=-r /x"};
  for (const char* vendor : {"ACME", "FOO_BAR", "X9"})
    for (const char* kind : {"KEY", "API_KEY", "TOKEN", "ACCESS_TOKEN", "SECRET", "CLIENT_SECRET",
                             "PASSWORD", "AUTH", "CREDENTIALS", "PRIVATE"})
      environment.push_back(std::string(vendor) + "_" + kind + "=hidden");
  const auto sifted = siftEnvironment(environment, {});
  EXPECT_EQ(sifted.held_back.size(), 30u);
  EXPECT_THAT(sifted.loaders, ElementsAre("LD_PRELOAD", "NODE_OPTIONS"));
  EXPECT_EQ(sifted.passed, (std::map<std::string, std::string>{{"PATH", "/bin"}}));
}

TEST(Planner, RunsTheExecutableThatWasFoundAndAppendsAPromptArgument) {
  auto job = someJob();
  job.agent.prompt = "do it";
  job.agent.prompt_by = job::PromptBy::Argument;
  EXPECT_THAT(planAgent(job, someFacts()).argv, ElementsAre("/usr/bin/agent", "--flag", "do it"));
}

TEST(Planner, HarvestHasTheAgentsIdentityButNoneOfItsEnvironment) {
  auto job = someJob();
  job.agent.env["SECRET_LOOKING"] = "x";
  job.agent.user = {1234, 5678};
  const auto plan = planHarvest(job, someFacts(), "/spool/r1/harvest");
  EXPECT_TRUE(plan.own_stage);
  EXPECT_EQ(plan.uid, 1234U);
  EXPECT_EQ(plan.gid, 5678U);
  EXPECT_EQ(plan.private_to, kPrivateInBox);
  for (const auto& variable : plan.environment) {
    EXPECT_THAT(variable, Not(HasSubstr("SECRET_LOOKING")));
    EXPECT_THAT(variable, Not(HasSubstr("API_KEY")));
  }
}

TEST(ExecPlan, ReadsBackWhatItWrote) {
  ExecPlan plan = planAgent(someJob(), someFacts());
  plan.fds = {5, 6, 7, 8, 9, 10, 11};
  plan.one_id = true;
  const ExecPlan copy = execPlanFromJson(toJson(plan));
  EXPECT_EQ(copy.argv, plan.argv);
  EXPECT_EQ(copy.environment, plan.environment);
  EXPECT_EQ(copy.root, plan.root);
  EXPECT_EQ(copy.uid, plan.uid);
  EXPECT_EQ(copy.umask, plan.umask);
  EXPECT_EQ(copy.home, plan.home);
  EXPECT_TRUE(copy.one_id);
  EXPECT_EQ(copy.fds.network_namespace, 8);
  EXPECT_EQ(copy.fds.stage_extra, 10);
  EXPECT_EQ(copy.fds.cgroup, 11);
}

TEST(ExecPlan, RefusesAnObjectThatIsNone) {
  EXPECT_ANY_THROW(execPlanFromJson({{"argv", 1}}));
}

// BC-041: a passwd line for any uid, and none twice.
TEST(BoxRoot, WritesAPasswdLineForAnyUid) {
  EXPECT_THAT(passwdText(1000680000, 0), HasSubstr("agent:x:1000680000:0:agent:/home/agent:"));
  EXPECT_THAT(passwdText(0, 0), Not(HasSubstr("agent:")));
  EXPECT_THAT(passwdText(65534, 65534), Not(HasSubstr("nobody:")));
  EXPECT_THAT(groupText(0), Not(HasSubstr("agent:")));
}

TEST(BoxRoot, NamesOneServerWhetherNamesAreResolvedOrRefused) {
  EXPECT_THAT(resolverText(true), HasSubstr("\nnameserver 127.0.0.1\n"));
  EXPECT_THAT(resolverText(false), HasSubstr("not resolved in this box"));
  EXPECT_THAT(resolverText(false), HasSubstr("\nnameserver 127.0.0.1\n"));
}

TEST(SwappedIds, SwapsTwoAndLeavesAllOthersAsTheyAre) {
  EXPECT_EQ(swappedIds(0, 1000), "0 1000 1\n1 1 999\n1000 0 1\n1001 1001 4294966294\n");
  EXPECT_EQ(swappedIds(1000, 1001), "0 0 1000\n1000 1001 1\n1001 1000 1\n1002 1002 4294966293\n");
}

TEST(SwappedIds, AreTheSameWhicheverComesFirst) {
  EXPECT_EQ(swappedIds(7, 3), swappedIds(3, 7));
}

TEST(SwappedIds, OfEqualIdsChangeNothing) {
  EXPECT_EQ(swappedIds(5, 5), "0 0 5\n5 5 1\n6 6 4294967289\n");
}

}  // namespace
}  // namespace warder::launch
