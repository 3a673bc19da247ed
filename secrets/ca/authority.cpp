#include "secrets/ca/authority.h"

#include <openssl/crypto.h>
#include <openssl/ssl.h>

#include <list>
#include <unordered_map>

#include "secrets/ca/certificates.h"

namespace warder::ca {

using base::Error;
using base::Kind;
using base::Result;
namespace asio = boost::asio;

namespace {

/// A kept leaf is made anew when it would soon end, or when the clock went back by so much that it
/// would soon not have begun.
constexpr std::time_t kMargin = 3600;

/// What we speak inside of TLS, in the order of our preference, in ALPN's form. A client that says
/// it speaks HTTP/1.0 is understood by whoever understands 1.1.
constexpr unsigned char kSpoken[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1',
                                     8, 'h', 't', 't', 'p', '/', '1', '.', '0'};

void chooseHttp1(SSL_CTX* context) {
  const auto choose = [](SSL*, const unsigned char** chosen, unsigned char* length,
                         const unsigned char* offered, unsigned offered_length, void*) {
    unsigned char* choice = nullptr;
    if (SSL_select_next_proto(&choice, length, kSpoken, sizeof kSpoken, offered, offered_length) !=
        OPENSSL_NPN_NEGOTIATED)
      return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = choice;
    return SSL_TLSEXT_ERR_OK;
  };
  SSL_CTX_set_alpn_select_cb(context, choose, nullptr);
}

/// OpenSSL keeps private keys, those of single connections too, in pages of their own, once it has
/// some: left out of core files, wiped, and locked where this process may lock them. False when
/// there is no memory for it.
bool prepareKeyMemory() {
  // Without this OpenSSL would read the machine's openssl.cnf, which may load anything.
  if (::OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr) != 1) return false;
  constexpr std::size_t kSmallestPiece = 32;
  return CRYPTO_secure_malloc_initialized() == 1 ||
         CRYPTO_secure_malloc_init(kKeyMemory, kSmallestPiece) != 0;
}

/// Null when OpenSSL cannot.
RunAuthority::LeafContext makeContext(X509* leaf, EVP_PKEY* key) {
  SSL_CTX* native = SSL_CTX_new(TLS_server_method());
  if (native == nullptr) return nullptr;
  auto context = std::make_shared<asio::ssl::context>(native);
  constexpr unsigned char kSessionName[] = "warder";
  if (SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION) != 1 ||
      SSL_CTX_use_certificate(native, leaf) != 1 || SSL_CTX_use_PrivateKey(native, key) != 1 ||
      SSL_CTX_set_session_id_context(native, kSessionName, sizeof kSessionName - 1) != 1)
    return nullptr;
  chooseHttp1(native);
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // Sessions are resumed by tickets alone: nothing is kept here for a client.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(native, 1);
  return context;
}

}  // namespace

struct RunAuthority::State {
  struct Leaf {
    std::string host;
    LeafContext context;
    Validity validity;
  };

  bool isUsable(const Leaf& leaf) const {
    const std::time_t time = now();
    return time >= leaf.validity.from + kMargin && time <= leaf.validity.until - kMargin;
  }

  Result<Leaf> makeLeafFor(const std::string& host) const {
    const std::time_t time = now();
    Leaf leaf{host, nullptr, {time - kBackdatedBy, time + kLeafValidFor}};
    auto certificate = makeLeaf(leaf_key.get(), host, leaf.validity, {root.get(), root_key.get()});
    if (!certificate) return certificate.error();
    leaf.context = makeContext(certificate->get(), leaf_key.get());
    if (!leaf.context) return tlsError("setting up TLS with a leaf of the run's CA");
    return leaf;
  }

  Clock now;
  Key root_key;
  Key leaf_key;
  Certificate root;
  std::string pem;
  std::list<Leaf> leaves;  // the one that was used last comes first
  std::unordered_map<std::string, std::list<Leaf>::iterator> by_host;
};

RunAuthority::RunAuthority(std::unique_ptr<State> state) : state_(std::move(state)) {}
RunAuthority::RunAuthority(RunAuthority&&) noexcept = default;
RunAuthority& RunAuthority::operator=(RunAuthority&&) noexcept = default;
RunAuthority::~RunAuthority() = default;

Result<RunAuthority> RunAuthority::make(const std::string& run_id, Clock now) {
  if (!prepareKeyMemory()) return tlsError("preparing memory for the key of the run's CA");
  auto state = std::make_unique<State>();
  state->now = std::move(now);
  state->root_key = makeKey();
  state->leaf_key = makeKey();
  if (!state->root_key || !state->leaf_key) return tlsError("making the key of the run's CA");
  const std::time_t time = state->now();
  const Validity validity{time - kBackdatedBy, time + kAuthorityValidFor};
  auto root = makeAuthority(state->root_key.get(), "Warder run CA " + run_id, validity);
  if (!root) return root.error();
  state->root = std::move(*root);
  auto pem = toPem(state->root.get());
  if (!pem) return pem.error();
  state->pem = std::move(*pem);
  return RunAuthority(std::move(state));
}

const std::string& RunAuthority::pem() const {
  return state_->pem;
}

std::size_t RunAuthority::leavesKept() const {
  return state_->leaves.size();
}

Result<RunAuthority::LeafContext> RunAuthority::leafFor(const std::string& host) {
  auto& leaves = state_->leaves;
  auto& by_host = state_->by_host;
  if (const auto found = by_host.find(host); found != by_host.end()) {
    if (state_->isUsable(*found->second)) {
      leaves.splice(leaves.begin(), leaves, found->second);
      return leaves.front().context;
    }
    leaves.erase(found->second);
    by_host.erase(found);
  }
  auto made = state_->makeLeafFor(host);
  if (!made) return made.error();
  if (leaves.size() == kMostLeaves) {
    by_host.erase(leaves.back().host);
    leaves.pop_back();
  }
  leaves.push_front(std::move(*made));
  by_host.emplace(host, leaves.begin());
  return leaves.front().context;
}

}  // namespace warder::ca
