// Which address may be served with which options. Pure.
#include <boost/asio/ip/address.hpp>

#include "collector/server.h"
#include "collector/target.h"
#include "supervisor/base/units.h"

namespace warder::collector {

base::Result<ListenAddress> parseListen(const std::string& text) {
  const base::Error wrong{base::Kind::Config, "--listen " + text +
                                                  " is not ADDRESS:PORT (an IP address, such as "
                                                  "127.0.0.1:8480 or [::1]:8480)"};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong;
  const auto port = parseNumber(text.substr(colon + 1), 65535);
  std::string host = text.substr(0, colon);
  if (host.empty()) host = "127.0.0.1";
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  boost::system::error_code failure;
  const auto address = boost::asio::ip::make_address(host, failure);
  if (failure || !port || bracketed != address.is_v6()) return wrong;
  return ListenAddress{host, static_cast<std::uint16_t>(*port)};
}

base::Result<std::chrono::seconds> parseLease(const std::string& text) {
  using namespace std::chrono;
  milliseconds lease{0};
  if (const auto plain = parseNumber(text, 86'400)) lease = seconds(*plain);
  if (const auto duration = base::parseDuration(text)) lease = *duration;
  if (lease < seconds(1) || lease > hours(24))
    return base::Error{base::Kind::Config, "--lease " + text + " is not a time between 1s and 24h"};
  return duration_cast<seconds>(lease);
}

std::string faultOf(const ServeOptions& options, const ListenAddress& address) {
  if (options.tls_cert.empty() != options.tls_key.empty())
    return "--tls-cert and --tls-key go together";
  if (boost::asio::ip::make_address(address.host).is_loopback() || options.insecure) return {};
  if (options.tls_cert.empty())
    return "--listen " + options.listen +
           " is not a loopback address: give --tls-cert and "
           "--tls-key, since tokens and results would cross the network in clear (--insecure "
           "accepts that)";
  if (options.read_token_file.empty())
    return "--listen " + options.listen +
           " is not a loopback address: give --read-token-file, "
           "since everybody on the network could read the results (--insecure accepts that)";
  return {};
}

}  // namespace warder::collector
