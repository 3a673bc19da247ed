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

constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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

Result<std::string> drawFrom(std::string_view alphabet, std::size_t count) {
  // Bytes at or over the last whole multiple are thrown away: all characters are equally likely.
  const std::size_t fair = 256 / alphabet.size() * alphabet.size();
  std::string drawn;
  while (drawn.size() < count) {
    std::array<unsigned char, 128> random;
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size()))
      return base::kernelError("cannot get random bytes");
    for (const unsigned char byte : random)
      if (byte < fair && drawn.size() < count) drawn += alphabet[byte % alphabet.size()];
  }
  return drawn;
}

/// Without padding, as RFC 7515 wants it.
std::string base64Url(std::string_view text) {
  std::string out;
  unsigned bits = 0;
  int held = 0;
  for (const char c : text) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out += kBase64Url[bits >> (held - 6) & 63];
  }
  if (held > 0) out += kBase64Url[bits << (6 - held) & 63];
  return out;
}

/// A JSON Web Token that every reader takes for a good one, until it checks the signature: there is
/// no key to which these random bytes are one.
Result<std::string> makeToken() {
  const auto subject = drawFrom(kBase64Url, 24);
  if (!subject) return subject.error();
  const auto signature = drawFrom(kBase64Url, 342);  // RS256: 256 bytes
  if (!signature) return signature.error();
  return base64Url(R"({"alg":"RS256","typ":"JWT"})") + "." +
         base64Url(R"({"sub":")" + *subject + R"(","iat":1704067200,"exp":4102444800})") + "." +
         *signature;
}

/// Is it clear for every secret how it will be carried?
base::Status checkCarriage(const GrantRequest& request, const models::Provider& provider) {
  if (!request.inject && provider.kinds.empty())
    return Error{Kind::Config, "needs inject, which says how " + provider.name +
                                   " takes it: {kind: header, name: …}, bearer, basic, query"};
  if (!request.inject) return {};
  const std::string why = http::whyNoKind(*request.inject);
  return why.empty() ? base::Status() : Error{Kind::Config, "inject: the name " + why};
}

std::vector<models::Route> allRoutes(const models::Provider& provider) {
  std::vector<models::Route> routes = provider.routes;
  for (const models::Host& host : provider.hosts)
    routes.insert(routes.end(), host.routes.begin(), host.routes.end());
  return routes;
}

/// Does the provider have a request that this pattern lets through? One of them must be wider.
bool meets(const models::Route& route, const AllowTerm& allow, const std::string& path) {
  const models::Route wanted{"*", path, false, models::Dialect::None};
  const bool method =
      allow.methods.empty() || route.method == "*" ||
      std::find(allow.methods.begin(), allow.methods.end(), route.method) != allow.methods.end();
  return method && (models::routeOf({&wanted, 1}, "*", route.path).route != nullptr ||
                    models::routeOf({&route, 1}, route.method, path).route != nullptr);
}

base::Status checkAllow(const GrantTerms& terms, const models::Provider& provider) {
  const auto routes = allRoutes(provider);
  for (const AllowTerm& allow : terms.allow) {
    for (const std::string& path : allow.paths) {
      if (const std::string why = models::whyNoPattern(path); !why.empty())
        return Error{Kind::Config, "allow: the path " + path + " " + why};
      const bool met = std::any_of(routes.begin(), routes.end(),
                                   [&](const auto& route) { return meets(route, allow, path); });
      if (!met)
        return Error{Kind::Config,
                     "allow: " + provider.name + " has no request that " + path + " lets through"};
    }
  }
  return {};
}

/// What could not be held is refused: a limit that binds nothing is worse than none.
base::Status checkTerms(const GrantTerms& terms, const models::Provider& provider) {
  const auto routes = allRoutes(provider);
  const bool bills =
      std::any_of(routes.begin(), routes.end(), [](const auto& route) { return route.bills; });
  const models::BudgetLimits& budget = terms.budget;
  const char* said = !terms.models.empty()                            ? "models"
                     : terms.provider_fetch                           ? "provider_fetch"
                     : budget.usd || budget.tokens || budget.requests ? "budget"
                                                                      : nullptr;
  if (said != nullptr && !bills)
    return Error{Kind::Config, std::string(said) + " cannot be held at " + provider.name +
                                   ", of whose requests none is known to call a model"};
  if (budget.usd && provider.prices.empty())
    return Error{Kind::Config, "budget.usd cannot be held at " + provider.name +
                                   ", whose prices are not known; let it be one of tokens"};
  return checkAllow(terms, provider);
}

Result<Grant> planGrant(const GrantRequest& request) {
  const auto provider = models::providerNamed(request.provider);
  if (!provider) return provider.error();
  if (request.base_url.empty() && provider->base_url.empty())
    return Error{Kind::Config, "needs base_url, since " + provider->name + " is at no fixed place"};
  if (auto clear = checkCarriage(request, *provider); !clear) return clear.error();
  if (auto held = checkTerms(request.terms, *provider); !held) return held.error();
  Grant grant;
  grant.name = request.name;
  grant.provider = request.provider;
  grant.inject = request.inject;
  grant.terms = request.terms;
  grant.source = request.source;
  if (!request.vault_url.empty()) {
    auto vault = upstreamOf(request.vault_url, request.vault_ca_file);
    if (!vault) return vault.error().during("vault.address");
    grant.source.vault = std::move(*vault);
  }
  auto upstream =
      upstreamOf(request.base_url.empty() ? provider->base_url : request.base_url, request.ca_file);
  if (!upstream) return upstream.error();
  grant.upstream = std::move(*upstream);
  for (const models::Host& host : provider->hosts) {
    if (!request.base_url.empty()) break;  // at another place, there is that place only
    auto also = upstreamOf(host.base_url, request.ca_file);
    if (!also) return also.error();
    grant.also.push_back(std::move(*also));
  }
  auto placeholder = makePlaceholder(provider->placeholder);
  if (!placeholder) return placeholder.error();
  grant.placeholder = std::move(*placeholder);
  if (provider->placeholder_secret.random == 0) return grant;
  auto partner = makePlaceholder(provider->placeholder_secret);
  if (!partner) return partner.error();
  grant.placeholder_secret = std::move(*partner);
  return grant;
}

}  // namespace

Result<std::string> makePlaceholder(const models::PlaceholderShape& shape) {
  if (shape.form == models::PlaceholderShape::Form::Jwt) return makeToken();
  auto drawn = drawFrom(shape.alphabet, shape.random);
  if (!drawn) return drawn.error();
  return shape.prefix + *drawn + shape.suffix;
}

Result<std::vector<Grant>> planGrants(const std::vector<GrantRequest>& requests) {
  std::vector<Grant> grants;
  for (const GrantRequest& request : requests) {
    auto grant = planGrant(request);
    if (!grant) return grant.error().during("secret \"" + request.name + "\"");
    grants.push_back(std::move(*grant));
  }
  return grants;
}

Result<http::CredentialKind> carriageOf(const Grant& grant,
                                        const std::vector<models::SecretKind>& kinds,
                                        std::string_view secret) {
  if (grant.inject) return *grant.inject;
  const std::string subject = "the secret \"" + grant.name + "\" ";
  const models::SecretKind* kind = models::kindOf(kinds, secret);
  if (kind == nullptr)
    return Error{Kind::Config, subject + "is no kind of secret that " + grant.provider + " takes"};
  if (!kind->refused.empty()) return Error{Kind::Config, subject + kind->refused};
  return kind->credential;
}

std::string doorUrl(std::uint16_t port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

}  // namespace warder::secrets
