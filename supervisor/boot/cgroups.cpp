#include "supervisor/boot/cgroups.h"

#include <algorithm>
#include <sstream>

#include "supervisor/base/fd.h"
#include "supervisor/boot/file_steps.h"

namespace warder::boot {

using base::Result;
using base::Status;

namespace {

constexpr const char* kControllers[] = {"memory", "pids", "cpu"};

Status handDown(const std::string& group, const std::vector<std::string>& controllers) {
  // One at a time: one that cannot be handed down must not take the others with it.
  for (const auto& controller : controllers)
    if (auto written = writeText(group + "/cgroup.subtree_control", "+" + controller); !written)
      return written.error().during("handing down " + controller);
  return {};
}

}  // namespace

std::vector<std::string> wantedControllers(std::string_view available) {
  std::istringstream words{std::string(available)};
  std::vector<std::string> there;
  for (std::string word; words >> word;) there.push_back(word);
  std::vector<std::string> wanted;
  for (const char* controller : kControllers)
    if (std::find(there.begin(), there.end(), controller) != there.end())
      wanted.emplace_back(controller);
  return wanted;
}

Result<Cgroups> makeCgroups(const std::string& root, std::vector<std::string>& warnings) {
  auto available = base::readFile(root + "/cgroup.controllers", 4096);
  if (!available) return available.error();
  Cgroups groups;
  groups.root = root;
  groups.controllers = wantedControllers(*available);
  for (const char* controller : kControllers)
    if (std::find(groups.controllers.begin(), groups.controllers.end(), controller) ==
        groups.controllers.end())
      warnings.push_back("cgroups: this kernel has no \"" + std::string(controller) +
                         "\" controller, so it bounds nothing of that kind");
  groups.supervisor = root + "/supervisor";
  groups.broker = root + "/broker";
  const std::string workload = root + "/workload";
  groups.agent = workload + "/agent";
  groups.tools = workload + "/tools";
  for (const auto& group : {groups.supervisor, groups.broker, workload, groups.agent, groups.tools})
    if (auto made = makeFolder(group); !made) return made.error();
  if (auto moved = writeText(groups.supervisor + "/cgroup.procs", "0"); !moved)
    return moved.error().during("moving PID 1 into its group");
  for (const auto& group : {root, workload})
    if (auto handed = handDown(group, groups.controllers); !handed) return handed.error();
  return groups;
}

}  // namespace warder::boot
