// The agent's own network: a namespace with nothing but `lo`, where every address is local, and
// sockets of the broker that were made inside and are served outside (mechanism `netns`). Whatever
// the agent dials ends at one of them, or is refused by the kernel at once.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/launch/spawner.h"

namespace warder::launch {

/// How connections that name no door of ours come to the broker.
enum class Capture {
  None,      // not at all (mechanism `advisory`)
  SkLookup,  // every one, by a BPF program
  Ports      // those to some ports, by listeners on them
};
/// "sk_lookup", "ports"; empty for None.
std::string_view nameOf(Capture capture);

/// What the broker shall have in the agent's network.
struct NetworkRequest {
  std::size_t doors = 0;             // base-URL doors
  std::vector<std::uint16_t> ports;  // where Capture::Ports is all there is; 80 and 443 come along
};

struct AgentNetwork {
  base::UniqueFd network_namespace;  // none: the agent shares ours (mechanism `advisory`)
  std::vector<std::uint16_t> ports;  // of the base-URL doors
  /// For each door: a socket that listens on 127.0.0.1, and one on ::1 where there is one.
  std::vector<std::vector<base::UniqueFd>> listeners;
  std::uint16_t proxy_port = 0;
  std::vector<base::UniqueFd> proxy;  // likewise, for programs that are told of a proxy

  // Empty in mechanism `advisory`.
  Capture how = Capture::None;
  std::string why_not_all;                  // Capture::Ports: why there is no sk_lookup
  std::vector<std::uint16_t> ports_served;  // Capture::Ports
  std::vector<std::uint16_t> ports_left;    // asked for, but beyond kMostCapturedPorts: refused
  std::vector<base::UniqueFd> transparent;  // an accepted socket's own address was dialled
  std::vector<base::UniqueFd> dns_udp;      // port 53, every address (bindNameServer)
  std::vector<base::UniqueFd> dns_tcp;  // port 53 of 127/8 and ::1; with Ports, of every address
  base::UniqueFd lookup;                // holds sk_lookup in place; to be kept open
  bool ipv6 = false;                    // the network has version 6
};

/// First port of the base-URL doors, and that of the proxy: fixed where nothing else has them.
inline constexpr std::uint16_t kFirstDoorPort = 7411;
inline constexpr std::uint16_t kProxyPort = 7410;
/// Ports that are listened on one by one, where connections cannot be taken all at once.
inline constexpr std::size_t kMostCapturedPorts = 64;

/// Starts the `net` stage, which makes the namespace and then waits to be told what shall listen in
/// it. Errors: Kernel.
base::Result<StartedStage> startNetworkStage();
/// Tells it, and takes what it made. Errors: Kernel (no user namespaces, no privilege), Timeout.
base::Result<AgentNetwork> awaitNetwork(const StartedStage& stage, const NetworkRequest& request);

/// Listeners for so many doors, and the proxy's, in the network that this process is in (mechanism
/// `advisory`): on their own ports, or on free ones where those are taken. Raises lo where it is
/// down, for addresses of version 6 too (BC-083). Errors: Kernel, with what is in the way.
base::Result<AgentNetwork> listenHere(std::size_t doors);

/// Moves this thread into a new network and makes everything in it: what the stage does, for a
/// process that wants to be there. Errors: Kernel.
base::Result<AgentNetwork> enterAgentNetwork(const NetworkRequest& request);

/// May this process give the agent a network of its own (CAP_SYS_ADMIN and CAP_NET_ADMIN)?
bool mayMakeNetworks();

/// The stage. Its configuration is empty; on its control socket it is told a NetworkRequest.
int networkMain();

}  // namespace warder::launch
