// Is the agent's program at the end what it was at the start? Agents update themselves (BC-097).
#pragma once
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/event.h"
#include "supervisor/init/stage_link.h"
#include "supervisor/job/job_spec.h"
#include "supervisor/launch/spawner.h"
#include "supervisor/report/program_facts.h"

namespace warder::init {

class ProgramWatch {
 public:
  /// Starts the stage that reads these descriptors (report/program_facts.h).
  using StartReader = std::function<base::Result<launch::StartedStage>(int program, int package)>;

  /// `job` must live as long as this.
  ProgramWatch(boost::asio::io_context& context, const job::JobSpec& job, base::Emit emit,
               StartReader start_reader);
  ~ProgramWatch();
  ProgramWatch(const ProgramWatch&) = delete;
  ProgramWatch& operator=(const ProgramWatch&) = delete;

  /// Call when the agent has started, with its path in the box: remembers what it is now and emits
  /// agent.program with "at": "start" once it was read.
  void start(const std::string& executable);

  /// Call when nothing of the agent runs any more: emits agent.program with "at": "end", and calls
  /// `done` after that, never from inside of this call; at the latest after `limit`.
  void finish(std::function<void()> done, std::chrono::milliseconds limit);

  /// The stage that reads, which is no process of the agent; -1 when there is none. The reaper may
  /// collect it: this class learns of its end from its socket.
  pid_t stage() const { return stage_; }

 private:
  /// A file as it is found under the agent's name.
  struct Look {
    std::string sentence;  // why it is not to be read; empty when it is
    std::string real_path;
    struct stat facts {};
    base::UniqueFd file;
    std::optional<report::ProgramFacts> read;
  };
  enum class Step { Idle, ReadingStart, Watching, ReadingEnd, Done };

  Look look() const;
  void read(Look& look);
  void heard(const base::json::object& message);
  void readerEnded();
  void compare();
  void conclude();
  void giveUp();
  void tell(const Look& look, const std::string& at, base::json::object more);
  bool changed() const;
  std::string sentence() const;

  boost::asio::io_context& context_;
  const job::JobSpec& job_;
  base::Emit emit_;
  StartReader start_reader_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<StageLink> link_;
  std::string executable_;
  Step step_ = Step::Idle;
  Look start_, end_;
  pid_t stage_ = -1;
  bool heard_ = false;
  std::function<void()> done_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

/// The stage under a service's uid (0: ours).
ProgramWatch::StartReader programReader(uid_t uid, gid_t gid);

/// What a caller in no hurry gives for reading the program at the end.
inline constexpr std::chrono::milliseconds kProgramLimit{10'000};

}  // namespace warder::init
