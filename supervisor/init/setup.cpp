// The first half of a run: services, orders, box, agent. Part of supervisor.h.
#include <fcntl.h>
#include <unistd.h>

#include "secrets/grant_plan.h"
#include "supervisor/base/log.h"
#include "supervisor/init/supervisor.h"
#include "supervisor/init/tokens.h"
#include "supervisor/launch/box_root.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/namespaces.h"
#include "supervisor/watch/signals.h"

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

/// The service's own id, or 0 (keep ours) where only one id can be used.
uid_t serviceUid(bool one_id, uid_t uid) {
  return one_id ? 0 : uid;
}
}  // namespace

Status Supervisor::startScribe() {
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
  if (auto ready = launch::awaitReady(*stage, kStartLimit); !ready) return ready.error();
  scribe_ = adopt(std::move(*stage), &Supervisor::onScribe);
  return {};
}

Status Supervisor::readOrders() {
  auto orders = readOrdersAgain(config_);
  if (!orders) return orders.error();
  orders_ = std::move(*orders);
  facts_.run_id = config_.run_id;
  facts_.root = config_.run_dir + "/root";
  facts_.one_id = config_.one_id;
  facts_.executable = orders_.executable;
  auto emit = [this](base::Event event) { record(std::move(event)); };
  memory_ = std::make_unique<MemoryWatch>(context_, job_.memory.warn_at_percent, emit);
  return {};
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
  if (auto made = makeNetworkAndBroker(); !made) return setupFailed("broker", made.error());
  if (auto made = makeRoot(); !made) return setupFailed("box", made.error());
  json::array doors;
  for (const auto& door : facts_.doors)
    doors.push_back({{"grant", door.secret}, {"url", door.url}});
  record({"box.ready", {{"mechanism", "netns"}, {"doors", std::move(doors)}}});
  if (job_.results.patch)
    startBaseline();
  else
    startAgent();
}

Status Supervisor::makeNetworkAndBroker() {
  std::vector<std::uint16_t> ports;
  for (std::size_t i = 0; i < job_.secrets.size(); ++i)
    ports.push_back(static_cast<std::uint16_t>(launch::kFirstDoorPort + i));
  auto network = launch::makeAgentNetwork(ports);
  if (!network) return network.error();
  network_ = std::move(*network);
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
    facts_.doors.push_back({grant.name, secrets::doorUrl(ports[i]), grant.placeholder});
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
  auto ready = launch::awaitReady(*stage, kStartLimit);
  broker_ = adopt(std::move(*stage), &Supervisor::onBroker);
  network_.listeners.clear();
  for (const int fd : config_.secret_fds) ::close(fd);
  if (!ready) return ready.error();
  return {};
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

void Supervisor::startBaseline() {
  if (auto started = runHarvestStage("baseline", -1); !started)
    return setupFailed("baseline", started.error());
  after(kBaselineLimit, [this] {
    if (harvest_ > 0) ::kill(harvest_, SIGKILL);
  });
}

Status Supervisor::runHarvestStage(const std::string& mode, int stream) {
  const std::string folder = config_.run_dir + "/harvest";
  if (!config_.one_id && ::chown(folder.c_str(), job_.agent.user.uid, job_.agent.user.gid) != 0)
    return base::kernelError("cannot prepare the harvest's folder");
  json::array globs;
  for (const auto& glob : job_.results.artifacts) globs.emplace_back(glob);
  const json::object harvest = {{"mode", mode},
                                {"workspace", job::kWorkspaceInBox},
                                {"private_dir", launch::kPrivateInBox},
                                {"artifacts", std::move(globs)},
                                {"patch", job_.results.patch},
                                {"max_size", job_.results.max_size},
                                {"deadline_ms", kHarvestLimit.count()},
                                {"stream_fd", base::kFirstExtraFd}};
  auto config = base::sealedText("harvest", json::serialize(harvest));
  if (!config) return config.error();
  auto nothing = base::openFile("/dev/null", O_RDWR);
  if (!nothing) return nothing.error();
  launch::ExecPlan plan = launch::planHarvest(job_, facts_, folder);
  const int first = base::kFirstExtraFd;
  plan.fds = {first, -1, -1, first + 1, first + 2, first + 3};
  StageStart start{"exec", launch::toJson(plan), {}, 0, 0, false};
  start.extra_fds = {nothing->get(), network_.network_namespace.get(), config->get(),
                     stream < 0 ? nothing->get() : stream};
  auto stage = launch::startStage(start);
  if (!stage) return stage.error();
  harvest_ = stage->pid;
  StageLink::Handlers handlers;
  handlers.message = [](const json::object& message) {
    if (message.contains("failed"))
      base::log(base::Level::Error, "harvest: " + json::serialize(message));
  };
  handlers.closed = [] {};
  harvest_link_ = std::make_unique<StageLink>(context_, std::move(stage->control), handlers);
  return {};
}

void Supervisor::startAgent() {
  launch::ExecPlan plan = launch::planAgent(job_, facts_);
  const int first = base::kFirstExtraFd;
  plan.fds = {first, first + 1, first + 2, first + 3, -1, -1};
  auto output = base::makePipe();
  auto errors = base::makePipe();
  // The prompt is a file at its end of file, or there is nothing to read at all (BC-044).
  auto input = job_.agent.prompt_by == job::PromptBy::Stdin
                   ? base::sealedText("prompt", job_.agent.prompt)
                   : base::openFile("/dev/null", O_RDONLY);
  if (!output || !errors || !input)
    return setupFailed("agent", Error{Kind::Kernel, "cannot make the agent's streams"});
  StageStart start{"exec", launch::toJson(plan), {}, 0, 0, false};
  start.extra_fds = {input->get(), output->write.get(), errors->write.get(),
                     network_.network_namespace.get()};
  scribe_.link->send({{"output", "stdout"}}, {output->read.get()});
  scribe_.link->send({{"output", "stderr"}}, {errors->read.get()});
  auto stage = launch::startStage(start);
  if (!stage) return setupFailed("agent", stage.error());
  agent_ = stage->pid;
  // The control socket closes at exec: silence is success.
  auto word = launch::awaitMessage(stage->control.get(), kStartLimit);
  if (word || word.error().kind != Kind::Peer) {
    const Error failure = word ? launch::saidFailure(word->body) : word.error();
    ::kill(agent_, SIGKILL);
    agent_ = -1;
    return setupFailed("agent", failure);
  }
  phase_ = Phase::Running;
  agent_started_ = std::chrono::steady_clock::now();
  record(
      {"agent.started",
       {{"pid", agent_}, {"argv", repeatWords(plan.argv)}, {"uid", plan.uid}, {"gid", plan.gid}}});
  memory_->start();
  if (!job_.limits.wall) return;
  wall_.expires_after(*job_.limits.wall);
  wall_.async_wait([this](const boost::system::error_code& failure) {
    if (failure || phase_ != Phase::Running) return;
    record({"limit.reached",
            {{"limit", "wall"}, {"value_ms", job_.limits.wall->count()}},
            Durability::Outcome});
    requestStop("limit", {{"limit", "wall"}});
  });
}

void Supervisor::setupFailed(const std::string& step, const Error& error) {
  base::log(base::Level::Error, error.sentence());
  record({"setup.failed",
          {{"step", step}, {"sentence", error.sentence()}, {"errno", error.system_errno}},
          Durability::Outcome});
  endLeftovers();
}

}  // namespace warder::init
