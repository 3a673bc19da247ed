#include "collector/access.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>

#include "collector/base64.h"
#include "supervisor/base/fd.h"
#include "supervisor/journal/digest.h"

namespace warder::collector {

namespace {

constexpr std::size_t kMinToken = 16;
constexpr std::size_t kMaxToken = 4096;

/// The token within an Authorization header; empty when there is none.
std::string tokenOf(std::string_view header) {
  const std::size_t space = header.find(' ');
  if (space == std::string_view::npos) return {};
  const std::string_view scheme = header.substr(0, space);
  const std::string_view value = header.substr(space + 1);
  if (boost::beast::iequals(scheme, "bearer")) return std::string(value);
  if (!boost::beast::iequals(scheme, "basic")) return {};
  const std::string decoded = fromBase64(value).value_or(std::string());
  const std::size_t colon = decoded.find(':');
  return colon == std::string::npos ? std::string() : decoded.substr(colon + 1);
}

bool same(const std::string& a, const std::string& b) {
  return a.size() == b.size() && ::CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

Access::Access(std::string_view ingest_token, std::optional<std::string_view> read_token)
    : ingest_digest_(journal::sha256Raw(ingest_token)) {
  if (read_token) read_digest_ = journal::sha256Raw(*read_token);
}

Verdict Access::decide(Right right, std::string_view authorization) const {
  if (right == Right::None) return Verdict::Allowed;
  const std::string token = tokenOf(authorization);
  const std::string digest = token.empty() ? std::string() : journal::sha256Raw(token);
  const bool ingests = same(digest, ingest_digest_);
  const bool reads = read_digest_ ? same(digest, *read_digest_) : true;
  if (right == Right::Ingest && ingests) return Verdict::Allowed;
  if (right == Right::Read && reads) return Verdict::Allowed;
  if (right == Right::Either && (ingests || reads)) return Verdict::Allowed;
  const bool known = ingests || (read_digest_ && reads);
  return known ? Verdict::Forbidden : Verdict::Unauthenticated;
}

bool isLoopbackHost(std::string_view host) {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view rest = host.substr(end + 1);
    return host.substr(1, end - 1) == "::1" && (rest.empty() || rest[0] == ':');
  }
  const std::string name(host.substr(0, host.find(':')));
  if (boost::beast::iequals(name, "localhost")) return true;
  boost::system::error_code failure;
  const auto address = boost::asio::ip::make_address_v4(name, failure);
  return !failure && address.is_loopback();
}

base::Result<std::string> readToken(const std::string& path) {
  auto text = base::readFile(path, kMaxToken + 2);
  if (!text) return text.error();
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  const bool visible =
      std::all_of(text->begin(), text->end(), [](char c) { return c > 0x20 && c < 0x7f; });
  if (!visible || text->size() < kMinToken || text->size() > kMaxToken)
    return base::Error{base::Kind::Config, "the token in " + path +
                                               " must be one line of 16 to 4096 visible ASCII "
                                               "characters"};
  return text;
}

}  // namespace warder::collector
