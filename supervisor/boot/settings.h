// What the kernel command line says to us. A VMM has no other way to tell a first process anything
// before it has devices.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/fault.h"

namespace warder::boot {

enum class Overlay { Tmpfs, None };
/// How the machine ends. Firecracker on x86 ends only on a reboot.
enum class End { PowerOff, Reboot, Halt };
enum class AddressBy { Nothing, Setting, Dhcp };

struct Ipv4 {
  std::uint32_t value = 0;  // host byte order
  bool operator==(const Ipv4&) const = default;
};

/// "192.0.2.1". Nothing else is an address here: no shortened forms, no leading zeros. Pure.
std::optional<Ipv4> parseIpv4(std::string_view text);
std::string printIpv4(Ipv4 address);

struct StaticAddress {
  Ipv4 address;
  int prefix = 0;  // 1 to 32
  std::optional<Ipv4> gateway;
};

struct Settings {
  std::string root = "/dev/vda";
  Overlay overlay = Overlay::Tmpfs;
  std::optional<std::uint64_t> overlay_size;  // bytes; the kernel's half of memory otherwise
  std::string init = "/usr/local/bin/warder";
  End end = End::PowerOff;
  std::string host = "warder";
  AddressBy address_by = AddressBy::Nothing;
  StaticAddress address;
  std::vector<std::string> dns;       // addresses, v4 or v6
  std::optional<std::int64_t> clock;  // seconds since 1970
  std::string seed_file;              // in the job's folder, or absolute
  std::optional<std::uint64_t> shm;   // bytes of /dev/shm
  std::optional<std::uint64_t> tmp;   // bytes of /tmp
  std::string job_device;             // "/dev/vdb"
  std::string job_port;               // name of a virtio-serial port
  std::string job_text;               // job.yaml itself
  std::vector<std::string> command;   // what stands behind " -- "
  std::string workspace;              // "/dev/vdc", shown at /workspace
};

struct ReadSettings {
  Settings settings;    // what could be read; the rest as without a setting
  base::Faults faults;  // when there are any, nothing may start
};

inline constexpr std::size_t kMostCommandLine = 8192;  // x86 has 2048, others up to 4096
inline constexpr std::size_t kMostNameServers = 3;     // as resolv.conf(5), MAXNS

/// Reads the `warder.*` settings of a kernel command line; all others are the kernel's own and are
/// left alone; what stands behind " -- " is a command. Quotes as the kernel takes them (next_arg in
/// lib/cmdline.c). A key that is unknown, empty or stands twice is a fault. Pure.
ReadSettings readSettings(std::string_view command_line);

/// The words of a command line, without the quotes that protected blanks. Pure.
std::vector<std::string> commandLineWords(std::string_view command_line);

/// Base64 (RFC 4648 section 4, with padding); nothing when `text` is none. Pure.
std::optional<std::string> decodeBase64(std::string_view text);

std::string_view nameOf(End end);

}  // namespace warder::boot
