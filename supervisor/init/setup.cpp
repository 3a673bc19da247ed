// The first half of a run: services, orders, box, agent. Part of supervisor.h.
#include <fcntl.h>
#include <unistd.h>

#include "secrets/grant_plan.h"
#include "supervisor/base/log.h"
#include "supervisor/init/in_place.h"
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

/// How a service names the run's folder, and other things it is lent: through a descriptor, because
/// its user may not be allowed to pass the folders above (a spool below /root or a private
/// temporary folder).
std::string pathByFd(int number) {
  return "/proc/self/fd/" + std::to_string(number);
}

constexpr std::size_t kMaxCaFile = 4 << 20;  // as job_files

/// Lends files to a stage by descriptor, for the same reason; a copy, because the stage's user may
/// not be allowed to read the file itself.
class LentFiles {
 public:
  explicit LentFiles(StageStart& start) : start_(start) {}

  /// The path by which the stage opens the copy; empty for an empty path.
  base::Result<std::string> lend(const std::string& path) {
    if (path.empty()) return path;
    auto text = base::readFile(path, kMaxCaFile);
    if (!text) return text.error();
    auto copy = base::sealedText("ca_file", *text);
    if (!copy) return copy.error();
    const int number = base::kFirstExtraFd + static_cast<int>(start_.extra_fds.size());
    start_.extra_fds.push_back(copy->get());
    files_.push_back(std::move(*copy));
    return pathByFd(number);
  }

 private:
  StageStart& start_;
  std::vector<base::UniqueFd> files_;  // open until the stage has its own
};

std::vector<std::string> processEnvironment() {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

/// The service's own id, or 0 (keep ours) where only one id can be used.
uid_t serviceUid(bool one_id, uid_t uid) {
  return one_id ? 0 : uid;
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
  StageStart start;
  start.stage = "courier";
  LentFiles files(start);
  json::array sinks;
  for (std::size_t i = 0; i < job_.results.to.size(); ++i) {
    // A courier that was started again reads its token from the beginning.
    ::lseek(config_.token_fds.at(i), 0, SEEK_SET);
    const int token = base::kFirstExtraFd + static_cast<int>(start.extra_fds.size());
    start.extra_fds.push_back(config_.token_fds[i]);
    auto ca_file = files.lend(job_.results.to[i].ca_file);
    if (!ca_file) return base::log(base::Level::Error, ca_file.error().sentence());
    sinks.push_back(
        {{"collector", job_.results.to[i].url}, {"token_fd", token}, {"ca_file", *ca_file}});
  }
  const int folder = base::kFirstExtraFd + static_cast<int>(start.extra_fds.size());
  start.extra_fds.push_back(run_folder_.get());
  start.config = {{"run_dir", pathByFd(folder)},
                  {"run_id", config_.run_id},
                  {"attempt", config_.attempt},
                  {"sinks", std::move(sinks)}};
  start.uid = serviceUid(config_.one_id, launch::kCourierUid);
  start.gid = launch::kSpoolGid;
  auto stage = launch::startStage(start);
  if (!stage) return base::log(base::Level::Error, stage.error().sentence());
  courier_ = adopt(std::move(*stage), &Supervisor::onCourier);
}

/// Runs once the start record is on disk. The courier comes first, so that the record leaves at
/// once (BC-101).
void Supervisor::buildBox() {
  phase_ = Phase::Baseline;
  step_.cancel();
  startCourier();
  if (auto ready = awaitBroker(); !ready) return setupFailed("broker", ready.error());
  auto made = config_.inPlace() ? preparePlace() : makeRoot();
  if (!made) return setupFailed("box", made.error());
  box_made_ = true;
  json::array doors;
  for (const auto& door : facts_.doors)
    doors.push_back({{"grant", door.secret}, {"url", door.url}});
  record({"box.ready", {{"mechanism", mechanism_}, {"doors", std::move(doors)}}});
  if (job_.results.patch)
    startBaseline();
  else
    startAgent();
}

/// The doors' ports in a network of the agent's own, where all are free.
std::vector<std::uint16_t> Supervisor::doorPorts() const {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < config_.secret_fds.size(); ++i)
    ports.push_back(static_cast<std::uint16_t>(launch::kFirstDoorPort + i));
  return ports;
}

/// Processes take their time to start, so those that wait for nobody are started first.
void Supervisor::startNetwork() {
  if (config_.inPlace() && !launch::mayMakeNetworks()) return;
  auto stage = launch::startNetworkStage(doorPorts());
  if (stage) pending_network_ = std::move(*stage);
  if (!stage) base::log(base::Level::Error, stage.error().sentence());
}

/// While the scribe stores the start; the agent waits for both.
void Supervisor::makeNetworkAndBroker() {
  if (auto network = makeNetwork(); !network) return setupFailed("network", network.error());
  if (auto started = startBroker(); !started) return setupFailed("broker", started.error());
}

/// A network of the agent's own where that can be had. Where it cannot, the policy does not bind
/// what goes past the broker: only a policy that says so lets the run start.
Status Supervisor::makeNetwork() {
  Error why{Kind::Kernel, "it takes CAP_SYS_ADMIN and CAP_NET_ADMIN"};
  if (pending_network_) {
    auto network = launch::awaitNetwork(*pending_network_, doorPorts());
    if (network) network_ = std::move(*network);
    if (network) return {};
    why = network.error();
  }
  if (!config_.inPlace()) return why;
  if (!orders_.policy.allow_degraded)
    return Error{Kind::Config,
                 "the agent cannot have a network of its own here (" + why.sentence() +
                     "), so that it could walk around the policy; give the container what is "
                     "missing, or say allow_degraded: true in the policy"};
  auto here = launch::listenHere(config_.secret_fds.size());
  if (!here) return here.error();
  network_ = std::move(*here);
  mechanism_ = "advisory";
  record({"preflight.warning",
          {{"sentence",
            "mechanism advisory (allow_degraded): the agent shares this container's network; " +
                why.sentence()}}});
  return {};
}

Status Supervisor::startBroker() {
  if (job_.secrets.empty()) return {};

  secrets::BrokerConfig broker;
  broker.policy = orders_.policy;
  std::vector<secrets::GrantRequest> requests;
  for (const auto& secret : job_.secrets)
    requests.push_back({secret.name, secret.provider, secret.base_url, secret.ca_file});
  auto grants = secrets::planGrants(requests);
  if (!grants) return grants.error();
  broker.grants = std::move(*grants);
  StageStart start;
  start.stage = "broker";
  int number = base::kFirstExtraFd;
  for (std::size_t i = 0; i < broker.grants.size(); ++i) {
    auto& grant = broker.grants[i];
    facts_.doors.push_back({grant.name, secrets::doorUrl(network_.ports[i]), grant.placeholder});
    grant.secret_fd = number++;
    start.extra_fds.push_back(config_.secret_fds.at(i));
    for (const auto& listener : network_.listeners[i]) {
      grant.listener_fds.push_back(number++);
      start.extra_fds.push_back(listener.get());
    }
  }
  LentFiles files(start);
  for (auto& grant : broker.grants) {
    auto ca_file = files.lend(grant.upstream.ca_file);
    if (!ca_file) return ca_file.error();
    grant.upstream.ca_file = std::move(*ca_file);
  }
  start.config = secrets::toJson(broker);
  start.uid = serviceUid(config_.one_id, launch::kBrokerUid);
  start.gid = start.uid;
  auto stage = launch::startStage(start);
  if (!stage) return stage.error();
  broker_.pid = stage->pid;
  pending_broker_ = std::move(*stage);
  network_.listeners.clear();
  for (const int fd : config_.secret_fds) ::close(fd);
  return {};
}

Status Supervisor::awaitBroker() {
  if (!pending_broker_) return {};
  auto ready = launch::awaitReady(*pending_broker_, kStartLimit);
  broker_ = adopt(std::move(*pending_broker_), &Supervisor::onBroker);
  pending_broker_.reset();
  if (!ready) return ready.error();
  return {};
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
  return launch::buildBoxRoot(box);
}

void Supervisor::setupFailed(const std::string& step, const Error& error) {
  record({"setup.failed",
          {{"step", step}, {"sentence", error.sentence()}, {"errno", error.system_errno}},
          Durability::Outcome});
  endLeftovers();
}

}  // namespace warder::init
