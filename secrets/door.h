// What every connection through one door shares.
#pragma once
#include <chrono>
#include <cstddef>

#include "policies/policy.h"
#include "secrets/broker_config.h"
#include "secrets/event_gate.h"
#include "secrets/models/provider.h"
#include "secrets/vault/secret_bytes.h"
#include "supervisor/base/event.h"

namespace warder::secrets {

/// Numbers of the broker; all have a test on both sides.
struct BrokerLimits {
  std::size_t connections = 256;         // one more is answered 503 at once
  std::size_t refused_connections = 64;  // that are being told so; one more is closed
  std::chrono::milliseconds dial{10'000};
  std::chrono::milliseconds upstream_idle{600'000};  // no byte in either direction
  std::chrono::milliseconds client_idle{600'000};    // between and within heads
  std::chrono::milliseconds linger{5'000};           // for an agent to read a last answer
  std::size_t linger_bytes = 67'108'864;
};

struct Door {
  Grant grant;
  models::Provider provider;
  vault::InjectedHeader credential;
  const policies::Policy& policy;
  const BrokerLimits& limits;
  const base::Emit& emit;  // through the gate
  const EventGate& gate;
};

}  // namespace warder::secrets
