// One connection: requests in, answers out, one after another.
#pragma once
#include <memory>

#include "collector/service.h"
#include "collector/stream.h"

namespace warder::collector {

/// What the server and a connection know of each other.
struct Presence {
  bool idle = true;       // between two requests: may be closed at any time
  bool stopping = false;  // the server ends: this request is the last
};

/// Serves until the peer goes, errs or is told to close. Never throws.
boost::asio::awaitable<void> serveConnection(std::shared_ptr<Stream> stream, Service* service,
                                             std::shared_ptr<Presence> presence);

/// Tells a peer that there is no room, and closes.
boost::asio::awaitable<void> turnAway(std::shared_ptr<Stream> stream);

}  // namespace warder::collector
