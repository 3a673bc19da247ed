// What a run answers to who wants it to end.
#include "supervisor/cli/command_cancel.h"

#include <gmock/gmock.h>

#include "supervisor/base/wire.h"
#include "supervisor/cli/run_finder.h"

namespace warder::cli {
namespace {

using base::Kind;
using ::testing::HasSubstr;
using ::testing::Not;

base::json::object answerOf(const char* text) {
  return base::parseJson(text).value().as_object();
}

TEST(Cancel, OnlyOneAnswerSaysThatTheRunEnds) {
  EXPECT_TRUE(checkCancelling(answerOf(R"({"cancelling":true})")));
  for (const char* odd :
       {R"({})", R"({"cancelling":false})", R"({"cancelling":1})", R"({"cancelling":"true"})",
        R"({"cancelling":null})", R"({"status":{"phase":"running"}})"}) {
    const auto checked = checkCancelling(answerOf(odd));
    ASSERT_FALSE(checked) << odd;
    EXPECT_EQ(checked.error().kind, Kind::Peer);
    EXPECT_THAT(checked.error().sentence(), HasSubstr("does not say that it ends"));
  }
}

TEST(Refusal, IsToldInTheRunsOwnWords) {
  const auto refused = unlessRefused(answerOf(R"({"refused":{"sentence":"asks for nothing"}})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Kind::Denied);
  EXPECT_EQ(refused.error().sentence(), "the run refused: asks for nothing");
  EXPECT_TRUE(unlessRefused(answerOf(R"({"cancelling":true})")));
}

TEST(Refusal, WithoutWordsIsARefusalAllTheSame) {
  for (const char* odd : {R"({"refused":true})", R"({"refused":{}})", R"({"refused":null})",
                          R"({"refused":{"sentence":7}})", R"({"refused":{"sentence":""}})",
                          R"({"refused":{"x":1},"cancelling":true})"}) {
    const auto refused = unlessRefused(answerOf(odd));
    ASSERT_FALSE(refused) << odd;
    EXPECT_THAT(refused.error().sentence(), HasSubstr("refused without saying why")) << odd;
    EXPECT_THAT(refused.error().sentence(), Not(HasSubstr("{"))) << odd;
  }
}

}  // namespace
}  // namespace warder::cli
