// What the patch tells of, and what it leaves out.
#include <sys/stat.h>

#include "tests/component/report/harvest_fixture.h"

namespace warder::report {
namespace {

TEST_F(Harvest, PatchHoldsChangedNewRemovedAndBinaryFilesAndApplies) {
  std::string binary(3000, '\0');
  for (std::size_t i = 0; i < binary.size(); ++i) binary[i] = static_cast<char>(i * 7);
  writeText(work("changed.txt"), "one\ntwo\n");
  writeText(work("removed.txt"), "gone\n");
  writeText(work("image.bin"), binary);
  writeText(work("crlf.txt"), "a\r\nb\r\n");
  writeText(work(".gitignore"), "ignored/\n");
  fs::copy(work(), folder_.path + "/before", fs::copy_options::recursive);
  baseline();
  writeText(work("changed.txt"), "one\n2\n");
  fs::remove(work("removed.txt"));
  binary[1500] = '!';
  writeText(work("image.bin"), binary);
  writeText(work("crlf.txt"), "a\r\nc\n");
  writeText(work("new/untracked.txt"), "new\n");
  writeText(work("ignored/cache"), "x");
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch;
  EXPECT_EQ(all.patch.find("ignored/cache"), std::string::npos);
  const std::string before = folder_.path + "/before";
  apply(before, all.patch);
  for (const char* name : {"changed.txt", "image.bin", "crlf.txt", "new/untracked.txt"})
    EXPECT_EQ(readText(before + "/" + name), readText(work(name))) << name;
  EXPECT_FALSE(fs::exists(before + "/removed.txt"));
}

TEST_F(Harvest, UnchangedWorkTreeGivesAnEmptyPatch) {
  writeText(work("a"), "a");
  baseline();
  const auto all = patch();
  EXPECT_TRUE(all.patch_sent);
  EXPECT_EQ(all.patch, "");
}

TEST_F(Harvest, WithoutABaselineThereIsNoPatchAndItSaysWhy) {
  const auto all = patch();
  EXPECT_FALSE(all.patch_sent);
  EXPECT_EQ(all.no_patch, "the work tree was not remembered before the agent ran");
}

TEST_F(Harvest, RepositorysHooksFiltersAndConfigurationAreNotRun) {
  const std::string proof = folder_.path + "/ran";
  const std::string shell = "sh -c 'touch " + proof + "; cat'";
  ASSERT_EQ(std::system(("cd " + work() + " && git init -q . && git config filter.evil.clean \"" +
                         shell + "\" && git config core.fsmonitor \"" + shell +
                         "\" && git config diff.evil.textconv \"" + shell +
                         "\" && git config diff.external \"" + shell + "\"")
                            .c_str()),
            0);
  for (const char* hook : {"pre-commit", "post-index-change", "fsmonitor-watchman"}) {
    writeText(work(std::string(".git/hooks/") + hook), "#!/bin/sh\ntouch " + proof + "\n");
    fs::permissions(work(std::string(".git/hooks/") + hook), fs::perms::owner_all);
  }
  writeText(work(".gitattributes"), "* filter=evil diff=evil text=auto eol=crlf ident\n");
  writeText(work("a.txt"), "$Id$ before\r\n");
  baseline();
  writeText(work("a.txt"), "$Id$ after\r\n");
  const auto all = patch();
  EXPECT_TRUE(all.patch_sent);
  EXPECT_NE(all.patch.find("+$Id$ after\r\n"), std::string::npos) << all.patch;
  EXPECT_FALSE(fs::exists(proof));
}

TEST_F(Harvest, RepositoryInsideTheWorkTreeIsLeftOutAndItsConfigurationNotRun) {
  const std::string proof = folder_.path + "/ran";
  writeText(work("a.txt"), "before\n");
  baseline();
  ASSERT_EQ(std::system(("cd " + work() +
                         " && mkdir -p 'in ner[1]' && cd 'in ner[1]' && git init -q . && echo x > f"
                         " && git add f && git -c user.name=x -c user.email=x@x commit -qm x"
                         " && git config core.fsmonitor 'touch " +
                         proof + "' && echo y > f")
                            .c_str()),
            0);
  fs::remove(proof);
  fs::create_directories(work("empty/.git"));  // one without a commit makes `git add` fail
  writeText(work("a.txt"), "after\n");
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch;
  EXPECT_NE(all.patch.find("+after"), std::string::npos);
  EXPECT_EQ(all.patch.find("Subproject"), std::string::npos);
  EXPECT_NE(all.patch_note.find("2 repositories"), std::string::npos) << all.patch_note;
  EXPECT_FALSE(fs::exists(proof));
}

TEST_F(Harvest, SparseTerabytesDoNotCostThePatch) {
  writeText(work("a.txt"), "before\n");
  writeText(work("grown"), "small\n");
  baseline();
  writeText(work("a.txt"), "after\n");
  for (const char* name : {"sparse", "grown", "deep/.gitignore", ".gitattributes"}) {
    writeText(work(name), "x");
    ASSERT_EQ(::truncate(work(name).c_str(), 4LL << 40), 0) << name;
  }
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch << all.patch_note;
  EXPECT_NE(all.patch.find("+after"), std::string::npos);
  EXPECT_EQ(all.patch.find("grown"), std::string::npos) << "it is not removed, only too large";
  EXPECT_EQ(all.left_out_count, 4u);
  for (const char* name : {"sparse", "grown", "deep/.gitignore", ".gitattributes"})
    EXPECT_EQ(all.left_out.at(name), "is larger than 64 MiB");
}

TEST_F(Harvest, PipesByTheNamesThatGitReadsDoNotCostThePatch) {
  writeText(work("a.txt"), "before\n");
  writeText(work("sub/b.txt"), "before\n");
  writeText(work("was/.gitignore"), "x\n");
  for (const char* name : {".gitattributes", "sub/.gitmodules"})  // before, and after
    ASSERT_EQ(::mkfifo(work(name).c_str(), 0644), 0);
  baseline();
  fs::remove(work("was/.gitignore"));
  const char* later[] = {".gitignore", ".gitmodules", "sub/.gitattributes", "sub/.gitignore",
                         "was/.gitignore"};
  for (const char* name : later) ASSERT_EQ(::mkfifo(work(name).c_str(), 0644), 0);
  writeText(work("a.txt"), "after\n");
  writeText(work("sub/b.txt"), "after too\n");
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch << all.patch_note;
  EXPECT_NE(all.patch.find("+after\n"), std::string::npos) << all.patch;
  EXPECT_NE(all.patch.find("+after too\n"), std::string::npos);
  EXPECT_NE(all.patch.find("deleted file"), std::string::npos) << "was/.gitignore is no file now";
  EXPECT_EQ(all.left_out_count, 7u);
  for (const char* name : later) EXPECT_EQ(all.left_out.at(name), "is a pipe") << name;
}

TEST_F(Harvest, PatchTakesFilesOf64MebibytesAndNotOneByteMore) {
  baseline();
  writeText(work("most"), "");
  writeText(work("more"), "");
  ASSERT_EQ(::truncate(work("most").c_str(), 64 << 20), 0);
  ASSERT_EQ(::truncate(work("more").c_str(), (64 << 20) + 1), 0);
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch;
  EXPECT_NE(all.patch.find("b/most"), std::string::npos);
  EXPECT_EQ(all.patch.find("b/more"), std::string::npos);
  EXPECT_EQ(all.left_out, (std::map<std::string, std::string>{{"more", "is larger than 64 MiB"}}));
}

TEST_F(Harvest, WhatWasTooLargeBeforeNeverLooksNewOrRemoved) {
  for (const char* name : {"shrunk", "gone", "folder"}) {
    writeText(work(name), "");
    ASSERT_EQ(::truncate(work(name).c_str(), 1LL << 40), 0);
  }
  baseline();
  writeText(work("shrunk"), "small now\n");
  fs::remove(work("gone"));
  fs::remove(work("folder"));
  writeText(work("folder/file"), "x");
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch;
  EXPECT_EQ(all.patch, "");
  EXPECT_EQ(all.left_out_count, 3u);
  EXPECT_EQ(all.left_out.at("gone"), "is larger than 64 MiB; it is not there any more");
}

TEST_F(Harvest, LinksModesOddNamesAndSwappedKindsArriveInThePatch) {
  writeText(work("file"), "f\n");
  writeText(work("folder/x"), "x\n");
  writeText(work("script"), "#!/bin/sh\n");
  fs::create_symlink("file", work("link"));
  fs::copy(work(), folder_.path + "/before",
           fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  baseline();
  fs::remove(work("file"));
  writeText(work("file/inside"), "now a folder\n");
  fs::remove_all(work("folder"));
  writeText(work("folder"), "now a file\n");
  fs::permissions(work("script"), fs::perms::owner_all);
  fs::remove(work("link"));
  fs::create_symlink("/etc/passwd", work("link"));
  const std::string odd = ":(odd)\"\\ \n\xff";
  writeText(work(odd), "odd\n");
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch << all.patch_note;
  const std::string before = folder_.path + "/before";
  apply(before, all.patch);
  EXPECT_EQ(readText(before + "/file/inside"), "now a folder\n");
  EXPECT_EQ(readText(before + "/folder"), "now a file\n");
  EXPECT_EQ(readText(before + "/" + odd), "odd\n");
  EXPECT_EQ(fs::read_symlink(before + "/link"), "/etc/passwd");
  EXPECT_NE(fs::status(before + "/script").permissions() & fs::perms::owner_exec, fs::perms::none);
}

TEST_F(Harvest, IgnoreRulesAreGitsOwnAndRememberedFilesAreToldOfAllTheSame) {
  writeText(work(".gitignore"), "*.log\n!keep.log\ncache/\n/only-here\n");
  writeText(work("kept/before.txt"), "1\n");
  baseline();
  writeText(work("kept/.gitignore"), "*\n");  // does not hide what was there before
  writeText(work("kept/before.txt"), "2\n");
  writeText(work("kept/new.txt"), "x\n");
  writeText(work("a.log"), "x\n");
  writeText(work("keep.log"), "x\n");
  writeText(work("deep/cache/x"), "x\n");
  writeText(work("deep/only-here"), "x\n");
  writeText(work("only-here"), "x\n");
  ASSERT_EQ(::mkfifo(work("a.pipe.log").c_str(), 0644), 0);
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch;
  for (const char* name : {"b/kept/before.txt", "b/keep.log", "b/deep/only-here"})
    EXPECT_NE(all.patch.find(name), std::string::npos) << name;
  for (const char* name : {"new.txt", "a.log", "cache", "b/only-here"})
    EXPECT_EQ(all.patch.find(name), std::string::npos) << name;
  EXPECT_EQ(all.left_out_count, 0u);
}

TEST_F(Harvest, OfVeryManyPathsThatAreLeftOutTheFirstAreNamedAndAllCounted) {
  baseline();
  for (int i = 0; i < 300; ++i)
    ASSERT_EQ(::mkfifo(work(std::string(200, '"') + std::to_string(i)).c_str(), 0644), 0);
  const auto all = patch();
  ASSERT_TRUE(all.patch_sent) << all.no_patch;
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.left_out_count, 300u);
  EXPECT_GE(all.left_out.size(), 20u);
  EXPECT_LE(all.left_out.size(), 50u);
}

}  // namespace
}  // namespace warder::report
