#include "supervisor/report/harvest.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/report/artifacts.h"
#include "supervisor/report/work_tree_patch.h"

namespace warder::report {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

struct Order {
  bool collect = false;
  bool patch = false;
  ArtifactOrder artifacts;
  PatchOrder work_tree;
  int stream = -1;
  std::chrono::milliseconds time{};
};

Result<Order> readOrder() try {
  auto config = base::readStageConfig();
  if (!config) return config.error();
  const auto text = [&](const char* key) { return std::string(config->at(key).as_string()); };
  Order order;
  order.collect = text("mode") == "collect";
  if (!order.collect && text("mode") != "baseline")
    return Error{Kind::Internal, "the harvest's mode is unknown"};
  order.patch = config->at("patch").as_bool();
  order.stream = config->at("stream_fd").to_number<int>();
  order.time = std::chrono::milliseconds(config->at("deadline_ms").to_number<std::int64_t>());
  order.work_tree = {text("workspace"), text("private_dir"),
                     std::chrono::steady_clock::now() + order.time * 9 / 10};
  order.artifacts.workspace = text("workspace");
  order.artifacts.max_size = config->at("max_size").to_number<std::uint64_t>();
  order.artifacts.deadline = order.work_tree.deadline;
  if (order.patch) order.artifacts.deadline -= order.time / 3;  // the patch has its share
  for (const auto& glob : config->at("artifacts").as_array())
    order.artifacts.globs.emplace_back(glob.as_string());
  return order;
} catch (const std::exception& error) {
  return Error{Kind::Internal,
               std::string("the harvest's configuration is wrong: ") + error.what()};
}

Status collect(const Order& order) {
  // Not for git, nor for anything that it starts.
  if (auto set = base::setCloseOnExec(order.stream, true); !set) return set;
  HarvestSender sender(order.stream);
  if (!order.artifacts.globs.empty())
    if (auto sent = sendArtifacts(order.artifacts, sender); !sent) return sent;
  if (order.patch)
    if (auto sent = sendPatch(order.work_tree, sender); !sent) return sent;
  return sender.send(journal::HarvestDone{});
}

Status run() {
  if (auto hard = base::hardenStage(); !hard) return hard;
  (void)base::setCloseOnExec(base::kControlFd, true);  // where there is one
  ::signal(SIGPIPE, SIG_IGN);
  ::umask(077);
  auto order = readOrder();
  if (!order) return order.error();
  // Whatever blocks, a stream or a file system: the stage ends, and the scribe says that it did.
  ::alarm(static_cast<unsigned>(order->time.count() / 1000 + 2));
  if (order->collect) return collect(*order);
  return order->patch ? rememberWorkTree(order->work_tree) : Status();
}

}  // namespace

int harvestMain() {
  base::setUpLog("harvest");
  const Status done = run();
  if (done) return 0;
  base::log(base::Level::Error, done.error().sentence());
  (void)base::sayFailed(base::kControlFd, "harvest", done.error());
  return 1;
}

}  // namespace warder::report
