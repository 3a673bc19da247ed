// A real harvest process over a real work tree, with real git.
#include "supervisor/report/harvest.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <map>

#include "supervisor/base/wire.h"
#include "supervisor/journal/harvest_stream.h"
#include "tests/support/run_folder.h"

namespace warder::report {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using support::readText;
using support::writeText;

struct Harvested {
  std::map<std::string, std::string> files;  // path, bytes
  std::map<std::string, std::string> skipped;
  std::vector<std::string> order;
  std::string patch, patch_note, no_patch;
  bool patch_sent = false, complete = false;
};

Harvested read(int stream) {
  Harvested all;
  journal::HarvestParser parser;
  std::string path, bytes;
  bool in_patch = false;
  const auto each = [&](const journal::HarvestItem& item) -> base::Status {
    if (const auto* file = std::get_if<journal::HarvestFile>(&item)) {
      path = file->path.text;
      in_patch = false;
    }
    if (std::holds_alternative<journal::HarvestPatch>(item)) in_patch = true;
    if (const auto* data = std::get_if<journal::HarvestData>(&item)) bytes += data->bytes;
    if (const auto* end = std::get_if<journal::HarvestEnd>(&item)) {
      if (in_patch) {
        all.patch = bytes;
        all.patch_sent = !end->changed;
        all.patch_note = end->note;
      } else {
        all.files[path] = bytes;
        all.order.push_back(path);
      }
      bytes.clear();
    }
    if (const auto* skipped = std::get_if<journal::HarvestSkipped>(&item))
      all.skipped[skipped->path.text] = skipped->reason;
    if (const auto* none = std::get_if<journal::HarvestNoPatch>(&item)) all.no_patch = none->reason;
    return {};
  };
  char buffer[65536];
  for (ssize_t count; (count = ::read(stream, buffer, sizeof buffer)) > 0;)
    EXPECT_TRUE(parser.feed({buffer, static_cast<std::size_t>(count)}, each));
  all.complete = parser.complete();
  return all;
}

class Harvest : public ::testing::Test {
 protected:
  Harvest() {
    fs::create_directories(work());
    fs::create_directories(folder_.path + "/private");
  }
  std::string work(const std::string& name = "") const {
    return folder_.path + "/workspace" + (name.empty() ? "" : "/" + name);
  }

  Harvested run(const std::string& mode, json::array globs, bool patch,
                std::uint64_t max_size = 1 << 20) {
    auto config = base::sealedText(
        "config", json::serialize(json::object{{"mode", mode},
                                               {"workspace", work()},
                                               {"private_dir", folder_.path + "/private"},
                                               {"artifacts", std::move(globs)},
                                               {"patch", patch},
                                               {"max_size", max_size},
                                               {"deadline_ms", 60'000},
                                               {"stream_fd", 5}}));
    auto stream = base::makePipe();
    auto control = base::makeMessagePair();
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::dup2(config->get(), 200);
      ::dup2(control->theirs.get(), 201);
      ::dup2(stream->write.get(), 202);
      ::dup2(200, 3);
      ::dup2(201, 4);
      ::dup2(202, 5);
      ::close_range(6, ~0u, 0);
      ::_exit(harvestMain());
    }
    stream->write.reset();
    control->theirs.reset();
    Harvested all = read(stream->read.get());
    int status = 0;
    ::waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
    return all;
  }
  Harvested collect(json::array globs, std::uint64_t max_size = 1 << 20) {
    return run("collect", std::move(globs), false, max_size);
  }
  void baseline() { run("baseline", {}, true); }
  Harvested patch() { return run("collect", {}, true); }

  /// Applies a patch with plain git to a copy of what the work tree was.
  static void apply(const std::string& tree, const std::string& patch) {
    writeText(tree + "/../the.patch", patch);
    ASSERT_EQ(std::system(
                  ("cd " + tree + " && git init -q . && git apply --binary ../the.patch").c_str()),
              0);
    fs::remove_all(tree + "/.git");
  }

  support::TemporaryFolder folder_;
};

TEST_F(Harvest, CollectsWhatThePatternsMeanSmallestFirst) {
  writeText(work("out/big.txt"), std::string(5000, 'b'));
  writeText(work("out/deep/small.txt"), "s");
  writeText(work("report.pdf"), "pdf");
  writeText(work("src/other.c"), "no");
  const auto all = collect({"out/**", "report.pdf", "missing/*.x"});
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.order,
            (std::vector<std::string>{"out/deep/small.txt", "report.pdf", "out/big.txt"}));
  EXPECT_EQ(all.files.at("out/big.txt"), std::string(5000, 'b'));
  EXPECT_EQ(all.skipped.at("missing/*.x"), "nothing matches this pattern");
}

TEST_F(Harvest, NeverFollowsALinkOutOrIn) {
  writeText(folder_.path + "/secret", "key");
  writeText(work("out/real"), "fine");
  fs::create_symlink("../../secret", work("out/link"));
  fs::create_symlink(folder_.path, work("out/folder"));
  fs::create_symlink("out", work("alias"));
  const auto all = collect({"out/**", "alias/**"});
  EXPECT_EQ(all.files.size(), 1u);
  EXPECT_EQ(all.files.at("out/real"), "fine");
  EXPECT_EQ(all.skipped.at("out/link"), "is a symbolic link");
  EXPECT_EQ(all.skipped.at("out/folder"), "is a symbolic link");
  EXPECT_EQ(all.skipped.at("alias"), "is a symbolic link");
}

TEST_F(Harvest, PipesAndSocketsAreSaidAndDoNotHang) {
  fs::create_directories(work("out"));
  ASSERT_EQ(::mkfifo(work("out/pipe").c_str(), 0644), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, {}};
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", work("out/socket").c_str());
  ASSERT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const auto all = collect({"out/*"});
  ::close(socket);
  EXPECT_TRUE(all.complete);
  EXPECT_EQ(all.skipped.at("out/pipe"), "is a pipe");
  EXPECT_EQ(all.skipped.at("out/socket"), "is a socket");
}

TEST_F(Harvest, SparseTerabyteIsTooLargeAndTheSmallOnesStillCome) {
  writeText(work("out/small"), "s");
  writeText(work("out/sparse"), "");
  ASSERT_EQ(::truncate(work("out/sparse").c_str(), 1LL << 40), 0);
  const auto all = collect({"out/**"});
  EXPECT_EQ(all.files.size(), 1u);
  EXPECT_EQ(all.skipped.at("out/sparse"), "would exceed results.max_size");
}

TEST_F(Harvest, TakesAsMuchAsMaxSizeAndNotOneByteMore) {
  writeText(work("a"), std::string(400, 'a'));
  writeText(work("b"), std::string(600, 'b'));
  EXPECT_EQ(collect({"*"}, 1000).files.size(), 2u);
  const auto less = collect({"*"}, 999);
  EXPECT_EQ(less.files.size(), 1u);
  EXPECT_EQ(less.skipped.at("b"), "would exceed results.max_size");
}

TEST_F(Harvest, OddNamesArrive) {
  writeText(work("out/a\xff b"), "1");
  writeText(work("out/gr\xc3\xbc\xc3\x9f"), "2");
  writeText(work("out/.hidden"), "3");
  const auto all = collect({"out/**"});
  EXPECT_EQ(all.files.at("out/a%ff b"), "1");
  EXPECT_EQ(all.files.at("out/gr\xc3\xbc\xc3\x9f"), "2");
  EXPECT_EQ(all.files.at("out/.hidden"), "3");
}

TEST_F(Harvest, FileOfManyMebibytesArrivesWhole) {
  std::string bytes(9 << 20, '\0');
  for (std::size_t i = 0; i < bytes.size(); i += 97) bytes[i] = static_cast<char>(i);
  writeText(work("large"), bytes);
  EXPECT_EQ(collect({"large"}, 10 << 20).files.at("large"), bytes);
}

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

}  // namespace
}  // namespace warder::report
