// Hostile bytes as a host: canonicaliser, patterns of rules, suffix list and the ASCII form.
#include <arpa/inet.h>

#include <cstdlib>

#include "policies/explain.h"
#include "policies/host_pattern.h"
#include "policies/public_suffix.h"
#include "policies/punycode.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace warder::policies;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string host = canonicalHost(text);
  check(host.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.:") == std::string::npos);
  check(host.size() <= 253);
  if (!host.empty()) {
    check(canonicalHost(host) == host);
    // What inet_aton would read as an address must be that address in its one form (BC-067).
    in_addr address{};
    char shown[INET_ADDRSTRLEN];
    if (::inet_aton(host.c_str(), &address) != 0)
      check(host == ::inet_ntop(AF_INET, &address, shown, sizeof shown));
    check(matchesHost(host, host));
    check(!matchesHost("*." + host, host) && !matchesHost("**." + host, host));
    if (!isAddress(host)) {
      check(matchesHost("*." + host, "a." + host) && matchesHost("**." + host, "a." + host));
      check(!matchesHost("*." + host, "a.b." + host) && matchesHost("**." + host, "a.b." + host));
      suffixKind(host);
    }
  }
  const HostReading reading = readHostPattern(text);
  check(reading.host.empty() != reading.fault.empty());
  if (!reading.host.empty()) check(readHostPattern(reading.host).host == reading.host);
  const std::string ascii = punycodeName(text);
  for (const char c : ascii) check(static_cast<unsigned char>(c) < 0x80);
  (void)explainQuestion({}, text);
  return 0;
}
