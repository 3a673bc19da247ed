// The first half of a run: services, orders, box. Part of supervisor.h.
#include <fcntl.h>
#include <unistd.h>

#include "supervisor/base/log.h"
#include "supervisor/init/courier_start.h"
#include "supervisor/init/in_place.h"
#include "supervisor/init/lent_files.h"
#include "supervisor/init/supervisor.h"
#include "supervisor/init/tokens.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/launch/box_root.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/inherited_environment.h"
#include "supervisor/launch/namespaces.h"

extern char** environ;

namespace warder::init {

using base::Durability;
using base::Error;
using base::Kind;
using base::Status;
using launch::StageStart;
namespace json = base::json;

namespace {
constexpr const char* kHostName = "box";

std::vector<std::string> processEnvironment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}
}  // namespace

Status Supervisor::startScribe() {
  if (!config_.inPlace())
    if (auto prepared = launch::prepareBox(kHostName); !prepared) return prepared;
  auto folder = base::openFile(config_.run_dir, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  run_folder_ = std::move(*folder);
  StageStart start;
  start.stage = "scribe";
  start.extra_fds = {run_folder_.get()};
  start.config = {{"run_dir", pathByFd(base::kFirstExtraFd)},
                  {"run_id", config_.run_id},
                  {"attempt", config_.attempt}};
  start.uid = serviceUid(config_.one_id, launch::kScribeUid);
  start.gid = launch::kSpoolGid;
  auto stage = launch::startStage(start);
  if (!stage) return stage.error();
  pending_scribe_ = std::move(*stage);
  return {};
}

/// What `warder deliver` needs to know of this run is on disk before the agent starts.
Status Supervisor::syncRunFolder() const {
  for (const char* name : {journal::kIdentityFile, journal::kDeliveryFile}) {
    auto file = base::openAt(run_folder_.get(), name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (!file) return file.error();
    if (::fsync(file->get()) != 0) return base::kernelError("cannot sync " + std::string(name));
  }
  return {};
}

Status Supervisor::awaitScribe() {
  auto ready = launch::awaitReady(*pending_scribe_, kStartLimit);
  if (!ready) return ready.error();
  scribe_ = adopt(std::move(*pending_scribe_), &Supervisor::onScribe);
  return {};
}

Status Supervisor::readOrders() {
  if (!orders_read_) {
    auto orders = readOrdersAgain(config_);
    if (!orders) return orders.error();
    orders_ = std::move(*orders);
  }
  facts_.run_id = config_.run_id;
  if (!config_.inPlace()) facts_.root = config_.run_dir + "/root";
  facts_.one_id = config_.one_id;
  facts_.executable = orders_.executable;
  auto emit = [this](base::Event event) { record(std::move(event)); };
  memory_ = std::make_unique<MemoryWatch>(context_, job_.memory.warn_at_percent, emit);
  status_.marks = job_.memory.warn_at_percent;
  return {};
}

/// For `warder status` and `warder cancel`. A run that cannot be asked is still a run.
void Supervisor::openControl() {
  ControlDoor::Handlers handlers;
  handlers.status = [this] { return statusJson(); };
  handlers.cancel = [this](const std::string& by) {
    if (phase_ >= Phase::Stopping) return stopAgain();
    requestStop("cancel", {{"who", by}});
  };
  handlers.may_control = mayControl;
  auto door = ControlDoor::open(context_, config_.run_dir, handlers);
  if (door) control_ = std::move(*door);
  if (!door)
    record({"preflight.warning",
            {{"sentence",
              "warder status and warder cancel cannot ask this run: " + door.error().sentence()}}});
}

void Supervisor::recordStart() {
  record({"run.started", describeStart(config_, orders_), Durability::Outcome}, kStartToken);
  after(kClosingLimit, [this] {
    setupFailed("spool", Error{Kind::Timeout, "the scribe did not store the start in time"});
  });
}

void Supervisor::startCourier() {
  if (job_.results.to.empty()) return;
  ++courier_starts_;
  const CourierStart start{run_folder_.get(), config_.run_id,    config_.attempt,
                           job_.results.to,   config_.token_fds, config_.one_id};
  auto stage = startCourierStage(start);
  if (!stage) return base::log(base::Level::Error, stage.error().sentence());
  courier_ = adopt(std::move(*stage), &Supervisor::onCourier);
}

/// The start record is on disk. The courier comes first, so that the record leaves at once
/// (BC-101).
void Supervisor::startStored() {
  phase_ = Phase::Baseline;
  step_.cancel();
  startCourier();
  start_stored_ = true;
  if (!sources_ || !sources_->gathering()) buildBox();
}

void Supervisor::buildBox() {
  if (auto ready = awaitBroker(); !ready) return setupFailed("broker", ready.error());
  auto made = config_.inPlace() ? preparePlace() : makeRoot();
  if (!made) return setupFailed("box", made.error());
  box_made_ = true;
  record({"box.ready", describeNetwork()});
  if (job_.results.patch)
    startBaseline();
  else
    startAgent();
}

/// Where the agent is put at its start, and what kills all of them at once.
Status Supervisor::openCgroups() {
  if (config_.cgroups.empty()) return {};
  auto agent = base::openFile(config_.cgroups + "/workload/agent/cgroup.procs", O_WRONLY);
  if (!agent) return agent.error();
  agent_cgroup_ = std::move(*agent);
  // Linux 5.14. Where it is not there, everything is stopped and killed one by one.
  auto kill = base::openFile(config_.cgroups + "/workload/cgroup.kill", O_WRONLY);
  if (kill) cgroup_kill_ = std::move(*kill);
  if (broker_.pid < 0) return {};
  auto broker = base::openFile(config_.cgroups + "/broker/cgroup.procs", O_WRONLY);
  if (!broker) return broker.error();
  return base::writeAll(broker->get(), std::to_string(broker_.pid));
}

/// What a place that somebody else made has, and what it lacks.
Status Supervisor::preparePlace() {
  const bool booted = config_.engine == "microvm";
  for (const auto& sentence : booted ? config_.boot_warnings : lookAtPlace())
    record({"preflight.warning", {{"sentence", sentence}}});
  facts_.workspace = job_.agent.workspace;
  if (const auto sentence = lookAtWorkspace(facts_.workspace, job_.agent.user); !sentence.empty())
    record({"preflight.warning", {{"sentence", sentence}}});
  auto home = findHome(job_.agent.user, config_.run_id);
  if (!home) return home.error();
  facts_.home = std::move(*home);
  const auto environment = processEnvironment();
  const auto sifted = launch::siftEnvironment(environment, job::secretVariables(job_));
  facts_.inherited = sifted.passed;
  for (const auto& name : sifted.held_back)
    record({"preflight.warning",
            {{"sentence", "the agent does not get " + name +
                              ", whose name speaks of a credential; if it shall, write it into "
                              "agent.env"}}});
  for (const auto& name : sifted.loaders)
    record({"preflight.warning",
            {{"sentence", "the agent does not get " + name +
                              ", which makes programs run what nobody named; if it shall, write it "
                              "into agent.env"}}});
  if (!ca_pem_.empty())
    if (auto trust = prepareTrust(); !trust) return trust.error().during("certificates");
  return openCgroups();
}

Status Supervisor::makeRoot() {
  launch::BoxRoot box;
  box.mount_point = facts_.root;
  box.workspace = job_.agent.workspace;
  box.image = job_.agent.root;
  box.read_only = job_.agent.read_only;
  box.tmp_size = job_.agent.tmp_size;
  box.uid = job_.agent.user.uid;
  box.gid = job_.agent.user.gid;
  // With one id, the agent's is this namespace's 0, shown under its own number inside.
  box.owner_uid = config_.one_id ? 0 : box.uid;
  box.owner_gid = config_.one_id ? 0 : box.gid;
  box.can_map_owner = !config_.one_id;
  box.host_name = kHostName;
  box.doors = &unix_doors_;
  box.name_server = broker_.pid > 0;
  if (!ca_pem_.empty()) {
    auto trust = prepareTrust();
    if (!trust) return trust.error().during("certificates");
    box.trust = std::move(trust->trust);
  }
  return launch::buildBoxRoot(box);
}

void Supervisor::setupFailed(const std::string& step, const Error& error) {
  record({"setup.failed",
          {{"step", step}, {"sentence", error.sentence()}, {"errno", error.system_errno}},
          Durability::Outcome});
  endLeftovers();
}

}  // namespace warder::init
