#include "supervisor/journal/harvest_stream.h"

#include <gtest/gtest.h>

#include "supervisor/journal/digest.h"

namespace warder::journal {
namespace {

/// The items of a stream in short words, or the sentence of the first fault.
std::string read(std::string_view bytes, std::size_t piece = SIZE_MAX) {
  HarvestParser parser;
  std::string seen;
  const auto each = [&seen](const HarvestItem& item) -> base::Status {
    if (const auto* file = std::get_if<HarvestFile>(&item))
      seen += "file " + file->path.text + (file->path.percent ? "%" : "") + " " +
              std::to_string(file->size) + ";";
    if (std::holds_alternative<HarvestPatch>(item)) seen += "patch;";
    if (const auto* data = std::get_if<HarvestData>(&item))
      seen += "data " + std::to_string(data->bytes.size()) + ";";
    if (const auto* end = std::get_if<HarvestEnd>(&item))
      seen += std::string("end") + (end->changed ? " changed;" : ";");
    if (const auto* skipped = std::get_if<HarvestSkipped>(&item))
      seen += "skipped " + skipped->path.text + ": " + skipped->reason + ";";
    if (const auto* none = std::get_if<HarvestNoPatch>(&item))
      seen += "none: " + none->reason + ";";
    if (std::holds_alternative<HarvestDone>(item)) seen += "done;";
    return {};
  };
  while (!bytes.empty()) {
    const auto part = bytes.substr(0, piece);
    if (auto fed = parser.feed(part, each); !fed) return seen + "FAULT " + fed.error().doing;
    bytes.remove_prefix(part.size());
  }
  return seen + (parser.complete() ? "complete" : "open");
}

std::string fileNamed(const std::string& path, std::uint64_t size) {
  return encodeHarvest(HarvestFile{{path, false}, size, 0644, 1});
}

std::string rawFrame(char kind, std::string_view payload, std::uint32_t length) {
  std::string bytes(1, kind);
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(length >> shift));
  return bytes.append(payload);
}

std::string headFrame(char kind, std::string_view head) {
  return rawFrame(kind, head, static_cast<std::uint32_t>(head.size()));
}

TEST(HarvestStream, ReadsBackWhatWasWrittenInPiecesOfAnySize) {
  const std::string stream = fileNamed("out/a.txt", 5) + encodeHarvest(HarvestData{"abc"}) +
                             encodeHarvest(HarvestData{"de"}) +
                             encodeHarvest(HarvestEnd{sha256Hex("abcde"), true, ""}) +
                             encodeHarvest(HarvestSkipped{{"link", false}, "is a symbolic link"}) +
                             encodeHarvest(HarvestPatch{}) + encodeHarvest(HarvestData{"diff"}) +
                             encodeHarvest(HarvestEnd{}) + encodeHarvest(HarvestDone{});
  const std::string expected =
      "file out/a.txt 5;data 3;data 2;end changed;skipped link: is a symbolic link;patch;data "
      "4;end;done;complete";
  for (const std::size_t piece : {1, 2, 3, 7, 64, 1 << 20})
    EXPECT_EQ(read(stream, piece), expected);
  EXPECT_EQ(read(encodeHarvest(HarvestNoPatch{"no git"})), "none: no git;open");
}

TEST(HarvestStream, RefusesPathsThatLeadElsewhere) {
  for (const char* path :
       {"/etc/passwd", "../up", "a/../b", "a//b", "a/.", "./a", "", "a/", "a\nb"})
    EXPECT_NE(read(fileNamed(path, 1)).find("FAULT"), std::string::npos) << path;
  EXPECT_EQ(read(fileNamed("a/..b/...c", 1)), "file a/..b/...c 1;open");
}

TEST(HarvestStream, TakesAsManyBytesAsWereAnnouncedAndNotOneMore) {
  EXPECT_EQ(read(fileNamed("a", 3) + encodeHarvest(HarvestData{"abc"})), "file a 3;data 3;open");
  EXPECT_NE(read(fileNamed("a", 3) + encodeHarvest(HarvestData{"abcd"})).find("FAULT"),
            std::string::npos);
}

TEST(HarvestStream, FrameHasItsLimitForDataAndForHeads) {
  const std::string largest(kMaxHarvestData, 'x');
  EXPECT_EQ(read(encodeHarvest(HarvestPatch{}) + encodeHarvest(HarvestData{largest})),
            "patch;data 262144;open");
  EXPECT_NE(
      read(encodeHarvest(HarvestPatch{}) + rawFrame('D', "", kMaxHarvestData + 1)).find("FAULT"),
      std::string::npos);
  EXPECT_EQ(read(rawFrame('S', "", kMaxHarvestHead)), "open");
  EXPECT_NE(read(rawFrame('S', "", kMaxHarvestHead + 1)).find("FAULT"), std::string::npos);
}

TEST(HarvestStream, RefusesFramesOutOfOrder) {
  const std::string data = encodeHarvest(HarvestData{"x"}), end = encodeHarvest(HarvestEnd{}),
                    done = encodeHarvest(HarvestDone{});
  for (const auto& stream :
       {data, end, fileNamed("a", 1) + fileNamed("b", 1), fileNamed("a", 1) + done, done + done,
        rawFrame('?', "{}", 2), rawFrame('F', "[]", 2), rawFrame('F', "{", 1),
        headFrame('F', R"({"path":"a","size":-1,"mode":0,"mtime_ms":0})"),
        encodeHarvest(HarvestPatch{}) + encodeHarvest(HarvestEnd{"nohex", false, ""})})
    EXPECT_NE(read(stream).find("FAULT"), std::string::npos);
}

TEST(HarvestStream, OddNamesAreEncodedAndMarked) {
  EXPECT_FALSE(encodePath("gr\xc3\xbc\xc3\x9f 100%.txt").percent);
  const HarvestPath odd = encodePath("a\xff%\n");
  EXPECT_TRUE(odd.percent);
  EXPECT_EQ(odd.text, "a%ff%25%0a");
  EXPECT_EQ(read(encodeHarvest(HarvestFile{odd, 0, 0644, 0})), "file a%ff%25%0a% 0;open");
}

TEST(HarvestStream, WhatAPatchDoesNotTellOfIsReadBackAndItsPathsAreNotBelieved) {
  HarvestEnd sent;
  sent.left_out_count = 7;
  sent.left_out = {{{"a", false}, "is a pipe"}, {encodePath("b\xff"), "is a device"}};
  HarvestParser parser;
  HarvestEnd got;
  const auto each = [&got](const HarvestItem& item) -> base::Status {
    if (const auto* end = std::get_if<HarvestEnd>(&item)) got = *end;
    return {};
  };
  ASSERT_TRUE(parser.feed(encodeHarvest(HarvestPatch{}) + encodeHarvest(sent), each));
  EXPECT_EQ(got.left_out_count, 7u);
  ASSERT_EQ(got.left_out.size(), 2u);
  EXPECT_EQ(got.left_out[0].reason, "is a pipe");
  EXPECT_EQ(got.left_out[1].path.text, "b%ff");
  EXPECT_TRUE(got.left_out[1].path.percent);
  for (const char* head : {R"({"left_out":5})", R"({"left_out":[5]})", R"({"left_out_count":-1})",
                           R"({"left_out":[{"path":"../x","reason":""}]})"})
    EXPECT_NE(read(encodeHarvest(HarvestPatch{}) + headFrame('E', head)).find("FAULT"),
              std::string::npos)
        << head;
}

}  // namespace
}  // namespace warder::journal
