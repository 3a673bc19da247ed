#include "supervisor/job/job_reader.h"

#include <gmock/gmock.h>

#include <csignal>

#include "supervisor/job/digest.h"

namespace warder::job {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

base::Result<std::string> noFile(const std::string& path) {
  return base::Error{base::Kind::NotFound, "cannot open " + path, ENOENT};
}

JobReading read(const std::string& text, const Overrides& overrides = {}) {
  return readJobText({text, "/jobs/job.yaml", overrides, noFile});
}

std::string faultsOf(const std::string& text, const Overrides& overrides = {}) {
  std::string all;
  for (const auto& fault : read(text, overrides).faults) all += base::render(fault) + "\n";
  return all;
}

/// A sound job with more lines at its end.
std::string sound(const std::string& more = "", const std::string& agent = "") {
  return "version: 1\nagent:\n  command: [\"true\"]\n  workspace: repo\n" + agent + more;
}

constexpr const char* kClaude =
    "version: 1\n"
    "agent:\n"
    "  preset: claude-code\n"
    "  prompt: Make the failing test pass.\n"
    "  workspace: ./repo\n"
    "secrets:\n"
    "  anthropic:\n"
    "    from: {file: key}\n";

TEST(JobReader, ASmallJobGetsDocumentedDefaults) {
  const JobReading reading = read(sound());
  ASSERT_THAT(reading.faults, IsEmpty());
  const JobSpec& job = reading.job;
  EXPECT_EQ(job.file, "/jobs/job.yaml");
  EXPECT_EQ(job.digest, digestOf(sound()));
  EXPECT_EQ(job.agent.workspace, "/jobs/repo");
  EXPECT_EQ(job.agent.user.uid, 1000U);
  EXPECT_EQ(job.agent.umask, 022U);
  EXPECT_EQ(job.agent.tmp_size, 1ULL << 30);
  EXPECT_EQ(job.agent.prompt_by, PromptBy::None);
  EXPECT_THAT(job.memory.warn_at_percent, ElementsAre(70, 80, 90));
  EXPECT_FALSE(job.limits.wall);
  EXPECT_EQ(job.limits.grace, milliseconds(5000));
  EXPECT_EQ(job.results.directory, "/jobs/warder-results");
  EXPECT_EQ(job.results.max_size, 1ULL << 30);
  EXPECT_EQ(job.results.deliver_within, milliseconds(600'000));
  EXPECT_EQ(reading.policy.from, PolicyAsk::From::Nothing);
}

constexpr const char* kEveryKey =
    "version: 1\n"
    "agent:\n"
    "  preset: claude-code\n"
    "  prompt: |\n"
    "    Make the failing test pass.\n"
    "  workspace: /srv/repo\n"
    "  user: 1001:1002\n"
    "  executable: ../agents/claude\n"
    "  read_only: [/opt/tools, data]\n"
    "  env: {CI: \"1\", NO_PROXY: none}\n"
    "  umask: \"077\"\n"
    "  tmp_size: 2GiB\n"
    "secrets:\n"
    "  anthropic:\n"
    "    from: {env: MY_KEY}\n"
    "    provider: anthropic\n"
    "    base_url: https://api.example:8443/prefix\n"
    "    ca_file: ca.pem\n"
    "  second: {from: {fd: 5}}\n"
    "policy: ./policy.yaml\n"
    "memory: {warn_at: [50%, 95%]}\n"
    "limits: {wall: 4h, grace: 250ms}\n"
    "results:\n"
    "  artifacts: [\"out/**\", report.pdf]\n"
    "  patch: true\n"
    "  max_size: 5M\n"
    "  dir: /var/results\n"
    "  to:\n"
    "    - {collector: \"https://results.example\", token: {file: token}, ca_file: /ca.pem}\n"
    "  deliver_within: 90s\n";

TEST(JobReader, EveryKeyOfTheAgentIsRead) {
  const JobReading reading = read(kEveryKey);
  ASSERT_THAT(reading.faults, IsEmpty());
  const JobSpec& job = reading.job;
  EXPECT_EQ(job.agent.prompt, "Make the failing test pass.\n");
  EXPECT_EQ(job.agent.prompt_by, PromptBy::Stdin);
  EXPECT_EQ(job.agent.user.uid, 1001U);
  EXPECT_EQ(job.agent.user.gid, 1002U);
  EXPECT_THAT(job.agent.executables, ElementsAre("/agents/claude"));
  EXPECT_THAT(job.agent.command,
              ElementsAre("/agents/claude", "-p", "--output-format", "stream-json", "--verbose",
                          "--dangerously-skip-permissions"));
  EXPECT_THAT(job.agent.read_only, ElementsAre("/opt/tools", "/jobs/data"));
  EXPECT_EQ(job.agent.env.at("CI"), "1");
  EXPECT_EQ(job.agent.env.at("NO_PROXY"), "none");
  EXPECT_EQ(job.agent.env.at("DISABLE_AUTOUPDATER"), "1");
  EXPECT_EQ(job.agent.umask, 077U);
  EXPECT_EQ(job.agent.tmp_size, 2ULL << 30);
  EXPECT_EQ(job.agent.secret, "anthropic");
  EXPECT_EQ(job.agent.base_url_env, "ANTHROPIC_BASE_URL");
  EXPECT_EQ(job.agent.key_env, "ANTHROPIC_API_KEY");
  EXPECT_TRUE(job.agent.refuses_root);
  EXPECT_EQ(job.agent.stop_signal, SIGTERM);
  EXPECT_EQ(job.agent.last_words, LastWords::ClaudeStreamJson);
}

TEST(JobReader, EveryOtherKeyIsRead) {
  const JobReading reading = read(kEveryKey);
  const JobSpec& job = reading.job;
  ASSERT_EQ(job.secrets.size(), 2U);
  EXPECT_EQ(std::get<EnvSource>(job.secrets[0].from).variable, "MY_KEY");
  EXPECT_EQ(job.secrets[0].base_url, "https://api.example:8443/prefix");
  EXPECT_EQ(job.secrets[0].ca_file, "/jobs/ca.pem");
  EXPECT_EQ(std::get<FdSource>(job.secrets[1].from).fd, 5);
  EXPECT_EQ(job.secrets[1].provider, "second");
  EXPECT_EQ(reading.policy.from, PolicyAsk::From::File);
  EXPECT_EQ(reading.policy.name, "/jobs/policy.yaml");
  EXPECT_EQ(reading.policy.where, "/jobs/job.yaml:20:9");
  EXPECT_THAT(job.memory.warn_at_percent, ElementsAre(50, 95));
  EXPECT_EQ(job.limits.wall, milliseconds(4 * 3600 * 1000));
  EXPECT_EQ(job.limits.grace, milliseconds(250));
  EXPECT_THAT(job.results.artifacts, ElementsAre("out/**", "report.pdf"));
  EXPECT_TRUE(job.results.patch);
  EXPECT_EQ(job.results.max_size, 5'000'000U);
  EXPECT_EQ(job.results.directory, "/var/results");
  ASSERT_EQ(job.results.to.size(), 1U);
  EXPECT_EQ(job.results.to[0].url, "https://results.example");
  EXPECT_EQ(std::get<FileSource>(job.results.to[0].token).path, "/jobs/token");
  EXPECT_EQ(job.results.deliver_within, milliseconds(90'000));
  EXPECT_THAT(secretVariables(job), ElementsAre("MY_KEY"));
}

TEST(JobReader, AllFaultsAreToldAtOnceEachWithItsPlace) {
  const std::string faults = faultsOf(
      "version: 2\n"
      "agnet: {}\n"
      "agent:\n"
      "  command: node agent.js\n"
      "  user: root\n"
      "  umask: 022\n"
      "  tmp_size: 8192\n"
      "  env: {A-B: x, C: no}\n"
      "secrets:\n"
      "  Anthropic: {from: {file: a, fd: 3}}\n"
      "  b: {}\n"
      "policy: [x]\n"
      "memory: {warn_at: [90%, 80%, 7]}\n"
      "limits: {wall: 0s, grace: 5}\n"
      "results:\n"
      "  artifacts: [/etc/passwd, ../x, a//b]\n"
      "  patch: 'true'\n"
      "  to: [{collector: \"http://results.example\"}]\n");
  for (const char* part :
       {"job.yaml:1:10: version: only 1 is known",
        "job.yaml:2:1: unknown key \"agnet\"; did you mean \"agent\"?",
        "job.yaml:4:12: agent.command takes a list of text; this is a single value",
        "job.yaml:4:3: agent.workspace is missing",
        "job.yaml:5:9: agent.user: \"root\"",
        "job.yaml:6:10: agent.umask: \"022\" is octal for one parser",
        "job.yaml:7:13: agent.tmp_size: \"8192\" has no unit; write for example 8192Mi",
        "job.yaml:8:9: agent.env: \"A-B\" is no name",
        "job.yaml:8:20: agent.env.C takes text",
        "secrets: \"Anthropic\" is no name",
        "secrets.Anthropic.from takes exactly one of",
        "secrets.b.from is missing",
        "job.yaml:12:9: policy takes text; this is a list",
        "memory.warn_at: \"7\" is no percentage",
        "memory.warn_at must rise",
        "limits.wall is 0",
        "limits.grace: \"5\" has no unit",
        "\"/etc/passwd\" begins with /",
        "\"../x\" has a .. segment",
        "\"a//b\" has an empty",
        "results.patch takes true or false",
        "\"http://results.example\" must begin with https://",
        "results.to[0].token is missing"}) {
    EXPECT_THAT(faults, HasSubstr(part));
  }
}

TEST(JobReader, UserIsReadWithAndWithoutQuotes) {
  EXPECT_EQ(read(sound("", "  user: 1000:50\n")).job.agent.user.gid, 50U);
  EXPECT_EQ(read(sound("", "  user: \"0:0\"\n")).job.agent.user.uid, 0U);
  EXPECT_EQ(read(sound("", "  user: 4294967294:1\n")).job.agent.user.uid, 4294967294U);
  for (const char* user : {"4294967295:1", "1000", "'1000:'", ":1000", "-1:0", "01:1", "a:b",
                           "1:2:3", "0x1:1", "1000 :1", "~"}) {
    EXPECT_THAT(faultsOf(sound("", std::string("  user: ") + user + "\n")), HasSubstr("agent.user"))
        << user;
  }
}

TEST(JobReader, IdsOfTheSupervisorsOwnServicesAreRefused) {
  const auto with = [](const std::string& user) {
    return faultsOf(sound("", "  user: " + user + "\n"));
  };
  for (const char* user : {"64200:1", "64201:1", "64202:1", "64203:1", "1:64200", "1:64203"}) {
    EXPECT_THAT(with(user), HasSubstr("agent.user: the ids 64200 to 64203 belong to Warder's own"));
  }
  EXPECT_EQ(with("64199:64199"), "");
  EXPECT_EQ(with("64204:64204"), "");
}

TEST(JobReader, ExactlyOneOfPresetAndCommandAndAtMostOnePrompt) {
  const std::string head = "version: 1\nagent:\n  workspace: .\n";
  EXPECT_THAT(faultsOf(head), HasSubstr("agent needs preset or command"));
  EXPECT_THAT(faultsOf(head + "  preset: claude-code\n  command: [x]\n"),
              HasSubstr("exclude each other"));
  EXPECT_THAT(faultsOf(head + "  command: [x]\n  prompt: a\n  prompt_file: b\n"),
              HasSubstr("agent.prompt and agent.prompt_file exclude each other"));
  EXPECT_THAT(faultsOf(head + "  command: []\n"), HasSubstr("begins with the program"));
  EXPECT_THAT(faultsOf(head + "  command: ['']\n"), HasSubstr("begins with the program"));
  EXPECT_THAT(faultsOf(head + "  command: [x]\n  executable: z\n"),
              HasSubstr("agent.executable belongs to a preset"));
  EXPECT_THAT(faultsOf(head + "  command: [x]\n  prompt: ''\n"), HasSubstr("the prompt is empty"));
  EXPECT_THAT(faultsOf(head + "  command: [x]\n  prompt_file: p.txt\n"),
              HasSubstr("agent.prompt_file: cannot open /jobs/p.txt: No such file"));
}

TEST(JobReader, APresetThatNeedsAPromptOrASecretSaysSo) {
  const std::string faults = faultsOf("version: 1\nagent: {preset: claude-code, workspace: .}\n");
  EXPECT_THAT(faults, HasSubstr("preset claude-code needs one (prompt or prompt_file)"));
  EXPECT_THAT(faults, HasSubstr("job.yaml:2:17: secrets.anthropic is missing"));
}

TEST(JobReader, ACommandGetsItsPromptOnStandardInput) {
  const JobReading reading = read(sound("", "  prompt: hello\n"));
  EXPECT_EQ(reading.job.agent.prompt_by, PromptBy::Stdin);
}

TEST(JobReader, UnknownPresetSuggestsTheNearest) {
  EXPECT_THAT(faultsOf("version: 1\nagent: {preset: claud-code, workspace: .}\n"),
              HasSubstr("\"claud-code\" is not shipped (a file is named with a slash, as "
                        "./claud-code.yaml); did you mean \"claude-code\"?"));
  EXPECT_THAT(faultsOf("version: 1\nagent: {preset: ./p.yaml, workspace: .}\n"),
              HasSubstr("agent.preset: cannot open /jobs/p.yaml"));
}

TEST(JobReader, APresetFileOfOnesOwnIsReadAndItsFaultsNameIt) {
  const auto give = [](const std::string& text) {
    return [text](const std::string&) { return base::Result<std::string>(text); };
  };
  const std::string job = "version: 1\nagent: {preset: ./p.yaml, prompt: x, workspace: .}\n";
  const JobReading sound_one =
      readJobText({job,
                   "/jobs/job.yaml",
                   {},
                   give("version: 1\nname: mine\nexecutable: [mine]\nprompt: argument\n")});
  EXPECT_THAT(sound_one.faults, IsEmpty());
  EXPECT_EQ(sound_one.preset_file, "/jobs/p.yaml");
  EXPECT_EQ(sound_one.job.agent.prompt_by, PromptBy::Argument);
  const JobReading broken = readJobText(
      {job, "/jobs/job.yaml", {}, give("version: 1\nname: mine\nexecutable: [m]\nprompt: stdi\n")});
  ASSERT_FALSE(broken.faults.empty());
  EXPECT_EQ(broken.faults[0].where, "/jobs/p.yaml:4:9");
  EXPECT_THAT(broken.faults[0].sentence, HasSubstr("did you mean \"stdin\"?"));
}

TEST(JobReader, WhatTheBrokerSetsCannotBeSetByTheJob) {
  for (const char* name : {"ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_SOCKET"}) {
    const std::string text = std::string(kClaude) + "";
    const std::string with_env = std::string(kClaude).replace(
        std::string(kClaude).find("  workspace"), 0, std::string("  env: {") + name + ": x}\n");
    EXPECT_THAT(faultsOf(with_env),
                HasSubstr(std::string("job.yaml:5:9: agent.env.") + name + " is set by the broker"))
        << text;
  }
  EXPECT_THAT(
      faultsOf(sound("secrets: {my-llm: {from: {fd: 3}}}\n", "  env: {MY_LLM_API_KEY: x}\n")),
      HasSubstr("agent.env.MY_LLM_API_KEY is set by the broker"));
}

// BC-001: the agent would exit at once, and nobody would know why.
TEST(JobReader, Bc001AnAgentThatRefusesRootIsAWarningAsRoot) {
  const auto with = [](const std::string& lines) {
    std::string text = kClaude;
    return read(text.replace(text.find("  workspace"), 0, lines));
  };
  const JobReading root = with("  user: 0:0\n");
  EXPECT_THAT(root.faults, IsEmpty());
  ASSERT_EQ(root.warnings.size(), 1U);
  EXPECT_EQ(root.warnings[0].where, "/jobs/job.yaml:5:9");
  EXPECT_THAT(root.warnings[0].sentence, HasSubstr("refuses to work as root"));
  EXPECT_THAT(with("  user: 0:0\n  env: {IS_SANDBOX: \"1\"}\n").warnings, IsEmpty());
  EXPECT_THAT(with("  user: 0:0\n  env: {IS_SANDBOX: \"0\"}\n").warnings.size(), 1U);
  EXPECT_THAT(with("  user: 1:1\n").warnings, IsEmpty());
  EXPECT_THAT(read(kClaude).warnings, IsEmpty());
}

TEST(JobReader, TheCommandLineGoesFirst) {
  Overrides overrides;
  overrides.workspace = "/other";
  overrides.results = "/elsewhere";
  overrides.command = {"sh", "-c", "env"};
  const JobReading reading =
      read("version: 1\nagent: {preset: claude-code, user: 0:0}\n", overrides);
  EXPECT_THAT(reading.faults, IsEmpty());
  EXPECT_THAT(reading.warnings, IsEmpty());
  EXPECT_EQ(reading.job.agent.workspace, "/other");
  EXPECT_EQ(reading.job.results.directory, "/elsewhere");
  EXPECT_THAT(reading.job.agent.command, ElementsAre("sh", "-c", "env"));
  EXPECT_THAT(reading.job.agent.executables, ElementsAre("sh"));
  EXPECT_EQ(reading.job.agent.prompt_by, PromptBy::None);
  EXPECT_EQ(reading.job.agent.last_words, LastWords::None);
}

TEST(JobReader, APolicyIsShippedAFileOrInline) {
  EXPECT_EQ(read(kClaude).policy.from, PolicyAsk::From::Shipped);
  EXPECT_EQ(read(kClaude).policy.name, "claude-code");
  EXPECT_EQ(read(kClaude).job.policy_source, "claude-code");
  EXPECT_EQ(read(sound("policy: mine.yaml\n")).policy.name, "/jobs/mine.yaml");
  const JobReading shipped = read(sound("policy: claude-code\n"));
  EXPECT_EQ(shipped.policy.from, PolicyAsk::From::Shipped);
  const JobReading own = read(sound("policy: {allow: [a.example]}\n"));
  EXPECT_EQ(own.policy.from, PolicyAsk::From::Inline);
  ASSERT_TRUE(own.policy.node);
  EXPECT_EQ(own.policy.node->entries[0].key, "allow");
  EXPECT_EQ(own.job.policy_source, "inline");
}

TEST(JobReader, NumbersOfSecretsAndCollectorsAreTestedOnBothSides) {
  const auto secrets = [](int count) {
    std::string text = "secrets:\n";
    for (int i = 0; i < count; ++i) text += "  s" + std::to_string(i) + ": {from: {fd: 3}}\n";
    return faultsOf(sound(text));
  };
  EXPECT_EQ(secrets(16), "");
  EXPECT_THAT(secrets(17), HasSubstr("more than 16"));
  const auto collectors = [](int count) {
    std::string text = "results:\n  to:\n";
    for (int i = 0; i < count; ++i) {
      text += "    - {collector: \"https://c.example\", token: {fd: 3}}\n";
    }
    return faultsOf(sound(text));
  };
  EXPECT_EQ(collectors(8), "");
  EXPECT_THAT(collectors(9), HasSubstr("more than 8"));
}

TEST(JobReader, TmpSizeAndMarksAreTestedOnBothSides) {
  EXPECT_EQ(faultsOf(sound("", "  tmp_size: 1MiB\n")), "");
  EXPECT_THAT(faultsOf(sound("", "  tmp_size: 1023Ki\n")), HasSubstr("less than 1MiB"));
  EXPECT_EQ(faultsOf(sound("memory: {warn_at: [1%,2%,3%,4%,5%,6%,7%,8%,9%,99%]}\n")), "");
  EXPECT_THAT(faultsOf(sound("memory: {warn_at: [1%,2%,3%,4%,5%,6%,7%,8%,9%,10%,11%]}\n")),
              HasSubstr("1 to 10 marks"));
  EXPECT_THAT(faultsOf(sound("memory: {warn_at: []}\n")), HasSubstr("1 to 10 marks"));
  EXPECT_THAT(faultsOf(sound("memory: {warn_at: [70%, 70%]}\n")), HasSubstr("must rise"));
}

TEST(JobReader, AJobThatCannotBeReadIsOneFault) {
  const JobReading reading = readJob("/nonexistent/job.yaml");
  ASSERT_EQ(reading.faults.size(), 1U);
  EXPECT_THAT(base::render(reading.faults[0]), HasSubstr("/nonexistent/job.yaml: the job: "));
  EXPECT_THAT(reading.faults[0].sentence, HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace warder::job
