#include "supervisor/courier/sink.h"

#include <boost/asio/ip/address.hpp>
#include <boost/url/parse.hpp>
#include <boost/url/url_view.hpp>
#include <charconv>

namespace warder::courier {

namespace {

base::Error wrong(const std::string& url, std::string_view why) {
  return {base::Kind::Config, "collector " + url + " " + std::string(why)};
}

/// 0 when the digits are no port.
std::uint16_t portOf(const std::string& digits) {
  std::uint16_t port = 0;
  const char* end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, port);
  return read.ec == std::errc() && read.ptr == end ? port : 0;
}

bool isThisMachine(const std::string& host) {
  boost::system::error_code failure;
  const auto address = boost::asio::ip::make_address(host, failure);
  return host == "localhost" || (!failure && address.is_loopback());
}

}  // namespace

base::Result<Sink> parseSink(const std::string& url, const std::string& ca_file) {
  const auto parsed = boost::urls::parse_absolute_uri(url);
  if (!parsed || !parsed->has_authority() || parsed->encoded_host().empty())
    return wrong(url, "is not an http:// or https:// address");
  const bool tls = parsed->scheme_id() == boost::urls::scheme::https;
  if (!tls && parsed->scheme_id() != boost::urls::scheme::http)
    return wrong(url, "is not an http:// or https:// address");
  if (parsed->has_userinfo() || parsed->has_query())
    return wrong(url, "must not hold a user or a query");
  Sink sink;
  sink.url = url;
  sink.endpoint.tls = tls;
  sink.endpoint.ca_file = ca_file;
  const auto encoded = parsed->encoded_host();
  sink.endpoint.host = std::string(encoded.data(), encoded.size());
  if (sink.endpoint.host.find('%') != std::string::npos)
    return wrong(url, "has a host that is no name");
  if (sink.endpoint.host.starts_with('['))
    sink.endpoint.host = sink.endpoint.host.substr(1, sink.endpoint.host.size() - 2);
  const std::string port(parsed->port().data(), parsed->port().size());
  const std::uint16_t usual = tls ? 443 : 80;
  sink.endpoint.port = port.empty() ? usual : portOf(port);
  if (sink.endpoint.port == 0) return wrong(url, "has no usable port");
  if (!tls && !isThisMachine(sink.endpoint.host))
    return wrong(url, "must be https://, since the token would cross the network in clear");
  const auto authority = parsed->encoded_host_and_port();
  sink.authority = std::string(authority.data(), authority.size());
  const auto path = parsed->encoded_path();
  sink.base_path = std::string(path.data(), path.size());
  while (sink.base_path.ends_with('/')) sink.base_path.pop_back();
  return sink;
}

}  // namespace warder::courier
