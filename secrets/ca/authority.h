// The run's certificate authority: TLS of the agent is ended with certificates that it signs, and
// the agent's programs are told to trust it. Its key is made at start and dies with the process.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <ctime>
#include <functional>
#include <memory>
#include <string>

#include "supervisor/base/result.h"

namespace warder::ca {

/// Certificates are valid from a day before they were made: a machine that was restored from a
/// snapshot may have a clock that is hours behind.
inline constexpr std::time_t kBackdatedBy = 24 * 3600;
inline constexpr std::time_t kAuthorityValidFor = 3650L * 24 * 3600;
/// Clients such as Apple's take no leaf that is valid for longer than 398 days.
inline constexpr std::time_t kLeafValidFor = 90L * 24 * 3600;
/// Leaves that are kept ready. The one that was used longest ago makes room.
inline constexpr std::size_t kMostLeaves = 256;
inline constexpr std::size_t kLongestHost = 253;
/// Where OpenSSL keeps private keys: 64 bytes a leaf, 32 a connection.
inline constexpr std::size_t kKeyMemory = 1 << 20;

class RunAuthority {
 public:
  using Clock = std::function<std::time_t()>;
  using LeafContext = std::shared_ptr<boost::asio::ssl::context>;

  /// A P-256 key, in memory that is locked and left out of core files as far as this process may
  /// lock it, and a certificate named "Warder run CA" with `run_id`. `now`: seconds of the wall
  /// clock. Errors: Internal when OpenSSL cannot.
  static base::Result<RunAuthority> make(
      const std::string& run_id, Clock now = [] { return std::time(nullptr); });
  RunAuthority(RunAuthority&&) noexcept;
  RunAuthority& operator=(RunAuthority&&) noexcept;
  ~RunAuthority();

  /// The authority's certificate, for those who shall trust it.
  const std::string& pem() const;

  /// A server's TLS context for `host`: a name in lower case, or an IP address without brackets.
  /// TLS 1.2 or newer, ALPN http/1.1 (a client that offers only other protocols gets the alert
  /// no_application_protocol). Kept ready, made anew when the clock has left the time for which the
  /// kept one is valid. Errors: Config for what is neither name nor address; Internal.
  base::Result<LeafContext> leafFor(const std::string& host);

  std::size_t leavesKept() const;

 private:
  struct State;
  explicit RunAuthority(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warder::ca
