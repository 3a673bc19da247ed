// The machine's network: the loopback that the kernel leaves down, and the first interface.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"
#include "supervisor/boot/dhcp_message.h"
#include "supervisor/boot/settings.h"

namespace warder::boot {

struct Network {
  std::string interface;         // "eth0"; empty when the machine has none or none was asked for
  std::string address;           // "10.0.2.15/24"
  std::vector<std::string> dns;  // servers that DHCP named
};

/// Raises `lo`: 127.0.0.1 and ::1 answer. Errors: Kernel.
base::Status raiseLoopback(std::vector<std::string>& warnings);

/// Gives the first interface the address that the settings name or that DHCP lends. Errors:
/// NotFound without an interface, Timeout when no DHCP server answers, Kernel.
base::Result<Network> raiseInterface(const Settings& settings, std::vector<std::string>& warnings);

/// Asks on this interface, which must be up, for an address. Errors: Timeout, Kernel.
base::Result<DhcpAnswer> askDhcp(const std::string& interface, const DhcpClient& client);

/// Whether a gateway can be reached without a route of its own. Pure.
bool isOnLink(const StaticAddress& address);

}  // namespace warder::boot
