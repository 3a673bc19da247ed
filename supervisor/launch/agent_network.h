// The agent's own network: a namespace with nothing but `lo`, where every address is local, and
// listeners of the broker that were made inside and are served outside (mechanism `netns`).
#pragma once
#include <chrono>
#include <cstdint>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/launch/spawner.h"

namespace warder::launch {

struct AgentNetwork {
  base::UniqueFd network_namespace;  // none: the agent shares ours (mechanism `advisory`)
  std::vector<std::uint16_t> ports;  // of the doors, as asked for or as there were free ones
  /// For each port asked for: a socket that listens on 127.0.0.1, and one on ::1 where the kernel
  /// has IPv6 (otherwise the inner list has one entry).
  std::vector<std::vector<base::UniqueFd>> listeners;
};

/// First port of the base-URL doors; the namespace is the agent's alone, so the numbers are fixed.
inline constexpr std::uint16_t kFirstDoorPort = 7411;

/// Starts the `net` stage, which makes the namespace with listeners on these ports. Errors: Kernel.
base::Result<StartedStage> startNetworkStage(const std::vector<std::uint16_t>& ports);
/// What it made. Errors: Kernel (no user namespaces, no privilege), Timeout.
/// Source: ip-route(8) "local" routes (AnyIP).
base::Result<AgentNetwork> awaitNetwork(const StartedStage& stage,
                                        const std::vector<std::uint16_t>& ports);
/// Both.
base::Result<AgentNetwork> makeAgentNetwork(const std::vector<std::uint16_t>& ports);

/// Listeners for so many doors in the network that this process is in (mechanism `advisory`): from
/// kFirstDoorPort on, or on free ports where those are taken. Raises lo where it is down, for
/// addresses of version 6 too (BC-083). Errors: Kernel, with what is in the way.
base::Result<AgentNetwork> listenHere(std::size_t doors);

/// May this process give the agent a network of its own (CAP_SYS_ADMIN and CAP_NET_ADMIN)?
bool mayMakeNetworks();

/// The stage: configuration {"ports": [...]}.
int networkMain();

}  // namespace warder::launch
