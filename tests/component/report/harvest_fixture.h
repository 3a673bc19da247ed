// A real harvest process over a real work tree, with real git.
#pragma once
#include <sys/stat.h>
#include <sys/wait.h>

#include <map>

#include "supervisor/base/wire.h"
#include "supervisor/journal/harvest_stream.h"
#include "supervisor/report/harvest.h"
#include "tests/support/run_folder.h"

namespace warder::report {

namespace fs = std::filesystem;
namespace json = boost::json;
using support::readText;
using support::writeText;

struct Harvested {
  std::map<std::string, std::string> files;  // path, bytes
  std::map<std::string, std::string> skipped;
  std::vector<std::string> order;
  std::string patch, patch_note, no_patch;
  std::map<std::string, std::string> left_out;  // of the patch: path, reason
  std::uint64_t left_out_count = 0;
  bool patch_sent = false, complete = false;
};

inline Harvested readHarvest(int stream) {
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
        all.left_out_count = end->left_out_count;
        for (const auto& left : end->left_out) all.left_out[left.path.text] = left.reason;
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
    Harvested all = readHarvest(stream->read.get());
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

}  // namespace warder::report
