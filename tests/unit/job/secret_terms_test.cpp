// What a secret is lent for and where it comes from, as the job says it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "supervisor/job/job_reader.h"

namespace warder::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

JobReading read(const std::string& secret) {
  const std::string text =
      "version: 1\nagent:\n  command: [\"true\"]\n  workspace: repo\n"
      "secrets:\n  key: {" +
      secret + "}\n";
  const auto no_file = [](const std::string& path) -> base::Result<std::string> {
    return base::Error{base::Kind::NotFound, "cannot open " + path, ENOENT};
  };
  return readJobText({text, "/jobs/job.yaml", {}, no_file});
}

TermsSpec termsOf(const std::string& terms) {
  const JobReading reading = read("from: {fd: 3}, " + terms);
  for (const auto& fault : reading.faults) ADD_FAILURE() << base::render(fault);
  return reading.job.secrets.at(0).terms;
}

/// The first fault, or "fine".
std::string faultOf(const std::string& terms) {
  const JobReading reading = read("from: {fd: 3}, " + terms);
  return reading.faults.empty() ? "fine" : reading.faults[0].sentence;
}

std::string listOf(std::size_t count, const std::string& item) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + item;
  return "[" + list + "]";
}

TEST(SecretTerms, are_read_as_they_are_said) {
  const TermsSpec terms = termsOf(
      "models: [claude-*], budget: {usd: 0.25, tokens: 1.5M, requests: 7, warn_at: [10%]}, "
      "concurrency: 3, provider_fetch: true, expires: 1h30m, "
      "allow: [{methods: [GET], paths: [/v1/models]}]");
  EXPECT_THAT(terms.models, ElementsAre("claude-*"));
  EXPECT_EQ(terms.budget.usd, 0.25);
  EXPECT_EQ(terms.budget.tokens, 1'500'000U);
  EXPECT_EQ(terms.budget.requests, 7U);
  EXPECT_THAT(terms.budget.warn_at_percent, ElementsAre(10));
  EXPECT_EQ(terms.concurrency, 3U);
  EXPECT_TRUE(terms.provider_fetch);
  EXPECT_EQ(terms.expires_after, std::chrono::minutes(90));
  EXPECT_THAT(terms.allow.at(0).methods, ElementsAre("GET"));
  EXPECT_THAT(terms.allow.at(0).paths, ElementsAre("/v1/models"));
}

TEST(SecretTerms, narrow_nothing_when_nothing_is_said) {
  const TermsSpec terms = read("from: {fd: 3}").job.secrets.at(0).terms;
  EXPECT_TRUE(terms.models.empty() && terms.allow.empty());
  EXPECT_FALSE(terms.budget.usd || terms.budget.tokens || terms.budget.requests);
  EXPECT_THAT(terms.budget.warn_at_percent, ElementsAre(80, 95));
  EXPECT_FALSE(terms.concurrency || terms.provider_fetch || terms.expires_after);
}

TEST(SecretTerms, have_limits_on_both_sides) {
  const std::string long_name(200, 'm');
  EXPECT_EQ(faultOf("models: " + listOf(64, "m")), "fine");
  EXPECT_THAT(faultOf("models: " + listOf(65, "m")), HasSubstr("1 to 64"));
  EXPECT_EQ(faultOf("models: [" + long_name + "]"), "fine");
  EXPECT_THAT(faultOf("models: [" + long_name + "m]"), HasSubstr("is no name of a model"));
  EXPECT_EQ(faultOf("budget: {usd: 1000000000}"), "fine");
  EXPECT_EQ(faultOf("budget: {usd: 0.000001}"), "fine");
  EXPECT_THAT(faultOf("budget: {usd: 0.0000001}"), HasSubstr("no amount"));
  EXPECT_EQ(faultOf("budget: {tokens: 1000000000000000}"), "fine");
  EXPECT_THAT(faultOf("budget: {tokens: 1000000000000001}"), HasSubstr("10^15"));
  EXPECT_EQ(faultOf("budget: {requests: 1000000000}"), "fine");
  EXPECT_THAT(faultOf("budget: {requests: 1000000001}"), HasSubstr("whole number"));
  EXPECT_EQ(faultOf("allow: " + listOf(32, "{paths: [/x]}")), "fine");
  EXPECT_THAT(faultOf("allow: " + listOf(33, "{paths: [/x]}")), HasSubstr("1 to 32"));
  EXPECT_EQ(faultOf("allow: [{paths: " + listOf(64, "/x") + "}]"), "fine");
  EXPECT_THAT(faultOf("allow: [{paths: " + listOf(65, "/x") + "}]"), HasSubstr("1 to 64"));
  EXPECT_EQ(faultOf("allow: [{paths: [/" + std::string(1023, 'x') + "]}]"), "fine");
  EXPECT_THAT(faultOf("allow: [{paths: [/" + std::string(1024, 'x') + "]}]"),
              HasSubstr("is no path"));
}

TEST(SecretTerms, take_a_point_in_time_as_an_end) {
  const TermsSpec terms = termsOf("expires: 2030-01-01T01:00:00+01:00");
  ASSERT_TRUE(terms.expires_at);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*terms.expires_at), 1'893'456'000);
}

TEST(SecretSource, is_a_program_with_words_variables_and_a_limit) {
  const JobReading reading =
      read("from: {exec: {command: [bin/key, a], env: {REGION: eu}, timeout: 2s}}, refresh: 1m");
  const SecretSpec& secret = reading.job.secrets.at(0);
  const auto& exec = std::get<ExecSource>(secret.from);
  EXPECT_THAT(exec.command, ElementsAre("/jobs/bin/key", "a"));
  EXPECT_EQ(exec.env.at("REGION"), "eu");
  EXPECT_EQ(exec.timeout, std::chrono::seconds(2));
  EXPECT_EQ(secret.refresh, std::chrono::minutes(1));
  EXPECT_FALSE(handedOf(secret.from));
}

TEST(SecretSource, of_a_program_has_at_most_64_words_and_a_bare_name_stays_one) {
  const auto words = [](std::size_t count) { return "from: {exec: " + listOf(count, "x") + "}"; };
  const JobReading most = read(words(64));
  EXPECT_TRUE(most.faults.empty());
  EXPECT_EQ(std::get<ExecSource>(most.job.secrets.at(0).from).command.front(), "x");
  EXPECT_FALSE(read(words(65)).faults.empty());
}

TEST(SecretSource, in_a_vault_names_what_is_handed_over_for_it) {
  const JobReading reading = read(
      "from: {vault: {address: \"https://v.example:8200\", path: kv/data/x, field: key, "
      "token: {env: TOKEN}}}");
  EXPECT_TRUE(reading.faults.empty());
  const auto handed = handedOf(reading.job.secrets.at(0).from);
  ASSERT_TRUE(handed);
  EXPECT_EQ(std::get<EnvSource>(*handed).variable, "TOKEN");
  EXPECT_THAT(secretVariables(reading.job), ElementsAre("TOKEN"));
}

TEST(SecretSource, has_limits_of_a_vaults_path_on_both_sides) {
  const auto path = [](const std::string& text) {
    return read("from: {vault: {address: \"https://v.example\", field: k, token: {fd: 3}, path: " +
                text + "}}")
        .faults.empty();
  };
  EXPECT_TRUE(path("kv/" + std::string(509, 'x')));
  EXPECT_FALSE(path("kv/" + std::string(510, 'x')));
  EXPECT_TRUE(path("kv/..x"));
  EXPECT_FALSE(path("kv/.."));
  EXPECT_FALSE(path("kv//x"));
}

}  // namespace
}  // namespace warder::job
