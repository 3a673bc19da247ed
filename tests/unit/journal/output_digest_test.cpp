#include "supervisor/journal/output_digest.h"

#include <gtest/gtest.h>

namespace warder::journal {
namespace {

json::object digestOf(std::string_view bytes, std::size_t piece = SIZE_MAX) {
  OutputDigest digest;
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, piece);
    digest.add(part);
    bytes.remove_prefix(part.size());
  }
  return digest.finish("stdout");
}

TEST(OutputDigest, TellsSizeDigestAndLastLine) {
  const auto data = digestOf("one\ntwo\n");
  EXPECT_EQ(data.at("stream"), "stdout");
  EXPECT_EQ(data.at("bytes"), 8);
  EXPECT_EQ(data.at("sha256").as_string(), "sha256:" + sha256Hex("one\ntwo\n"));
  EXPECT_EQ(data.at("last_line"), "two");
  EXPECT_EQ(data.at("last_line_complete"), true);
  EXPECT_FALSE(data.contains("last_line_cut"));
}

TEST(OutputDigest, LineWithoutItsNewlineIsSaidToBeIncomplete) {
  const auto data = digestOf("one\n{\"type\":\"resu");  // BC-017
  EXPECT_EQ(data.at("last_line"), "{\"type\":\"resu");
  EXPECT_EQ(data.at("last_line_complete"), false);
}

TEST(OutputDigest, BlankLinesAtTheEndDoNotHideTheLastWords) {
  const auto data = digestOf("words\n\n  \t\n\r\n   ");
  EXPECT_EQ(data.at("last_line"), "words");
  EXPECT_EQ(data.at("last_line_complete"), true);
}

TEST(OutputDigest, EmptyStreamHasAnEmptyLastLine) {
  const auto data = digestOf("");
  EXPECT_EQ(data.at("bytes"), 0);
  EXPECT_EQ(data.at("last_line"), "");
  EXPECT_EQ(data.at("last_line_complete"), true);
}

TEST(OutputDigest, SaysTheSameInWhateverPiecesTheBytesCome) {
  const std::string bytes = "first\n\xff\xfe bad\nlast line\n\n";
  const auto whole = json::serialize(digestOf(bytes));
  for (std::size_t piece = 1; piece < bytes.size(); ++piece)
    EXPECT_EQ(json::serialize(digestOf(bytes, piece)), whole) << piece;
}

TEST(OutputDigest, InvalidUtf8IsReplacedInTheLineAndNotInTheDigest) {
  const auto data = digestOf("\xff\n");
  EXPECT_EQ(data.at("last_line"), "\xef\xbf\xbd");
  EXPECT_EQ(data.at("sha256").as_string(), "sha256:" + sha256Hex("\xff\n"));
}

TEST(OutputDigest, KeepsALineOfOneMebibyteWholeAndOnlyTheStartOfALongerOne) {
  json::object line{{"type", "result"}, {"is_error", true}, {"result", ""}};
  const std::size_t rest = kMaxLastLine - json::serialize(line).size();
  line["result"] = std::string(rest, 'x');
  const std::string largest = json::serialize(line);
  ASSERT_EQ(largest.size(), kMaxLastLine);
  const auto kept = digestOf(largest + "\n");
  EXPECT_EQ(json::parse(std::string(kept.at("last_line").as_string())).at("is_error"), true);
  line["result"] = std::string(rest + 1, 'x');
  const auto cut = digestOf(json::serialize(line) + "\n");
  EXPECT_EQ(cut.at("last_line_bytes"), kMaxLastLine + 1);
  EXPECT_EQ(cut.at("last_line_cut"), true);
}

}  // namespace
}  // namespace warder::journal
