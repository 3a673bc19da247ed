#include "secrets/grant_plan.h"

#include <sys/random.h>

#include <array>
#include <boost/asio/ip/address.hpp>
#include <boost/url/parse.hpp>
#include <charconv>

#include "secrets/http/target.h"
#include "secrets/models/provider.h"
#include "supervisor/base/fault.h"
#include "supervisor/net/address.h"

namespace warder::secrets {

using base::Error;
using base::Kind;
using base::Result;

namespace {

Result<Upstream> upstreamOf(const std::string& text, const std::string& ca_file) {
  const auto fault = [&text](const std::string& why) {
    return Error{Kind::Config, "base_url " + base::inQuotes(text) + " " + why};
  };
  const auto parsed = boost::urls::parse_uri(text);
  if (!parsed) return fault("is not a valid URL");
  const boost::urls::url_view& url = *parsed;
  if (url.scheme() != "https" && url.scheme() != "http") return fault("must begin with https://");
  if (url.has_userinfo()) return fault("must not hold a user or password");
  if (url.has_query() || url.has_fragment()) return fault("must not have a query or fragment");
  Upstream upstream;
  upstream.tls = url.scheme() == "https";
  upstream.ca_file = ca_file;
  upstream.port = upstream.tls ? 443 : 80;
  if (url.has_port()) {
    // Boost.URL wraps numbers above 65535 around.
    const std::string port(url.port());
    const auto [rest, wrong] =
        std::from_chars(port.data(), port.data() + port.size(), upstream.port);
    if (wrong != std::errc{} || rest != port.data() + port.size() || upstream.port == 0)
      return fault("has no valid port");
  }

  boost::system::error_code no_literal;
  const auto literal = boost::asio::ip::make_address(std::string(url.host_address()), no_literal);
  upstream.host =
      no_literal ? policies::canonicalHost(std::string(url.encoded_host())) : literal.to_string();
  if (upstream.host.empty()) return fault("has no valid host");
  if (!upstream.tls && (no_literal || net::specialUse(literal) != "loopback"))
    return fault(
        "may use http:// only with a loopback address, since the key would travel in clear");
  if (upstream.tls == false && !ca_file.empty()) return fault("uses no TLS, so ca_file has no use");

  std::string path(url.encoded_path());
  while (path.ends_with('/')) path.pop_back();
  if (!path.empty()) {
    if (const auto target = http::parseTarget(path); !target)
      return fault("has a path that is not plain");
  }
  upstream.base_path = path;
  return upstream;
}

}  // namespace

Result<std::string> makePlaceholder(const std::string& prefix) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::array<unsigned char, 95> random;
  if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
    return base::kernelError("cannot get random bytes");
  std::string placeholder = prefix;
  for (const unsigned char byte : random) placeholder += kAlphabet[byte % kAlphabet.size()];
  return placeholder;
}

Result<std::vector<Grant>> planGrants(const std::vector<GrantRequest>& requests) {
  std::vector<Grant> grants;
  for (const GrantRequest& request : requests) {
    const std::string subject = "secret \"" + request.name + "\"";
    const auto provider = models::providerNamed(request.provider);
    if (!provider) return provider.error().during(subject);
    auto upstream = upstreamOf(request.base_url.empty() ? provider->base_url : request.base_url,
                               request.ca_file);
    if (!upstream) return upstream.error().during(subject);
    auto placeholder = makePlaceholder(provider->placeholder_prefix);
    if (!placeholder) return placeholder.error();
    Grant grant;
    grant.name = request.name;
    grant.provider = request.provider;
    grant.placeholder = std::move(*placeholder);
    grant.upstream = std::move(*upstream);
    grants.push_back(std::move(grant));
  }
  return grants;
}

std::string doorUrl(std::uint16_t port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

}  // namespace warder::secrets
