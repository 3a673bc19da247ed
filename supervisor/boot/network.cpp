#include "supervisor/boot/network.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "supervisor/base/fd.h"
#include "supervisor/base/units.h"

namespace warder::boot {

using base::Error;
using base::kernelError;
using base::Kind;
using base::Result;
using base::Status;

namespace {

sockaddr inetAddress(std::uint32_t host_order) {
  sockaddr_in inet{};
  inet.sin_family = AF_INET;
  inet.sin_addr.s_addr = htonl(host_order);
  sockaddr address{};
  std::memcpy(&address, &inet, sizeof inet);
  return address;
}

std::uint32_t maskOf(int prefix) {
  return prefix == 0 ? 0 : ~std::uint32_t{0} << (32 - prefix);
}

/// One interface, by the ioctls of netdevice(7).
class Interface {
 public:
  explicit Interface(std::string name)
      : name_(std::move(name)), socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

  Status up() {
    ifreq request = named();
    if (::ioctl(socket_.get(), SIOCGIFFLAGS, &request) != 0) return failed("read");
    request.ifr_flags |= IFF_UP;
    if (::ioctl(socket_.get(), SIOCSIFFLAGS, &request) != 0) return failed("raise");
    return {};
  }

  Status setAddress(const StaticAddress& address) {
    ifreq request = named();
    request.ifr_addr = inetAddress(address.address.value);
    if (::ioctl(socket_.get(), SIOCSIFADDR, &request) != 0) return failed("set the address of");
    request = named();
    request.ifr_netmask = inetAddress(maskOf(address.prefix));
    if (::ioctl(socket_.get(), SIOCSIFNETMASK, &request) != 0) return failed("set the mask of");
    return {};
  }

  Status addRoutes(const StaticAddress& address) {
    if (!address.gateway) return {};
    if (!isOnLink(address)) {
      rtentry host{};
      host.rt_dst = inetAddress(address.gateway->value);
      host.rt_flags = RTF_UP | RTF_HOST;
      host.rt_dev = name_.data();
      if (::ioctl(socket_.get(), SIOCADDRT, &host) != 0)
        return failed("add the gateway's route to");
    }
    rtentry route{};
    route.rt_dst = inetAddress(0);
    route.rt_genmask = inetAddress(0);
    route.rt_gateway = inetAddress(address.gateway->value);
    route.rt_flags = RTF_UP | RTF_GATEWAY;
    if (::ioctl(socket_.get(), SIOCADDRT, &route) != 0) return failed("add the default route to");
    return {};
  }

  Result<HardwareAddress> hardware() {
    ifreq request = named();
    if (::ioctl(socket_.get(), SIOCGIFHWADDR, &request) != 0)
      return failed("read the hardware address of").error();
    HardwareAddress address;
    std::memcpy(address.data(), request.ifr_hwaddr.sa_data, address.size());
    return address;
  }

 private:
  ifreq named() const {
    ifreq request{};
    name_.copy(request.ifr_name, IFNAMSIZ - 1);
    return request;
  }
  Status failed(const std::string& doing) const {
    return kernelError("network: cannot " + doing + " " + name_);
  }

  std::string name_;
  base::UniqueFd socket_;
};

/// The Ethernet interface that the kernel found first; empty without one.
std::string firstInterface() {
  std::string first;
  unsigned least = 0;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator("/sys/class/net", failure)) {
    const std::string name = entry.path().filename();
    auto type = base::readFile(entry.path().string() + "/type", 32);
    const unsigned index = ::if_nametoindex(name.c_str());
    if (!type || std::atoi(type->c_str()) != ARPHRD_ETHER || index == 0) continue;
    if (first.empty() || index < least) {
      first = name;
      least = index;
    }
  }
  return first;
}

Result<DhcpAnswer> lendAddress(Interface& interface, const std::string& name,
                               const std::string& host) {
  auto hardware = interface.hardware();
  if (!hardware) return hardware.error();
  DhcpClient client{0, *hardware, host};
  // A transaction's number need not be secret; early in a boot the pool may not be ready.
  if (::getrandom(&client.transaction, sizeof client.transaction, GRND_NONBLOCK) < 0)
    client.transaction = static_cast<std::uint32_t>(::getpid()) ^ 0x57415244;
  return askDhcp(name, client);
}

}  // namespace

bool isOnLink(const StaticAddress& address) {
  const auto mask = maskOf(address.prefix);
  return address.gateway && (address.gateway->value & mask) == (address.address.value & mask);
}

Status raiseLoopback(std::vector<std::string>& warnings) {
  if (auto raised = Interface("lo").up(); !raised) return raised;
  auto addresses = base::readFile("/proc/net/if_inet6", 65536);
  constexpr const char* loopback = "00000000000000000000000000000001";
  if (!addresses || addresses->find(loopback) == std::string::npos)
    warnings.push_back("network: this kernel gives lo no IPv6 address; ::1 does not answer");
  return {};
}

Result<Network> raiseInterface(const Settings& settings, std::vector<std::string>& warnings) {
  Network network;
  const std::string name = firstInterface();
  if (settings.address_by == AddressBy::Nothing) {
    if (!name.empty())
      warnings.push_back("network: " + name +
                         " stays down, because warder.ip does not say which address it has");
    return network;
  }
  if (name.empty())
    return Error{Kind::NotFound,
                 "network: warder.ip is set, but the machine has no network interface"};
  Interface interface(name);
  if (auto raised = interface.up(); !raised) return raised.error();
  StaticAddress address = settings.address;
  if (settings.address_by == AddressBy::Dhcp) {
    auto lent = lendAddress(interface, name, settings.host);
    if (!lent) return lent.error();
    address = lent->address;
    network.dns = lent->dns;
    if (lent->lease != 0 && lent->lease != ~std::uint32_t{0})
      warnings.push_back("network: DHCP lends " + printIpv4(address.address) + " for " +
                         base::printDuration(std::chrono::seconds(lent->lease)) +
                         " and the lease is not renewed; a longer run needs a static warder.ip");
  }
  if (auto set = interface.setAddress(address); !set) return set.error();
  if (auto added = interface.addRoutes(address); !added) return added.error();
  network.interface = name;
  network.address = printIpv4(address.address) + "/" + std::to_string(address.prefix);
  return network;
}

}  // namespace warder::boot
