// Chooses what this process is: a stage, by its first argument, or the command line. Nothing else
// may live here.
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "secrets/broker_config.h"
#include "secrets/secret_check.h"
#include "secrets/source_stage.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/boot/machine.h"
#include "supervisor/cli/cli.h"
#include "supervisor/courier/courier.h"
#include "supervisor/init/init_config.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/launch/agent_network.h"
#include "supervisor/launch/box_root.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/exec_plan.h"
#include "supervisor/report/harvest.h"
#include "supervisor/report/program_facts.h"
#include "supervisor/watch/signals.h"

namespace {

using namespace warder;

constexpr std::string_view kStage = "--stage=";
constexpr std::string_view kAs = "--as=";

struct Stage {
  std::string_view name;
  int (*main)();
};
constexpr Stage kStages[] = {{"init", init::initMain},
                             {"exec", launch::execMain},
                             {"net", launch::networkMain},
                             {"userns", launch::userNamespaceMain},
                             {"broker", secrets::brokerMain},
                             {"secret-check", secrets::secretCheckMain},
                             {"source", secrets::sourceMain},
                             {"scribe", journal::scribeMain},
                             {"courier", courier::courierMain},
                             {"harvest", report::harvestMain},
                             {"program", report::programFactsMain}};

/// "--as=UID:GID": this stage is a service and gives up what it does not need first.
bool becomeService(std::string_view argument) {
  unsigned uid = 0, gid = 0;
  const char* end = argument.data() + argument.size();
  const auto first = std::from_chars(argument.data() + kAs.size(), end, uid);
  const auto second = std::from_chars(first.ptr + 1, end, gid);
  if (first.ec != std::errc() || second.ec != std::errc()) return false;
  auto became = launch::becomeService(uid, gid);
  if (!became) (void)base::sayFailed(base::kControlFd, "service", became.error());
  return bool(became);
}

int runStage(int argc, char** argv, std::string_view name) {
  for (const auto& stage : kStages) {
    if (stage.name != name) continue;
    base::setUpLog(name);
    if (argc > 2 && std::string_view(argv[2]).starts_with(kAs) && !becomeService(argv[2]))
      return 125;
    return stage.main();
  }
  ::_exit(125);  // what tries whether this binary can be executed waits for it (boot/initramfs.cpp)
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  const bool stage = first.starts_with(kStage);
  if (!stage && boot::isFirstProcessOfKernel() && boot::isInInitramfs()) {
    watch::restoreInheritedMask();  // the second half, which is executed, inherits it
    boot::startFromInitramfs();
  }
  // Everything is blocked since the entry point. An init stays so, so that no signal is lost.
  if (stage ? first.substr(kStage.size()) == "init" : cli::actsAsInit(argc, argv))
    watch::blockAll();
  else
    watch::restoreInheritedMask();
  if (stage) return runStage(argc, argv, first.substr(kStage.size()));
  return cli::commandLine(argc, argv);
}
