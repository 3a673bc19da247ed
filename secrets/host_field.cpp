#include "secrets/host_field.h"

#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "policies/policy.h"
#include "supervisor/net/address.h"

namespace warder::secrets {

namespace {

std::optional<std::uint16_t> readPort(std::string_view text) {
  std::uint16_t port = 0;
  const auto [rest, wrong] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (text.empty() || wrong != std::errc{} || rest != text.data() + text.size() || port == 0)
    return std::nullopt;
  return port;
}

}  // namespace

std::optional<HostAndPort> readHostAndPort(std::string_view text, std::uint16_t default_port) {
  HostAndPort result;
  result.port = default_port;
  std::string_view host = text;
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host = text.substr(1, end - 1);
    if (host.find(':') == std::string_view::npos) return std::nullopt;
    const std::string_view rest = text.substr(end + 1);
    has_port = !rest.empty();
    if (has_port && rest.front() != ':') return std::nullopt;
    if (has_port) port = rest.substr(1);
  } else if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  result.host = policies::canonicalHost(host);
  if (result.host.empty()) return std::nullopt;
  if (!has_port) return result;
  const auto number = readPort(port);
  if (!number) return std::nullopt;
  result.port = *number;
  return result;
}

bool isLoopbackHost(std::string_view host) {
  if (host == "localhost" || host.ends_with(".localhost")) return true;
  boost::system::error_code none;
  const auto address = boost::asio::ip::make_address(std::string(host), none);
  return !none && net::specialUse(address) == "loopback";
}

}  // namespace warder::secrets
