// Connections to upstreams that were used and may be used again. One thread.
#pragma once
#include <chrono>
#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "secrets/broker_config.h"
#include "supervisor/net/connection.h"

namespace warder::secrets {

/// Idle connections in all; the oldest makes room.
inline constexpr std::size_t kMostIdleUpstreams = 256;
/// Servers close idle connections after a minute or more; one that was idle for longer, or over a
/// pause of the whole machine, is not worth trying.
inline constexpr std::chrono::milliseconds kIdleUpstreamFor{50'000};

class UpstreamPool {
 public:
  using Clock = std::chrono::steady_clock;

  /// Connections are never shared between grants (or with requests without one), so that what one
  /// leaves behind cannot reach another.
  static std::string keyOf(const std::string& grant, const Upstream& to);

  /// The most recently used one that is still open and silent; null when there is none.
  std::unique_ptr<net::Connection> take(const std::string& key, Clock::time_point now);
  void give(const std::string& key, std::unique_ptr<net::Connection> connection,
            Clock::time_point now);
  /// Closes what belongs to a grant: its secret was renewed or taken back.
  void forget(const std::string& grant);
  void clear() { idle_.clear(); }
  std::size_t size() const { return idle_.size(); }

 private:
  struct Idle {
    std::string key;
    std::unique_ptr<net::Connection> connection;
    Clock::time_point since;
  };
  void closeOld(Clock::time_point now);

  std::list<Idle> idle_;  // the oldest first
};

}  // namespace warder::secrets
