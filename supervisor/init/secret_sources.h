// Where secrets come from while a run goes on: files that change, programs that are asked. Their
// bytes never pass through this process: what is handed on are descriptors, unread.
#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/init/stage_link.h"
#include "supervisor/job/job_spec.h"
#include "supervisor/launch/spawner.h"

namespace warder::init {

/// Between two looks at the files. One that changed is handed on when it is the same at the next
/// look: nobody is in the middle of writing it.
inline constexpr std::chrono::milliseconds kLookAtFiles{500};

class SecretSources {
 public:
  struct Handlers {
    /// There is something new to read for this secret; the descriptor is borrowed.
    std::function<void(const std::string& secret, int fd)> renewed;
    std::function<void(const std::string& secret, const std::string& sentence)> failed;
  };
  /// As whom programs run: 0 keeps ours.
  struct HelperUser {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string home = "/";
    std::function<base::Result<launch::StartedStage>(const launch::StageStart&)> start =
        launch::startStage;
  };

  /// `job` must live as long as this. `fds` are the secrets' descriptors, in the job's order: what
  /// they say of their files now is what was handed over already.
  SecretSources(boost::asio::io_context& context, const job::JobSpec& job,
                const std::vector<int>& fds, HelperUser user);
  ~SecretSources();
  SecretSources(const SecretSources&) = delete;
  SecretSources& operator=(const SecretSources&) = delete;

  /// The secrets' descriptors, with what programs wrote in the places of theirs; or what went wrong
  /// with the first that failed.
  using Gathered = base::Result<std::vector<base::UniqueFd>>;
  /// Asks all programs at once, and calls `done` when they are over; at once, from inside of this
  /// call, where there are none. What is gathered has a descriptor for programs alone.
  void gather(std::function<void(Gathered)> done);
  bool gathering() const { return done_ != nullptr; }

  /// From now on files are looked at, and what is new goes to the handlers.
  void watch(Handlers handlers);
  /// Asks this source again: a program is run, a file is looked at at once. What is under way is
  /// not started twice.
  void renew(const std::string& secret);
  /// Ends every program and every look; no handler is called any more.
  void stop();

  /// The stages that run programs: no processes of the agent.
  std::vector<pid_t> stages() const;

 private:
  struct Facts {
    dev_t device = 0;
    ino_t number = 0;
    off_t size = 0;
    timespec modified{}, changed{};
    bool operator==(const Facts& other) const;
  };
  /// One secret of the job.
  struct Source {
    const job::SecretSpec* secret = nullptr;
    std::string file;  // whose changes count; empty: none
    Facts handed, seen;
    pid_t stage = -1;                 // a program is asked
    std::unique_ptr<StageLink> link;  // to it
    base::UniqueFd output;            // what it writes, unread
    bool said = false;
  };

  static Facts factsOf(const struct stat& file);
  base::Status startHelper(Source& source);
  void heard(Source& source, const base::json::object& message);
  void closed(Source& source);
  void over(Source& source, const base::Status& how);
  void finishGathering(const base::Status& how);
  void look();
  void lookAt(Source& source, bool settled);
  void handFile(Source& source, const Facts& facts);

  boost::asio::io_context& context_;
  HelperUser user_;
  std::vector<Source> sources_;  // never grows after the start: addresses stay
  Handlers handlers_;
  std::function<void(Gathered)> done_;
  std::vector<base::UniqueFd> gathered_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool stopped_ = false;
};

}  // namespace warder::init
