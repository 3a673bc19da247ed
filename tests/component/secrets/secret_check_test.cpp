// The check of secrets before a run, as a process.
#include "secrets/secret_check.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor/base/fd.h"
#include "supervisor/base/wire.h"

namespace warder::secrets {
namespace {

namespace json = base::json;
using testing::HasSubstr;
using testing::Not;

struct Outcome {
  json::object message;
  int code = -1;
};

/// Runs the stage in a forked child with the descriptors that a launcher would give it.
Outcome checked(const json::object& config, const std::vector<std::string>& secrets) {
  auto text = base::sealedText("config", json::serialize(config));
  auto control = base::makeMessagePair();
  std::vector<base::UniqueFd> given;
  given.push_back(std::move(*text));
  given.push_back(std::move(control->theirs));
  for (const auto& secret : secrets) given.push_back(std::move(*base::sealedText("key", secret)));
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<int> high;
    for (const auto& fd : given) high.push_back(::fcntl(fd.get(), F_DUPFD, 100));
    for (std::size_t i = 0; i < high.size(); ++i)
      ::dup2(high[i], base::kConfigFd + static_cast<int>(i));
    ::close_range(static_cast<unsigned>(base::kConfigFd) + given.size(), ~0U, 0);
    ::_exit(secretCheckMain());
  }
  given.clear();
  Outcome outcome;
  auto received = base::receiveMessage(control->ours.get());
  if (received && *received) outcome.message = (*received)->body;
  int status = 0;
  ::waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

TEST(SecretCheck, IsReadyWhenAllSecretsCanBeLent) {
  const Outcome outcome = checked({{"names", {"a", "b"}}, {"providers", {"anthropic", ""}}},
                                  {"sk-ant-api03-fine\n", std::string(65'536, 'k')});
  EXPECT_TRUE(outcome.message.contains("ready")) << json::serialize(outcome.message);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(checked({{"names", {"a"}}}, {"sk-ant-admin01-other"}).code, 0);  // of no provider
}

TEST(SecretCheck, NamesTheSecretThatIsWrongAndNotWhatItIs) {
  const struct {
    std::string secret, sentence;
  } cases[] = {
      {"", "the secret \"b\" is empty"},
      {"hidden7", "the secret \"b\" is shorter than 8 bytes"},
      {std::string(65'537, 'k'), "the secret \"b\" is longer than 65536 bytes"},
      {"hidden hidden", "the secret \"b\" holds a space"},
      {"sk-ant-admin01-hidden", "the secret \"b\" is an admin key"},
  };
  for (const auto& one : cases) {
    const Outcome outcome =
        checked({{"names", {"a", "b"}}, {"providers", {"anthropic", "anthropic"}}},
                {"sk-ant-api03-fine", one.secret});
    ASSERT_TRUE(outcome.message.contains("failed")) << one.sentence;
    const auto& failed = outcome.message.at("failed").as_object();
    EXPECT_EQ(failed.at("step"), "secret");
    EXPECT_THAT(std::string(failed.at("sentence").as_string()), HasSubstr(one.sentence));
    EXPECT_THAT(json::serialize(outcome.message), Not(HasSubstr("hidden")));
    EXPECT_EQ(outcome.code, 1);
  }
}

TEST(SecretCheck, KnowsWhatEachProviderAndEachJobTakes) {
  const json::object config{
      {"names", {"a", "b", "c", "d"}},
      {"providers", {"anthropic", "bedrock", "github", "generic"}},
      {"injects",
       {nullptr, nullptr, nullptr,
        json::object{
            {"kind", "basic"}, {"name", ""}, {"user", ""}, {"region", ""}, {"service", ""}}}}};
  const std::string aws = "[a]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n";
  std::vector<std::string> secrets{"sk-ant-oat01-token", aws + "aws_secret_access_key = hidden12\n",
                                   "ghp_0123456789", "user:password"};
  const Outcome fine = checked(config, secrets);
  EXPECT_EQ(fine.code, 0) << json::serialize(fine.message);
  secrets[3] = "hidden-password";
  EXPECT_THAT(json::serialize(checked(config, secrets).message), HasSubstr("USER:PASSWORD"));
  secrets[1] = aws;
  EXPECT_THAT(json::serialize(checked(config, secrets).message), HasSubstr("no secret_access_key"));
}

TEST(SecretCheck, RefusesAConfigurationThatIsNone) {
  for (const json::object& config :
       {json::object{}, json::object{{"names", "a"}},
        json::object{{"names", {"a"}}, {"providers", {"anthropic", "anthropic"}}}}) {
    const Outcome outcome = checked(config, {"sk-ant-api03-fine"});
    ASSERT_TRUE(outcome.message.contains("failed"));
    EXPECT_EQ(outcome.message.at("failed").at("step"), "configuration");
  }
}

}  // namespace
}  // namespace warder::secrets
