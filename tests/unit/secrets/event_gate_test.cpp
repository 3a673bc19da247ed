#include "secrets/event_gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secrets/models/usage_meter.h"

namespace warder::secrets {
namespace {

namespace json = base::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kSecret = "sk-ant-api03-REALREALREAL";
constexpr std::string_view kPlaceholder = "sk-ant-api03-placeholder-that-is-longer";
constexpr std::string_view kEscaped = "sk\\u002dant\\u002Dapi03%2dREAL\\u0052EALREAL";

class Gate : public testing::Test {
 protected:
  Gate() { gate_.hide(kSecret, kPlaceholder); }

  void deny(std::chrono::milliseconds at, const std::string& grant = "a",
            const std::string& type = "broker.denied") {
    base::Event event;
    event.type = type;
    event.data = {{"grant", grant}, {"path", "/" + std::to_string(number_++)}};
    gate_.pass(std::move(event), start_ + at);
  }
  std::uint64_t suppressed() const {
    std::uint64_t sum = 0;
    for (const auto& event : told_)
      if (const auto* count = event.data.if_contains("suppressed"))
        sum += count->to_number<std::uint64_t>();
    return sum;
  }

  std::vector<base::Event> told_;
  EventGate gate_{[this](base::Event event) { told_.push_back(std::move(event)); }};
  EventGate::Clock::time_point start_ = EventGate::Clock::now();
  int number_ = 0;
};

TEST_F(Gate, TakesTheSecretOutOfEveryTextAndKeyOfAnyEvent) {
  // BC-031.
  for (const std::string& key : {std::string(kSecret), std::string(kEscaped)}) {
    for (const char* type : {"llm.call", "broker.denied", "broker.bad_request",
                             "broker.upstream_failed", "some.other"}) {
      const std::string text = "before " + key + " and " + key + " after";
      const json::object event{
          {"grant", key},
          {"model", text},
          {"count", 3},
          {"inner", json::object{{"list", json::array{text, json::object{{text, text}}, nullptr}}}},
          {text, text}};
      gate_.pass({type, event}, start_);
      const std::string out = json::serialize(told_.back().data);
      EXPECT_THAT(out, AllOf(Not(HasSubstr("REAL")), Not(HasSubstr("0052")), HasSubstr("before sk"),
                             HasSubstr(" after"), HasSubstr("plac")));
      EXPECT_EQ(told_.back().data.at("count"), 3);
      EXPECT_EQ(told_.back().data.size(), event.size());
    }
  }
  EXPECT_EQ(told_.size(), 10u);
}

TEST_F(Gate, HidesEverySecretThatItWasGiven) {
  gate_.hide("the-second-key", "another");
  gate_.pass({"llm.call", {{"a", std::string(kSecret) + " the-second-key"}}}, start_);
  EXPECT_EQ(told_[0].data.at("a"), "sk-ant-api03-placeholder- another*******");
}

TEST_F(Gate, TakesTheSecretOutOfNamesBeforeTheyAreCutAndMadePlain) {
  const models::CleanText clean = [this](std::string& text) { gate_.clean(text); };
  models::UsageMeter meter(false, clean);
  // Escaped twice: after one decoding it is still a spelling of the key.
  meter.feed(R"({"model":"sk\\u002dant-api03-REALREALREAL",)");
  meter.feed(R"("error":{"type":")" + std::string(110, 'x') + R"(sk-ant-api03-REALREALREAL"}})");
  EXPECT_THAT(meter.model(), Not(HasSubstr("REAL")));
  EXPECT_THAT(meter.error(), Not(HasSubstr("REAL")));
  EXPECT_EQ(meter.error().size(), 128u);
  models::ModelScan scan(clean);
  scan.feed(R"({"model":"sk-ant-api03-REALREALREAL"})");
  EXPECT_EQ(scan.model(), "sk-ant-api03-placeholder-");
}

TEST_F(Gate, TellsTwentyRefusalsOfASecondAndThenOneForTheRest) {
  using std::chrono::milliseconds;
  for (int i = 0; i < 20; ++i) deny(milliseconds(i));
  EXPECT_EQ(told_.size(), 20u);
  EXPECT_FALSE(gate_.holds());
  for (int i = 0; i < 1980; ++i) deny(milliseconds(20 + i % 900));
  EXPECT_EQ(told_.size(), 20u);
  EXPECT_TRUE(gate_.holds());
  gate_.release(start_ + milliseconds(999));
  EXPECT_EQ(told_.size(), 20u);
  gate_.release(start_ + milliseconds(1'000));
  ASSERT_EQ(told_.size(), 21u);
  EXPECT_EQ(told_.back().data.at("path"), "/1999");  // the last of them
  EXPECT_EQ(told_.back().data.at("suppressed").to_number<int>(), 1979);
  EXPECT_FALSE(gate_.holds());
  deny(milliseconds(1'001));
  EXPECT_EQ(told_.size(), 22u);
  EXPECT_FALSE(told_.back().data.contains("suppressed"));
}

TEST_F(Gate, NeverLosesCountOfARefusal) {
  using std::chrono::milliseconds;
  for (int i = 0; i < 5'000; ++i) deny(milliseconds(i));  // a release with each new window
  gate_.release(EventGate::Clock::time_point::max());
  EXPECT_EQ(told_.size() + suppressed(), 5'000u);
  EXPECT_EQ(told_.size(), 5u * 21u);
}

TEST_F(Gate, CountsEachKindAndEachGrantForItself) {
  using std::chrono::milliseconds;
  for (int i = 0; i < 20; ++i) {
    deny(milliseconds(0), "a");
    deny(milliseconds(0), "b");
    deny(milliseconds(0), "a", "broker.bad_request");
  }
  EXPECT_EQ(told_.size(), 60u);
  deny(milliseconds(0), "a");
  EXPECT_EQ(told_.size(), 60u);
}

TEST_F(Gate, NeverKeepsOtherEventsBack) {
  for (int i = 0; i < 1'000; ++i) gate_.pass({"llm.call", {{"grant", "a"}}}, start_);
  for (int i = 0; i < 1'000; ++i) gate_.pass({"broker.upstream_failed", {{"grant", "a"}}}, start_);
  EXPECT_EQ(told_.size(), 2'000u);
}

TEST_F(Gate, HidesAReplacedSecretAsLongAsSomebodyUsesIt) {
  auto secret = std::make_shared<const std::string>("the-replaced-key");
  gate_.hide(secret, *secret, "another-placeholder");
  std::string text = "with the-replaced-key";
  gate_.clean(text);
  EXPECT_THAT(text, Not(HasSubstr("replaced")));
  secret.reset();
  text = "with the-replaced-key";
  gate_.clean(text);  // its memory is gone, and is not looked at
  EXPECT_THAT(text, HasSubstr("replaced"));
}

}  // namespace
}  // namespace warder::secrets
