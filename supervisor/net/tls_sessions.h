// Sessions of TLS that a client resumes, so that the next connection to a host needs no
// certificates and one signature less.
#pragma once
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>

// OpenSSL's SSL_CTX, SSL and SSL_SESSION, without its headers.
struct ssl_ctx_st;
struct ssl_st;
struct ssl_session_st;

namespace warder::net {

/// Hosts of a context whose sessions are kept; of one more, those of the one first seen go.
inline constexpr std::size_t kMostSessionHosts = 256;
/// Sessions of a host: servers give two at a time, and each is used once (RFC 8446, appendix C.4).
inline constexpr std::size_t kMostSessionsOfHost = 4;
/// How long who answered is believed without its certificate. Servers allow up to seven days.
inline constexpr std::chrono::seconds kSessionLife{3600};

struct FreeKeptSession {
  void operator()(ssl_session_st* session) const;
};
using KeptSession = std::unique_ptr<ssl_session_st, FreeKeptSession>;

/// The sessions of one client context.
class SessionStore {
 public:
  void keep(const std::string& peer, KeptSession session);
  /// The newest one that is younger than kSessionLife, which is then no longer kept; null when
  /// there is none. A clock that was set back makes a session too old as well.
  KeptSession take(const std::string& peer);

 private:
  std::map<std::string, std::deque<KeptSession>> sessions_;
  std::deque<std::string> peers_;  // of sessions_, in the order in which they were first seen
};

/// Keeps sessions in the client context's memory from now on, and lets them go with it. TLS 1.3
/// only: there a resumed connection agrees on fresh keys, so that what is kept cannot decrypt what
/// was recorded. False when memory is out.
bool keepSessions(ssl_ctx_st* context);

/// Before a client's handshake: `peer` is who its certificate must name, and the port. A session
/// that is kept for exactly that peer is tried; where the server does not want it, the handshake is
/// a full one. The sessions that come of it are kept for that peer.
void useSessions(ssl_st* session, const std::string& peer);

}  // namespace warder::net
