// What runs with the agent's identity: the agent itself, and the harvest before and after it. Part
// of supervisor.h.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "supervisor/base/log.h"
#include "supervisor/init/box_processes.h"
#include "supervisor/init/supervisor.h"
#include "supervisor/init/tokens.h"
#include "supervisor/launch/box_root.h"
#include "supervisor/launch/confine.h"

namespace warder::init {

using base::Durability;
using base::Error;
using base::Kind;
using base::Status;
using launch::StageStart;
namespace json = base::json;

void Supervisor::startBaseline() {
  if (auto started = runHarvestStage("baseline", -1); !started)
    return setupFailed("baseline", started.error());
  after(kBaselineLimit, [this] {
    if (harvest_ > 0) ::kill(harvest_, SIGKILL);
  });
}

/// The number under which the exec stage finds the agent's network; -1 where it has none of its
/// own.
int Supervisor::networkFd(int number) const {
  return network_.network_namespace ? number : -1;
}

/// The same as a descriptor to lend; `otherwise` holds its place.
int Supervisor::networkOr(int otherwise) const {
  return network_.network_namespace ? network_.network_namespace.get() : otherwise;
}

/// The harvest's folder is the agent's user's while the harvest runs. In place the agent could walk
/// to it meanwhile, and change what the patch is made against; so it is taken back.
Status Supervisor::lendHarvestFolder(bool lend) {
  if (config_.one_id) return {};
  const std::string folder = config_.run_dir + "/harvest";
  const job::User owner = lend ? job_.agent.user : job::User{0, 0};
  if (::chown(folder.c_str(), owner.uid, owner.gid) != 0)
    return base::kernelError("cannot prepare the harvest's folder");
  return {};
}

Status Supervisor::runHarvestStage(const std::string& mode, int stream) {
  const std::string folder = config_.run_dir + "/harvest";
  const auto limit = budget_.forHarvest(kHarvestLimit, std::chrono::steady_clock::now());
  if (auto lent = lendHarvestFolder(true); !lent) return lent;
  const std::string private_dir = config_.inPlace() ? folder : launch::kPrivateInBox;
  json::array globs;
  for (const auto& glob : job_.results.artifacts) globs.emplace_back(glob);
  const json::object harvest = {{"mode", mode},
                                {"workspace", facts_.workspace},
                                {"private_dir", private_dir},
                                {"artifacts", std::move(globs)},
                                {"patch", job_.results.patch},
                                {"max_size", job_.results.max_size},
                                {"deadline_ms", limit.count()},
                                {"stream_fd", base::kFirstExtraFd}};
  auto config = base::sealedText("harvest", json::serialize(harvest));
  if (!config) return config.error();
  auto nothing = base::openFile("/dev/null", O_RDWR);
  if (!nothing) return nothing.error();
  launch::ExecPlan plan = launch::planHarvest(job_, facts_, folder);
  const int first = base::kFirstExtraFd;
  plan.fds = {first, -1, -1, networkFd(first + 1), first + 2, first + 3};
  StageStart start{"exec", launch::toJson(plan), {}, 0, 0, false};
  start.extra_fds = {nothing->get(), networkOr(nothing->get()), config->get(),
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

/// What its program is (BC-097), and whether it does anything at all (BC-043).
void Supervisor::watchAgent() {
  const auto emit = [this](base::Event event) { record(std::move(event)); };
  const uid_t reader = config_.one_id ? 0 : launch::kBrokerUid;
  program_ = std::make_unique<ProgramWatch>(context_, job_, emit,
                                            programReader(reader, launch::kSpoolGid));
  program_->start(facts_.executable);
  StartWatch::Eyes eyes;
  eyes.signs = [this] { return signsOf(config_.run_dir, descendants(ownStages())); };
  eyes.last_line = [this] { return lastOutputLine(config_.run_dir); };
  eyes.emit = emit;
  start_ = std::make_unique<StartWatch>(context_, std::move(eyes));
  start_->start();
  // What is in memory or of a limited size; a workspace on a network could keep us waiting.
  std::vector<DiskWatch::Place> places;
  for (const std::string& shown : {std::string("/tmp"), std::string("/dev/shm"), facts_.home})
    places.push_back({shown, facts_.root + shown});
  disk_ = std::make_unique<DiskWatch>(std::move(places), emit);
}

void Supervisor::startAgent() {
  launch::ExecPlan plan = launch::planAgent(job_, facts_);
  const int first = base::kFirstExtraFd;
  plan.fds = {first, first + 1, first + 2, networkFd(first + 3), -1, -1};
  if (agent_cgroup_) plan.fds.cgroup = first + 4;
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
                     networkOr(input->get())};
  if (agent_cgroup_) start.extra_fds.push_back(agent_cgroup_.get());
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
  if (broker_.link) broker_.link->send({{"agent_started", true}});
  record(
      {"agent.started",
       {{"pid", agent_}, {"argv", repeatWords(plan.argv)}, {"uid", plan.uid}, {"gid", plan.gid}}});
  memory_->start();
  watchAgent();
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

}  // namespace warder::init
