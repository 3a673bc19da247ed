#include "supervisor/net/tls_roots.h"

#include <unistd.h>

#include <array>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <map>

#include "supervisor/net/tls_sessions.h"

namespace warder::net {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::array kSystemBundles = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
};

/// Contexts live and die with the io_context that uses them.
class ContextCache : public asio::execution_context::service {
 public:
  using key_type = ContextCache;
  static asio::execution_context::id id;

  explicit ContextCache(asio::execution_context& owner) : service(owner) {}

  std::map<std::string, std::shared_ptr<asio::ssl::context>> contexts;

 private:
  void shutdown() override { contexts.clear(); }
};
asio::execution_context::id ContextCache::id;

ClientContext makeContext(const std::string& ca_file) {
  // Without this OpenSSL would read the machine's openssl.cnf, which may load anything.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_client);
  SSL_CTX* native = context->native_handle();
  if (SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) != 1)
    return std::string("TLS could not be set up");
  constexpr unsigned char kProtocols[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  if (SSL_CTX_set_alpn_protos(native, kProtocols, sizeof kProtocols) != 0)
    return std::string("TLS could not be set up");
  SSL_CTX_set_verify(native, SSL_VERIFY_PEER, nullptr);
  if (!keepSessions(native)) return std::string("TLS could not be set up");
  // What was read is wiped from OpenSSL's buffer: an upstream may echo a secret.
  SSL_CTX_set_options(native, SSL_OP_CLEANSE_PLAINTEXT);
  bool any = false;
  for (const char* bundle : kSystemBundles) {
    if (::access(bundle, R_OK) != 0) continue;
    error_code failure;
    context->load_verify_file(bundle, failure);
    if (failure) return "cannot read the certificates of " + std::string(bundle);
    any = true;
    break;
  }
  if (!ca_file.empty()) {
    error_code failure;
    context->load_verify_file(ca_file, failure);
    if (failure) return "cannot read the certificates of " + ca_file;
    any = true;
  }
  if (!any) return std::string("this machine has no certificate bundle and no ca_file was given");
  return context;
}

}  // namespace

ClientContext clientContext(asio::any_io_executor executor, const std::string& ca_file) {
  asio::execution_context& owner = asio::query(executor, asio::execution::context);
  auto& contexts = asio::use_service<ContextCache>(owner).contexts;
  if (const auto found = contexts.find(ca_file); found != contexts.end()) return found->second;
  auto made = makeContext(ca_file);
  if (made) contexts.emplace(ca_file, *made);
  return made;
}

}  // namespace warder::net
