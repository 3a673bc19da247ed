#include "collector/batch.h"

#include <gtest/gtest.h>

#include <limits>

#include "collector/sound_json.h"
#include "collector/summary.h"
#include "tests/support/journal_lines.h"

namespace warder::collector {
namespace {

using support::JournalLines;

const AttemptKey kKey{"3f1c2a54-0000-4000-8000-000000000001", 1};

JournalLines someLines() {
  JournalLines lines(kKey.run);
  lines.add("run.started", {{"preset", "claude-code"}});
  lines.add("agent.started", {{"pid", 7}});
  lines.add("run.finished", {{"outcome", {{"class", "ok"}}}});
  return lines;
}

TEST(Batch, TakesLinesThatFollowOneAnother) {
  const auto lines = someLines();
  const std::string body = lines.body(1, 3);
  const auto batch = parseBatch(body, kKey);
  ASSERT_TRUE(batch) << batch.error().sentence();
  ASSERT_EQ(batch->size(), 3u);
  EXPECT_EQ(batch->front().seq, 1u);
  EXPECT_EQ(batch->front().prev, kNoHead);
  EXPECT_EQ(batch->back().hash, lines.head());
  EXPECT_EQ(batch->back().type, "run.finished");
}

TEST(Batch, TakesAnEmptyBodyAsASignOfLife) {
  const auto batch = parseBatch("", kKey);
  ASSERT_TRUE(batch);
  EXPECT_TRUE(batch->empty());
}

TEST(Batch, RefusesAHoleAndABrokenChain) {
  const auto lines = someLines();
  const auto hole = parseBatch(lines.body(1, 1) + lines.body(3, 3), kKey);
  ASSERT_FALSE(hole);
  EXPECT_EQ(hole.error().kind, base::Kind::Config);
  JournalLines other(kKey.run);
  other.add("run.started", {{"preset", "another"}});
  const auto broken = parseBatch(other.body(1, 1) + lines.body(2, 2), kKey);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, base::Kind::Denied);
}

TEST(Batch, RefusesLinesOfAnotherRunOrAttempt) {
  const auto lines = someLines();
  EXPECT_FALSE(parseBatch(lines.body(1, 1), {kKey.run, 2}));
  EXPECT_FALSE(parseBatch(lines.body(1, 1), {"3f1c2a54-0000-4000-8000-000000000002", 1}));
}

TEST(Batch, RefusesWhatIsNoJournalLine) {
  const std::string good = someLines().body(1, 1);
  EXPECT_FALSE(parseBatch(good.substr(0, good.size() - 1), kKey)) << "no newline at the end";
  EXPECT_FALSE(parseBatch(good + "\n", kKey)) << "an empty line";
  for (const char* text : {"{}\n", "[]\n", "null\n", "{\"seq\":0}\n", "{\"seq\":-1}\n", "\xff\n",
                           "{\"seq\":1.5}\n", "{\"seq\":18446744073709551615}\n", "<html>\n"})
    EXPECT_FALSE(parseBatch(text, kKey)) << text;
}

TEST(Batch, TakesALineOfTheLongestKindAndNoLonger) {
  const auto lineOf = [](std::size_t size) {
    JournalLines probe(kKey.run);
    const std::size_t frame = probe.add("x", {{"text", ""}}).size();
    JournalLines lines(kKey.run);
    return lines.add("x", {{"text", std::string(size - frame, 'a')}}) + "\n";
  };
  const std::string fits = lineOf(kMaxLine), longer = lineOf(kMaxLine + 1);
  EXPECT_TRUE(parseBatch(fits, kKey));
  EXPECT_FALSE(parseBatch(longer, kKey));
  EXPECT_LE(fits.size(), kMaxBatch);
}

TEST(Batch, ClampsTheSizeThatALineClaimsForABlob) {
  JournalLines lines(kKey.run);
  const std::string digest(64, 'b');
  for (const json::value& bytes : {json::value(9007199254740992), json::value(INT64_MAX),
                                   json::value(1e300), json::value(-5), json::value("5")})
    lines.add("patch.stored", {{"bytes", bytes}, {"sha256", digest}});
  const std::string body = lines.body(1, 5);
  const auto batch = parseBatch(body, kKey);
  ASSERT_TRUE(batch);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(blobOf((*batch)[i])->bytes, 9007199254740992u);
  for (int i = 3; i < 5; ++i) EXPECT_EQ(blobOf((*batch)[i])->bytes, 0u);
}

TEST(Batch, FindsTheBlobsThatLinesReferTo) {
  JournalLines lines(kKey.run);
  const std::string digest(64, 'b');
  lines.add("artifact.stored", {{"path", "out/a"}, {"bytes", 5}, {"sha256", "sha256:" + digest}});
  lines.add("patch.stored", {{"bytes", 6}, {"sha256", digest}});
  lines.add("output.closed", {{"stream", "stdout"}, {"bytes", 0}, {"sha256", "sha256:" + digest}});
  lines.add("artifact.stored", {{"path", "out/b"}, {"sha256", "sha256:../../etc/passwd"}});
  lines.add("artifact.skipped", {{"path", "out/c"}, {"sha256", "sha256:" + digest}});
  const std::string body = lines.body(1, 5);
  const auto batch = parseBatch(body, kKey);
  ASSERT_TRUE(batch);
  const auto artifact = blobOf((*batch)[0]);
  ASSERT_TRUE(artifact);
  EXPECT_EQ(artifact->digest, digest);
  EXPECT_EQ(artifact->name, "out/a");
  EXPECT_EQ(artifact->bytes, 5u);
  EXPECT_EQ(blobOf((*batch)[1])->kind, "patch");
  EXPECT_EQ(blobOf((*batch)[2])->kind, "stdout");
  EXPECT_FALSE(blobOf((*batch)[3]));
  EXPECT_FALSE(blobOf((*batch)[4]));
}

json::object summaryOf(const JournalLines& lines) {
  json::object summary;
  const std::string body = lines.body(1, lines.count());
  const auto batch = parseBatch(body, kKey);
  for (const auto& line : *batch) addToSummary(summary, line);
  return summary;
}

TEST(Summary, AddsUpCallsTokensAndCost) {
  JournalLines lines(kKey.run);
  lines.add("run.started", {{"preset", "claude-code"}, {"job", {{"file", "/jobs/a.yaml"}}}});
  lines.add("llm.call",
            {{"status", 200}, {"input_tokens", 10}, {"output_tokens", 2}, {"cost_usd", 0.25}});
  lines.add("llm.call", {{"status", 529}, {"cost_usd", 0}, {"priced", false}});
  lines.add("broker.denied", {{"host", "x"}});
  lines.add("dns.denied", {{"name", "y"}, {"suppressed", 3}});
  const auto summary = summaryOf(lines);
  EXPECT_EQ(summary.at("job"), "/jobs/a.yaml");
  EXPECT_EQ(summary.at("calls").to_number<int>(), 2);
  EXPECT_EQ(summary.at("errors").to_number<int>(), 1);
  EXPECT_EQ(summary.at("input_tokens").to_number<int>(), 10);
  EXPECT_DOUBLE_EQ(summary.at("cost_usd").to_number<double>(), 0.25);
  EXPECT_EQ(summary.at("denials").to_number<int>(), 5);
  EXPECT_EQ(summary.at("unpriced"), true);
  EXPECT_FALSE(summary.contains("outcome"));
}

TEST(Summary, ClampsWhatItAddsUpSoThatNoSumIsInfinite) {
  JournalLines lines(kKey.run);
  for (int i = 0; i < 2; ++i)
    lines.add("llm.call", {{"status", 200},
                           {"cost_usd", 1e308},
                           {"input_tokens", 18446744073709551615u},
                           {"output_tokens", 9007199254740991},
                           {"cache_read_tokens", -1e308}});
  lines.add("memory.oom", {{"kills", 9007199254740993}});
  const auto summary = summaryOf(lines);
  EXPECT_EQ(summary.at("cost_usd").to_number<std::uint64_t>(), 9007199254740992u);
  EXPECT_EQ(summary.at("input_tokens").to_number<std::uint64_t>(), 9007199254740992u);
  EXPECT_EQ(summary.at("output_tokens").to_number<std::uint64_t>(), 9007199254740992u);
  EXPECT_EQ(summary.at("cache_read_tokens").to_number<std::uint64_t>(), 0u);
  EXPECT_EQ(summary.at("oom_kills").to_number<std::uint64_t>(), 9007199254740992u);
}

TEST(Summary, AddsUpToTheLargestExactNumber) {
  JournalLines lines(kKey.run);
  lines.add("llm.call", {{"input_tokens", 9007199254740991}, {"output_tokens", 9007199254740990}});
  lines.add("llm.call", {{"input_tokens", 1}, {"output_tokens", 1}});
  const auto summary = summaryOf(lines);
  EXPECT_EQ(json::serialize(summary.at("input_tokens")), "9007199254740992");
  EXPECT_EQ(json::serialize(summary.at("output_tokens")), "9007199254740991");
}

TEST(Summary, CanBeReadAgainWhateverWasInTheEvents) {
  json::value deep = 1;
  for (int i = 0; i < 55; ++i) deep = json::array{deep};
  JournalLines lines(kKey.run);
  lines.add("run.started", {{"preset", "x" + std::string(2000, 'a')},
                            {"warder", [] {
                               std::string text = "x";  // a cut at 1024 bytes would split a letter
                               for (int i = 0; i < 1000; ++i) text += "\xc3\xa9";
                               return text;
                             }()}});
  lines.add("run.finished", {{"outcome",
                              {{"class", "ok"},
                               {"reason", std::string(5000, 'r')},
                               {"deep", deep},
                               {"large", 1.7976931348623157e308}}}});
  const auto summary = summaryOf(lines);
  const auto again = readBack(json::serialize(summary));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->at("preset").as_string().size(), 1024u);
  EXPECT_EQ(again->at("warder").as_string().size(), 1023u);
  EXPECT_EQ(again->at("outcome").at("class"), "ok");
  EXPECT_EQ(again->at("outcome").at("reason").as_string().size(), 1024u);
  EXPECT_EQ(again->at("outcome").as_object().size(), 2u) << "texts of a known kind only";
}

TEST(Summary, BelievesTheFirstEndOfAJournal) {
  JournalLines lines(kKey.run);
  lines.add("run.finished", {{"outcome", {{"class", "agent"}}}});
  lines.add("run.finished", {{"outcome", {{"class", "ok"}}}});
  const auto summary = summaryOf(lines);
  EXPECT_EQ(summary.at("outcome").at("class"), "agent");
  EXPECT_EQ(summary.at("finished_seq").to_number<int>(), 1);
}

TEST(SoundJson, KeepsNumbersBetweenZeroAndTwoToThe53) {
  const auto of = [](const json::value& value) { return soundNumber(&value); };
  EXPECT_EQ(soundNumber(nullptr), 0);
  EXPECT_EQ(of(nullptr), 0);
  EXPECT_EQ(of("7"), 0);
  EXPECT_EQ(of(true), 0);
  EXPECT_EQ(of(-1), 0);
  EXPECT_EQ(of(std::numeric_limits<double>::quiet_NaN()), 0);
  EXPECT_EQ(of(-std::numeric_limits<double>::infinity()), 0);
  EXPECT_EQ(of(std::numeric_limits<double>::infinity()), kMaxNumber);
  EXPECT_EQ(of(9007199254740993), kMaxNumber);
  EXPECT_EQ(of(9007199254740991), 9007199254740991.0);
  EXPECT_EQ(of(0.25), 0.25);
}

TEST(SoundJson, ReadsBackWhatItCan) {
  for (const char* text : {"", "{\"a\":Infinity}", "{\"a\":NaN}", "\xff"})
    EXPECT_FALSE(readBack(text)) << text;
  const auto large = readBack("{\"a\":[1e400,{\"b\":-1e400}],\"c\":1e308}");
  ASSERT_TRUE(large);
  EXPECT_EQ(json::serialize(*large), "{\"a\":[null,{\"b\":null}],\"c\":1E308}");
  const auto value = readBack("{\"a\":[1,0.5]}");
  ASSERT_TRUE(value);
  EXPECT_EQ(json::serialize(*value), "{\"a\":[1,5E-1]}");
  json::object numbers{{"a", 1e300}, {"b", -3}, {"c", 0.5}, {"d", "text"}, {"e", 7}};
  clampNumbers(numbers);
  EXPECT_EQ(json::serialize(numbers),
            "{\"a\":9007199254740992,\"b\":0,\"c\":5E-1,\"d\":\"text\",\"e\":7}");
}

TEST(Summary, SurvivesValuesOfTheWrongType) {
  JournalLines lines(kKey.run);
  lines.add("run.started", {{"preset", 7}, {"job", "text"}});
  lines.add("llm.call", {{"status", "200"}, {"input_tokens", -5}, {"cost_usd", json::object()}});
  lines.add("memory.oom", {{"kills", nullptr}});
  lines.add("run.finished", {{"outcome", "ok"}});
  const auto summary = summaryOf(lines);
  EXPECT_EQ(summary.at("calls").to_number<int>(), 1);
  EXPECT_EQ(summary.at("input_tokens").to_number<int>(), 0);
  EXPECT_TRUE(summary.contains("outcome"));
}

}  // namespace
}  // namespace warder::collector
