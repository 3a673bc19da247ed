// The conductor of one run: starts the services, then the agent, ends what has to end, and sees the
// outcome home. One thread, callbacks; it never blocks on the disk, the network or a process, but
// for the bounded waits of a start (seconds at most).
//
//   Starting → Baseline → Running → Stopping → Leftovers → Harvest → Closing → Delivering → done
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "supervisor/init/control_door.h"
#include "supervisor/init/disk_watch.h"
#include "supervisor/init/init_config.h"
#include "supervisor/init/memory_watch.h"
#include "supervisor/init/orders.h"
#include "supervisor/init/program_watch.h"
#include "supervisor/init/run_status.h"
#include "supervisor/init/secret_sources.h"
#include "supervisor/init/stage_link.h"
#include "supervisor/init/start_watch.h"
#include "supervisor/init/stop_budget.h"
#include "supervisor/launch/agent_network.h"
#include "supervisor/launch/planner.h"
#include "supervisor/launch/spawner.h"
#include "supervisor/launch/trust_place.h"
#include "supervisor/launch/unix_doors.h"
#include "supervisor/report/fold.h"
#include "supervisor/watch/reaper.h"

namespace warder::init {

class Supervisor {
 public:
  /// Who watches the run gets {"event": …} for each event and {"status": …} (run_status.h) twice a
  /// second; must not block.
  using Viewer = std::function<void(const base::json::object&)>;

  /// `orders` when this process has read them already; else they are read again.
  Supervisor(boost::asio::io_context& context, InitConfig config, Viewer viewer,
             std::optional<Orders> orders = std::nullopt);

  /// Conducts the run to its end; returns the exit code of the box.
  ~Supervisor();
  int run();

 private:
  enum class Phase {
    Starting,
    Baseline,
    Running,
    Stopping,
    Leftovers,
    Harvest,
    Closing,
    Delivering,
    Done
  };
  /// One running stage of ours: its pid for the reaper, its link for words.
  struct Service {
    pid_t pid = -1;
    std::unique_ptr<StageLink> link;
  };
  using Handler = void (Supervisor::*)(const base::json::object&);

  // setup.cpp
  base::Status startScribe();
  base::Status awaitScribe();
  base::Status syncRunFolder() const;
  void openControl();
  base::Status readOrders();
  void recordStart();
  void startCourier();
  void startStored();
  void buildBox();
  base::Status preparePlace();
  base::Status openCgroups();
  base::Status makeRoot();
  void setupFailed(const std::string& step, const base::Error& error);

  // ways_out.cpp
  void startNetwork();
  void makeNetworkAndBroker();
  void secretsGathered(SecretSources::Gathered gathered);
  base::Status makeNetwork();
  void warnAboutNetwork();
  base::json::object describeNetwork() const;
  void closeDoors();
  base::Status makeUnixDoors();
  void watchSources();
  void revokeSecrets();
  base::Status startBroker();
  base::Status awaitBroker();
  base::Result<launch::PreparedTrust> prepareTrust();

  // workload.cpp
  void startBaseline();
  void startAgent();
  void watchAgent();
  base::Status runHarvestStage(const std::string& mode, int stream);
  base::Status lendHarvestFolder(bool lend);
  int networkFd(int number) const;
  int networkOr(int otherwise) const;

  // ending.cpp
  void requestStop(const std::string& by, const base::json::object& details);
  void stopAgain();
  void killAgent();
  void killRest();
  void agentEnded(const watch::Ended& ended);
  void endLeftovers();
  void leftoversStep();
  void outputsClosed();
  void startHarvest();
  void harvestEnded();
  void giveUpAfter(std::chrono::milliseconds limit, const std::string& duty);
  void close();
  void deliver();
  void finish(bool delivered);

  // supervisor.cpp
  void record(base::Event event, int token = 0);
  void show(const base::json::object& event);
  base::json::object statusJson();
  void tellStatus();
  void listenForSignals();
  void onSignals();
  void onSignal(int number);
  void onChildEnded(const watch::Ended& ended);
  void serviceEnded(const std::string& name, const watch::Ended& ended);
  void onScribe(const base::json::object& message);
  void onBroker(const base::json::object& message);
  void onCourier(const base::json::object& message);
  Service adopt(launch::StartedStage stage, Handler handler);
  std::vector<pid_t> ownStages() const;
  void after(std::chrono::milliseconds delay, std::function<void()> action);

  boost::asio::io_context& context_;
  InitConfig config_;
  bool orders_read_ = false;
  Orders orders_;
  const job::JobSpec& job_ = orders_.job;
  report::Fold fold_;
  Phase phase_ = Phase::Starting;
  Viewer viewer_;
  std::unique_ptr<ControlDoor> control_;
  RunStatus status_;
  base::UniqueFd run_folder_;
  Service scribe_, broker_, courier_;
  pid_t agent_ = -1;
  pid_t harvest_ = -1;
  std::unique_ptr<StageLink> harvest_link_;
  std::optional<launch::StartedStage> pending_scribe_, pending_network_, pending_broker_;
  launch::AgentNetwork network_;
  std::string trust_folder_;  // in place: to be removed at the end
  std::string ca_pem_;        // of the broker's authority; empty: it ends no TLS
  launch::UnixDoors unix_doors_;
  launch::BoxFacts facts_;
  std::unique_ptr<SecretSources> sources_;
  std::unique_ptr<MemoryWatch> memory_;
  std::unique_ptr<ProgramWatch> program_;
  std::unique_ptr<StartWatch> start_;
  std::unique_ptr<DiskWatch> disk_;
  boost::asio::posix::stream_descriptor signals_;
  boost::asio::steady_timer wall_, step_, told_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point agent_started_;
  StopBudget budget_;
  base::UniqueFd agent_cgroup_, cgroup_kill_;
  std::string mechanism_ = "netns";
  std::size_t terminated_ = 0, killed_ = 0;
  int courier_starts_ = 0;
  bool start_stored_ = false;
  bool box_made_ = false;
  bool harvested_ = false;
  bool spool_lost_ = false;
  int exit_code_ = 16;
};

}  // namespace warder::init
