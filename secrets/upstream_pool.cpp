#include "secrets/upstream_pool.h"

#include <iterator>

namespace warder::secrets {

std::string UpstreamPool::keyOf(const std::string& grant, const Upstream& to) {
  // No part but the last holds a blank.
  return grant + " " + (to.tls ? "tls " : "plain ") + to.host + " " + std::to_string(to.port) +
         " " + to.ca_file;
}

std::unique_ptr<net::Connection> UpstreamPool::take(const std::string& key, Clock::time_point now) {
  closeOld(now);
  for (auto at = idle_.end(); at != idle_.begin();) {
    --at;
    if (at->key != key) continue;
    auto connection = std::move(at->connection);
    at = idle_.erase(at);
    // Whatever came while nobody asked is no answer of ours.
    if (connection->isQuiet()) return connection;
  }
  return nullptr;
}

void UpstreamPool::give(const std::string& key, std::unique_ptr<net::Connection> connection,
                        Clock::time_point now) {
  closeOld(now);
  if (idle_.size() >= kMostIdleUpstreams) idle_.pop_front();
  connection->setIdleLimit(std::chrono::milliseconds(0));
  idle_.push_back({key, std::move(connection), now});
}

void UpstreamPool::forget(const std::string& grant) {
  idle_.remove_if([&](const Idle& idle) { return idle.key.starts_with(grant + " "); });
}

void UpstreamPool::closeOld(Clock::time_point now) {
  while (!idle_.empty() && now - idle_.front().since > kIdleUpstreamFor) idle_.pop_front();
}

}  // namespace warder::secrets
