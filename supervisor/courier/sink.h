// Where a run's results go: a collector's address, checked.
#pragma once
#include <string>

#include "supervisor/base/result.h"
#include "supervisor/net/dial.h"

namespace warder::courier {

struct Sink {
  std::string url;  // as it was given, for people
  net::Endpoint endpoint;
  std::string authority;  // Host header
  std::string base_path;  // "" or "/prefix"
};

/// https:// to any host; http:// only to this machine (localhost, 127.0.0.0/8, [::1]), since the
/// token would cross the network in clear. No user, query or fragment. Errors: Config.
base::Result<Sink> parseSink(const std::string& url, const std::string& ca_file);

}  // namespace warder::courier
