#include "supervisor/cli/run_finder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "supervisor/base/local_socket.h"
#include "supervisor/base/service_ids.h"
#include "supervisor/base/wire.h"
#include "supervisor/cli/run_folder.h"
#include "supervisor/init/control_door.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Result;
namespace fs = std::filesystem;
namespace json = base::json;

namespace {

constexpr int kPatienceMs = 5000;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

/// Is it ours, root's or a service's of Warder's, and can nobody else put something there?
/// Everybody can make folders in /dev/shm.
bool isTrusted(const fs::path& folder) {
  struct stat facts {};
  if (::lstat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode)) return false;
  const bool service =
      facts.st_uid >= base::kFirstServiceId && facts.st_uid <= base::kLastServiceId;
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid() && !service) return false;
  return (facts.st_mode & S_IWOTH) == 0;
}

}  // namespace

std::vector<std::string> spoolsHere() {
  std::vector<std::string> spools;
  const char* named = std::getenv("WARDER_SPOOL");
  if (named != nullptr && *named != '\0') return {named};
  for (const std::string& spool : {defaultSpool(), std::string(kSpoolInMemory)})
    if (std::find(spools.begin(), spools.end(), spool) == spools.end()) spools.push_back(spool);
  return spools;
}

std::vector<std::string> runsIn(const std::vector<std::string>& spools) {
  std::vector<fs::path> runs;
  for (const auto& spool : spools) {
    std::error_code failure;
    if (!isTrusted(spool)) continue;
    fs::directory_iterator entry(spool, failure);
    for (; !failure && entry != fs::directory_iterator(); entry.increment(failure)) {
      std::error_code ignored;
      if (isTrusted(entry->path()) && fs::exists(entry->path() / journal::kIdentityFile, ignored))
        runs.push_back(entry->path());
    }
  }
  // A run's name begins with the time of its start (newRunId).
  std::stable_sort(runs.begin(), runs.end(), [](const fs::path& a, const fs::path& b) {
    return a.filename() > b.filename();
  });
  std::vector<std::string> names;
  for (const auto& run : runs) names.push_back(run.string());
  return names;
}

Result<LivingRun> connectTo(const std::string& run_dir) {
  auto door = base::connectLocally(run_dir, init::kControlSocket, kPatienceMs);
  if (!door) return door.error();
  // Who listens is who made the run; anybody else only says so.
  const auto peer = base::peerOf(door->get());
  if (!peer) return peer.error();
  if (peer->uid != 0 && peer->uid != ::geteuid())
    return Error{Kind::Denied,
                 run_dir + " is answered by uid " + std::to_string(peer->uid) +
                     ", which is neither root nor you; it is not asked",
                 0};
  return LivingRun{run_dir, std::move(*door)};
}

Result<LivingRun> findLivingRun() {
  const auto spools = spoolsHere();
  for (const auto& run_dir : runsIn(spools)) {
    auto run = connectTo(run_dir);
    // One that listens and does not let us in is the answer too.
    if (run || run.error().kind != Kind::NotFound) return run;
  }
  return Error{Kind::NotFound, "no run goes on here; looked in " + joined(spools), 0};
}

Result<json::object> unlessRefused(json::object answer) {
  const auto* refused = answer.if_contains("refused");
  if (refused == nullptr) return answer;
  const auto* words =
      refused->is_object() ? refused->get_object().if_contains("sentence") : nullptr;
  if (words == nullptr || !words->is_string() || words->get_string().empty())
    return Error{Kind::Peer, "the run refused without saying why", 0};
  return Error{Kind::Denied, "the run refused: " + std::string(words->get_string()), 0};
}

Result<json::object> ask(const LivingRun& run, const json::object& question) {
  if (!base::sendMessage(run.door.get(), question))
    return Error{Kind::Denied,
                 "the run does not answer this user: root and its owner may ask, and no process of "
                 "the agent",
                 0};
  auto answer = base::receiveMessage(run.door.get());
  if (!answer && (answer.error().system_errno == EAGAIN))
    return Error{Kind::Timeout, "the run did not answer within five seconds", 0};
  if (!answer) return answer.error();
  if (!*answer)
    return Error{Kind::Denied,
                 "the run does not answer this user: root and its owner may ask, and no process of "
                 "the agent",
                 0};
  return unlessRefused(std::move((*answer)->body));
}

}  // namespace warder::cli
