// The job's archive, read as a stream.
#include "supervisor/boot/archive.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <utility>

namespace warder::boot {
namespace {

using ::testing::HasSubstr;

/// One header as `tar --format=ustar` writes it.
std::string header(const std::string& name, std::size_t size, char type = '0') {
  std::string block(512, '\0');
  block.replace(0, name.size(), name);
  block.replace(100, 7, "0000644");
  char octal[13];
  std::snprintf(octal, sizeof octal, "%011zo", size);
  block.replace(124, 11, octal);
  block[156] = type;
  block.replace(257, 5, "ustar");
  block.replace(263, 2, "00");
  block.replace(148, 8, 8, ' ');
  std::size_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  std::snprintf(octal, sizeof octal, "%06zo", sum);
  block.replace(148, 7, std::string(octal, 7));
  return block;
}

std::string file(const std::string& name, const std::string& content) {
  return header(name, content.size()) + content +
         std::string((512 - content.size() % 512) % 512, '\0');
}

const std::string kEnd(1024, '\0');

std::string refusal(const std::string& bytes) {
  ArchiveReader reader;
  auto fed = reader.feed(bytes);
  return fed ? "" : fed.error().sentence();
}

TEST(Archive, FilesAndFoldersAreReadToTheArchivesOwnEnd) {
  ArchiveReader reader;
  const std::string bytes = header("./", 0, '5') + file("./job.yaml", "version: 1\n") +
                            header("secrets/", 0, '5') +
                            file("secrets/key", std::string(513, 'k')) + kEnd + "rest of a disk";
  ASSERT_TRUE(reader.feed(bytes));
  ASSERT_TRUE(reader.complete());
  ASSERT_EQ(reader.files().size(), 2u);
  EXPECT_EQ(reader.files()[0].path, "job.yaml");
  EXPECT_EQ(reader.files()[0].content, "version: 1\n");
  EXPECT_EQ(reader.files()[1].path, "secrets/key");
  EXPECT_EQ(reader.files()[1].content, std::string(513, 'k'));
}

TEST(Archive, PiecesOfAnySizeGiveTheSame) {
  const std::string bytes =
      file("a", "one") + file("b", "") + file("c", std::string(1024, 'x')) + kEnd;
  for (const std::size_t size : {1u, 7u, 511u, 512u, 513u, 4096u}) {
    ArchiveReader reader;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      ASSERT_TRUE(reader.feed(std::string_view(bytes).substr(at, size)));
    EXPECT_TRUE(reader.complete());
    ASSERT_EQ(reader.files().size(), 3u) << size;
    EXPECT_EQ(reader.files()[2].content, std::string(1024, 'x'));
  }
}

TEST(Archive, IsNotCompleteBeforeItsEnd) {
  ArchiveReader reader;
  ASSERT_TRUE(reader.feed(file("a", "one") + std::string(512, '\0')));
  EXPECT_FALSE(reader.complete());
  EXPECT_THAT(refusal(file("a", "") + std::string(512, '\0') + file("b", "")),
              HasSubstr("behind an empty block"));
}

TEST(Archive, AnEmptyDiskIsNoArchive) {
  ArchiveReader reader;
  ASSERT_TRUE(reader.feed(kEnd));
  EXPECT_TRUE(reader.complete() && reader.empty());
}

TEST(Archive, WhatIsNoneIsRefused) {
  EXPECT_THAT(refusal(std::string(512, 'x')), HasSubstr("no tar archive"));
  std::string damaged = file("a", "one");
  damaged[3] = 'b';
  EXPECT_THAT(refusal(damaged), HasSubstr("damaged"));
}

TEST(Archive, PathsStayInTheirFolder) {
  for (const char* path : {"/etc/passwd", "../x", "a/../../x", "a/.."})
    EXPECT_THAT(refusal(file(path, "")), HasSubstr("leaves its folder")) << path;
  EXPECT_THAT(refusal(file(".", "")), HasSubstr("without a name"));
  ArchiveReader reader;
  ASSERT_TRUE(reader.feed(file("./a//./b", "") + kEnd));
  EXPECT_EQ(reader.files()[0].path, "a/b");
}

TEST(Archive, OnlyPlainFilesAndFoldersAreTaken) {
  for (const char type : {'1', '2', '3', '4', '6', 'x', 'L'})
    EXPECT_THAT(refusal(header("a", 0, type)), HasSubstr("neither a plain file nor a folder"))
        << type;
}

TEST(Archive, AFileStandsOnce) {
  EXPECT_THAT(refusal(file("a", "") + file("./a", "")), HasSubstr("twice"));
}

TEST(Archive, LimitsHoldOnBothSides) {
  std::string many;
  for (std::size_t i = 0; i < kMostJobFiles; ++i) many += file("f" + std::to_string(i), "");
  EXPECT_EQ(refusal(many + kEnd), "");
  EXPECT_THAT(refusal(many + file("g", "")), HasSubstr("more than 256 files"));
  EXPECT_EQ(refusal(header("a", kMostJobBytes)), "");
  EXPECT_THAT(refusal(header("a", kMostJobBytes + 1)), HasSubstr("more than 16 MiB"));
  EXPECT_THAT(refusal(file("a", "1") + header("b", kMostJobBytes)), HasSubstr("more than 16 MiB"));
  std::string folders;
  for (std::size_t i = 0; i < kMostJobFiles; ++i) folders += header("d/", 0, '5');
  EXPECT_EQ(refusal(folders), "");
  EXPECT_THAT(refusal(folders + header("d/", 0, '5')), HasSubstr("more than 256 folders"));
}

TEST(Archive, ALongPathIsRefused) {
  std::string block = header(std::string(100, 'a'), 0);
  const auto withPrefix = [&](std::size_t size) {
    std::string with = block;
    with.replace(345, size, std::string(size, 'p'));
    with.replace(148, 8, 8, ' ');
    std::size_t sum = 0;
    for (const char c : with) sum += static_cast<unsigned char>(c);
    char octal[13];
    std::snprintf(octal, sizeof octal, "%06zo", sum);
    with.replace(148, 7, std::string(octal, 7));
    return with;
  };
  EXPECT_EQ(refusal(withPrefix(kLongestJobPath - 101)), "");
  EXPECT_THAT(refusal(withPrefix(kLongestJobPath - 100)), HasSubstr("leaves its folder"));
}

}  // namespace
}  // namespace warder::boot
