#include "supervisor/boot/settings.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "supervisor/base/units.h"

namespace warder::boot {

using base::inQuotes;

namespace {

constexpr std::string_view kPrefix = "warder.";
constexpr std::size_t kLongestHostName = 63;  // RFC 1123 section 2.1, one label
constexpr std::uint64_t kSmallestSize = std::uint64_t{64} * 1024;

template <class Number>
std::optional<Number> wholeNumber(std::string_view text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (text.empty() || text[0] == '-' || read.ec != std::errc() || read.ptr != end) return {};
  return value;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// Each reader below takes one value and says what is wrong with it; empty when nothing is.

std::string readDevice(std::string_view text, std::string& into) {
  if (!text.starts_with("/dev/") || text.size() > 64 || text.find("..") != text.npos)
    return "is no device: write it as \"/dev/vda\"";
  into = text;
  return {};
}

std::string readPath(std::string_view text, std::string& into) {
  if (text.size() > 1024 || text.find("..") != text.npos) return "is no plain path";
  into = text;
  return {};
}

std::string readProgram(std::string_view text, std::string& into) {
  if (!text.starts_with('/')) return "is no absolute path";
  return readPath(text, into);
}

std::string readSize(std::string_view text, std::optional<std::uint64_t>& into) {
  const auto size = base::parseSize(text);
  if (!size) return "is no size: " + size.error().doing;
  if (*size < kSmallestSize) return "is less than 64KiB";
  into = *size;
  return {};
}

std::string readHost(std::string_view text, std::string& into) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (text.size() > kLongestHostName || !std::all_of(text.begin(), text.end(), plain) ||
      text.starts_with('-') || text.ends_with('-'))
    return "is no host name: letters, digits and \"-\" inside, at most 63";
  into = text;
  return {};
}

std::string readAddress(std::string_view text, Settings& into) {
  if (text == "dhcp") {
    into.address_by = AddressBy::Dhcp;
    return {};
  }
  std::string form =
      "is neither \"dhcp\" nor ADDRESS/PREFIX[,GATEWAY], "
      "as in \"10.0.2.15/24,10.0.2.2\"";
  const auto parts = split(text, ',');
  const auto slash = parts[0].find('/');
  if (parts.size() > 2 || slash == std::string_view::npos) return form;
  const auto address = parseIpv4(parts[0].substr(0, slash));
  const auto prefix = wholeNumber<int>(parts[0].substr(slash + 1));
  if (!address || !prefix || *prefix < 1 || *prefix > 32) return form;
  into.address = {*address, *prefix, {}};
  if (parts.size() == 2) {
    const auto gateway = parseIpv4(parts[1]);
    if (!gateway) return form;
    into.address.gateway = *gateway;
  }
  into.address_by = AddressBy::Setting;
  return {};
}

std::string readNameServers(std::string_view text, Settings& into) {
  const auto parts = split(text, ',');
  if (parts.size() > kMostNameServers) return "names more than 3 servers: resolvers ask no more";
  for (const auto part : parts) {
    const std::string server(part);
    in6_addr v6{};
    if (!parseIpv4(part) && ::inet_pton(AF_INET6, server.c_str(), &v6) != 1)
      return "holds " + inQuotes(part) + ", which is no address";
    into.dns.push_back(server);
  }
  return {};
}

std::string readJob(std::string_view text, Settings& into) {
  constexpr std::string_view port = "virtio:";
  if (!text.starts_with(port)) return readDevice(text, into.job_device);
  const auto name = text.substr(port.size());
  if (name.empty() || name.size() > 64 || name.find('/') != name.npos)
    return "names no virtio-serial port: write it as \"virtio:warder.job\"";
  into.job_port = name;
  return {};
}

std::string readJobText(std::string_view text, Settings& into) {
  auto job = decodeBase64(text);
  if (!job || job->empty()) return "is no base64";
  into.job_text = std::move(*job);
  return {};
}

std::string readClock(std::string_view text, Settings& into) {
  const auto seconds = wholeNumber<std::int64_t>(text);
  if (!seconds) return "is no number of seconds since 1970";
  into.clock = *seconds;
  return {};
}

std::string readEnd(std::string_view text, Settings& into) {
  for (const auto end : {End::PowerOff, End::Reboot, End::Halt})
    if (text == nameOf(end)) {
      into.end = end;
      return {};
    }
  return "is none of poweroff, reboot, halt";
}

std::string readOverlay(std::string_view text, Settings& into) {
  if (text != "tmpfs" && text != "none") return "is neither tmpfs nor none";
  into.overlay = text == "tmpfs" ? Overlay::Tmpfs : Overlay::None;
  return {};
}

using Reader = std::string (*)(std::string_view, Settings&);
struct Setting {
  std::string_view key;
  Reader read;
};
constexpr Setting kReaders[] = {
    {"root", [](std::string_view text, Settings& into) { return readDevice(text, into.root); }},
    {"overlay", readOverlay},
    {"overlay_size",
     [](std::string_view text, Settings& into) { return readSize(text, into.overlay_size); }},
    {"init", [](std::string_view text, Settings& into) { return readProgram(text, into.init); }},
    {"end", readEnd},
    {"host", [](std::string_view text, Settings& into) { return readHost(text, into.host); }},
    {"ip", readAddress},
    {"dns", readNameServers},
    {"clock", readClock},
    {"seed_file",
     [](std::string_view text, Settings& into) { return readPath(text, into.seed_file); }},
    {"shm", [](std::string_view text, Settings& into) { return readSize(text, into.shm); }},
    {"tmp", [](std::string_view text, Settings& into) { return readSize(text, into.tmp); }},
    {"job", readJob},
    {"job64", readJobText},
    {"workspace",
     [](std::string_view text, Settings& into) { return readDevice(text, into.workspace); }}};

std::vector<std::string> knownKeys() {
  std::vector<std::string> keys;
  for (const auto& [key, read] : kReaders) keys.push_back(std::string(kPrefix) + std::string(key));
  return keys;
}

/// What the settings mean together.
void checkTogether(const Settings& settings, base::Faults& faults) {
  const auto fault = [&faults](const char* key, const char* sentence) {
    faults.push_back({key, sentence});
  };
  if (!settings.job_text.empty() && (!settings.job_device.empty() || !settings.job_port.empty()))
    fault("warder.job64", "stands beside warder.job: a run has one job");
  if (settings.overlay == Overlay::None && settings.overlay_size)
    fault("warder.overlay_size", "stands beside warder.overlay=none: there is no overlay to size");
}

}  // namespace

std::string_view nameOf(End end) {
  switch (end) {
    case End::PowerOff:
      return "poweroff";
    case End::Reboot:
      return "reboot";
    case End::Halt:
      return "halt";
  }
  return "poweroff";
}

std::optional<Ipv4> parseIpv4(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() != 4) return {};
  Ipv4 address;
  for (const auto part : parts) {
    const auto byte = wholeNumber<unsigned>(part);
    if (!byte || *byte > 255 || part.size() > 3 || (part.size() > 1 && part[0] == '0')) return {};
    address.value = address.value << 8 | *byte;
  }
  return address;
}

std::string printIpv4(Ipv4 address) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += (text.empty() ? "" : ".") + std::to_string(address.value >> shift & 0xff);
  return text;
}

std::vector<std::string> commandLineWords(std::string_view command_line) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false, begun = false;
  for (const char c : command_line) {
    if (c == '"') {
      quoted = !quoted;
      begun = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      if (begun) words.push_back(std::exchange(word, {}));
      begun = false;
    } else {
      word += c;
      begun = true;
    }
  }
  if (begun) words.push_back(word);
  return words;
}

std::optional<std::string> decodeBase64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return {};
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const std::size_t padding = !last ? 0 : text[at + 2] == '=' ? 2 : text.back() == '=' ? 1 : 0;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto digit = i >= 4 - padding && text[at + i] == '=' ? 0 : digits.find(text[at + i]);
      if (digit == std::string_view::npos) return {};
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    for (std::size_t i = 0; i < 3 - padding; ++i)
      bytes += static_cast<char>(group >> (16 - 8 * i) & 0xff);
    if ((padding == 1 && (group & 0xff) != 0) || (padding == 2 && (group & 0xffff) != 0)) return {};
  }
  return bytes;
}

ReadSettings readSettings(std::string_view command_line) {
  ReadSettings read;
  if (command_line.size() > kMostCommandLine) {
    read.faults.push_back({"kernel command line", "is longer than 8192 bytes"});
    return read;
  }
  std::vector<std::string> seen;
  const auto words = commandLineWords(command_line);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes != words.end()) read.settings.command.assign(dashes + 1, words.end());
  for (auto at = words.begin(); at != dashes; ++at) {
    const std::string& word = *at;
    if (!word.starts_with(kPrefix)) continue;
    const auto equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const auto fault = [&](std::string sentence) {
      read.faults.push_back({key, std::move(sentence)});
    };
    const auto reader =
        std::find_if(std::begin(kReaders), std::end(kReaders), [&](const Setting& setting) {
          return setting.key == std::string_view(key).substr(kPrefix.size());
        });
    if (reader == std::end(kReaders)) {
      fault("is no setting" + base::suggestion(key, knownKeys()));
      continue;
    }
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      fault("stands twice");
      continue;
    }
    seen.push_back(key);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (value.empty()) {
      fault("has no value");
      continue;
    }
    if (const auto wrong = reader->read(value, read.settings); !wrong.empty())
      fault(inQuotes(value) + " " + wrong);
  }
  checkTogether(read.settings, read.faults);
  return read;
}

}  // namespace warder::boot
