// One connection of the agent's that speaks HTTP, request by request.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <memory>
#include <string>

#include "secrets/refusal.h"
#include "secrets/shared.h"
#include "supervisor/net/connection.h"

namespace warder::secrets {

/// How a connection came, and what that says about where its requests go.
struct Approach {
  /// BaseUrl: to the door of one lease. Host: to a host, whose address the agent dialled or which
  /// it named to the proxy. Proxy: each request names its host itself (absolute form).
  enum class Kind { BaseUrl, Host, Proxy };
  Kind kind = Kind::BaseUrl;
  std::shared_ptr<Lease> lease;  // of a BaseUrl door
  Upstream to;                   // not for Proxy
};

/// Serves requests until one side ends the connection. `shared` must live as long.
boost::asio::awaitable<void> serveHttp(std::shared_ptr<Shared> shared,
                                       std::unique_ptr<net::Connection> connection,
                                       Approach approach);

/// Answers one connection too many: 503 at once, whatever it asks.
boost::asio::awaitable<void> refuseConnection(std::shared_ptr<Shared> shared,
                                              std::unique_ptr<net::Connection> connection,
                                              Approach approach);

/// Refuses whatever is asked, with this answer: the connection was denied as such, and its program
/// shall read why.
boost::asio::awaitable<void> answerDenied(std::shared_ptr<Shared> shared,
                                          std::unique_ptr<net::Connection> connection,
                                          Refusal refusal);

}  // namespace warder::secrets
