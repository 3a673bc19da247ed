// DHCP answers of whoever is on the network.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "supervisor/boot/dhcp_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warder;
  const boot::DhcpClient client{0x12345678, {2, 0, 0, 0, 0, 1}, "warder"};
  const auto read = boot::readDhcp({reinterpret_cast<const char*>(data), size}, client);
  if (!read || read->type == boot::DhcpType::Nak) return 0;
  const auto& address = read->address;
  if (address.prefix < 1 || address.prefix > 32 || read->dns.size() > boot::kMostNameServers)
    std::abort();
  if (boot::writeDhcp(client, *read).size() > boot::kLongestDhcp) std::abort();
  return 0;
}
