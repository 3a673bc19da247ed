// What all connections of the broker share.
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

#include "secrets/ca/authority.h"
#include "secrets/decision.h"
#include "secrets/dns/name_table.h"
#include "secrets/event_gate.h"
#include "secrets/upstream_pool.h"
#include "supervisor/base/event.h"

namespace warder::secrets {

/// Numbers of the broker; all have a test on both sides.
struct BrokerLimits {
  std::size_t connections = 8'192;       // one more is answered 503 at once
  std::size_t refused_connections = 64;  // that are being told so; one more is closed
  std::chrono::milliseconds dial{10'000};
  std::chrono::milliseconds upstream_idle{600'000};  // no byte in either direction
  std::chrono::milliseconds client_idle{600'000};    // between and within heads
  std::chrono::milliseconds first_bytes{30'000};     // until it is clear who speaks
  std::chrono::milliseconds linger{5'000};           // for an agent to read a last answer
  std::size_t linger_bytes = 67'108'864;
  std::size_t replayed_body = 65'536;    // sent a second time at most
  std::size_t signed_body = 16'777'216;  // held until it is whole, where a signature covers it
};

struct Shared {
  Rules rules;
  BrokerLimits limits;
  base::Emit emit;  // through the gate
  EventGate& gate;
  UpstreamPool pool;
  std::shared_ptr<dns::NameTable> names;        // null: no transparent door
  std::shared_ptr<ca::RunAuthority> authority;  // null: TLS cannot be ended
  /// An upstream answered 401 to a request that carried the lease's present secret.
  std::function<void(const Lease&)> rejected;
};

}  // namespace warder::secrets
