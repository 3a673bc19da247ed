// The listening side: accepts, bounds, reaps leases, ends in good order.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "supervisor/base/result.h"

namespace warder::collector {

struct ServeOptions {
  std::string listen = "127.0.0.1:8480";
  std::string data;
  std::string token_file;
  std::string read_token_file;
  std::string address_file;
  std::string tls_cert;
  std::string tls_key;
  std::string lease = "60";
  bool insecure = false;
};

struct ListenAddress {
  std::string host;  // an IP literal without brackets
  std::uint16_t port = 0;
};

/// "127.0.0.1:8480", "[::1]:8480", ":8480" (loopback). Errors: Config.
base::Result<ListenAddress> parseListen(const std::string& text);

/// "60" (seconds) or a duration with a unit; 1 s to a day. Errors: Config.
base::Result<std::chrono::seconds> parseLease(const std::string& text);

/// Which options do not go together, as one sentence; empty when all is well. Pure.
std::string faultOf(const ServeOptions& options, const ListenAddress& address);

/// Serves until SIGTERM or SIGINT. Returns the exit code: 0 after a good end, 2 for options that
/// cannot be served, 1 for trouble with the environment.
int serve(const ServeOptions& options);

}  // namespace warder::collector
