// A job in place: in a container or a machine that somebody else made. No box is built; the agent
// sees what is there. What that asks of the place, and what the place lacks.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/job/job_reader.h"

namespace warder::init {

/// Reads what only this process knows: PATH, and who it is where it can be nobody else.
void setInPlace(job::Overrides& overrides);

/// Can a job run here at all? Errors: Config, with what to add (no /proc, no /dev/null, too few
/// descriptors).
base::Status checkPlace();

/// Why an agent that may not make networks has none of its own here.
base::Error noNetworkHere();
/// A network of the agent's own cannot be had, and the policy does not say allow_degraded.
base::Error refuseDegraded(const base::Error& why);
/// The same before anything starts, as far as privileges tell. Errors: Config.
base::Status checkNetwork(bool allow_degraded);

/// The agent's home: its own in /etc/passwd if it can write there, else a fresh folder in /tmp or
/// /dev/shm that is its own (BC-040). Errors: Kernel when neither can be written.
base::Result<std::string> findHome(const job::User& user, const std::string& run_id);

/// What programs will miss in this place, one sentence each: a /dev/shm that browsers crash in
/// (BC-085), no name server (BC-086), localhost or the own host name without an address (BC-124;
/// added to /etc/hosts where that can be written).
std::vector<std::string> lookAtPlace();

/// Why this folder can be no workspace in place; empty when it can. A workspace is written,
/// searched and kept: the kernel's own file systems (/proc, /sys, /dev and below, or mounted
/// elsewhere) hold no files, and the root holds everything. Links are followed.
std::string whyNoWorkspace(const std::string& path);

/// What keeps the agent from writing its workspace, by owner, mode and mount; empty when nothing.
std::string lookAtWorkspace(const std::string& path, const job::User& user);

/// A browser's tabs share memory there; engines give 64 MiB.
inline constexpr std::uint64_t kLeastSharedMemory = 256ULL << 20;

/// The home of this uid in the text of /etc/passwd; empty when it has none. Pure. Source:
/// passwd(5).
std::string homeInPasswd(const std::string& passwd, uid_t uid);
/// The names that have no address in the text of /etc/hosts, of those asked for. Pure.
std::vector<std::string> missingNames(const std::string& hosts,
                                      const std::vector<std::string>& names);
/// Does the text of /etc/resolv.conf name a server? Pure. Source: resolv.conf(5).
bool namesServer(const std::string& resolv_conf);

}  // namespace warder::init
