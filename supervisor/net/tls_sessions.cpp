#include "supervisor/net/tls_sessions.h"

#include <openssl/ssl.h>

#include <ctime>
#include <exception>

namespace warder::net {
namespace {

bool isYoung(const SSL_SESSION* session) {
  const auto age = std::time(nullptr) - static_cast<std::time_t>(SSL_SESSION_get_time(session));
  return age >= 0 && age < kSessionLife.count();
}

/// The index of a value that OpenSSL deletes together with the object that it hangs on.
template <class T>
int newIndex(int kind) {
  const auto destroy = [](void*, void* value, CRYPTO_EX_DATA*, int, long, void*) {
    delete static_cast<T*>(value);
  };
  return CRYPTO_get_ex_new_index(kind, 0, nullptr, nullptr, nullptr, destroy);
}

int storeIndex() {
  static const int index = newIndex<SessionStore>(CRYPTO_EX_INDEX_SSL_CTX);
  return index;
}

int peerIndex() {
  static const int index = newIndex<std::string>(CRYPTO_EX_INDEX_SSL);
  return index;
}

SessionStore* storeOf(SSL* session) {
  return static_cast<SessionStore*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), storeIndex()));
}

/// OpenSSL's callback: 0, since the session stays OpenSSL's. It marks it as unusable when the
/// connection ends without close_notify, as HTTP's do; so a copy is kept.
int keepNew(SSL* connection, SSL_SESSION* session) {
  const auto* peer = static_cast<const std::string*>(SSL_get_ex_data(connection, peerIndex()));
  SessionStore* store = storeOf(connection);
  const bool usable = peer != nullptr && store != nullptr &&
                      SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION &&
                      SSL_SESSION_is_resumable(session) == 1;
  if (!usable) return 0;
  try {
    KeptSession copy(SSL_SESSION_dup(session));
    if (copy) store->keep(*peer, std::move(copy));
  } catch (const std::exception&) {
    return 0;  // memory is out: the next handshake is a full one
  }
  return 0;
}

}  // namespace

void FreeKeptSession::operator()(SSL_SESSION* session) const {
  SSL_SESSION_free(session);
}

void SessionStore::keep(const std::string& peer, KeptSession session) {
  auto found = sessions_.find(peer);
  if (found == sessions_.end()) {
    if (peers_.size() == kMostSessionHosts) {
      sessions_.erase(peers_.front());
      peers_.pop_front();
    }
    peers_.push_back(peer);
    found = sessions_.emplace(peer, std::deque<KeptSession>()).first;
  }
  if (found->second.size() == kMostSessionsOfHost) found->second.pop_front();
  found->second.push_back(std::move(session));
}

KeptSession SessionStore::take(const std::string& peer) {
  const auto found = sessions_.find(peer);
  if (found == sessions_.end()) return nullptr;
  while (!found->second.empty()) {
    KeptSession session = std::move(found->second.back());
    found->second.pop_back();
    if (isYoung(session.get())) return session;
  }
  return nullptr;
}

bool keepSessions(SSL_CTX* context) {
  auto store = std::make_unique<SessionStore>();
  if (SSL_CTX_set_ex_data(context, storeIndex(), store.get()) != 1) return false;
  static_cast<void>(store.release());  // the context's now
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, keepNew);
  return true;
}

void useSessions(SSL* session, const std::string& peer) {
  SessionStore* store = storeOf(session);
  if (store == nullptr) return;
  auto named = std::make_unique<std::string>(peer);
  if (SSL_set_ex_data(session, peerIndex(), named.get()) != 1) return;
  static_cast<void>(named.release());  // the connection's now
  if (const KeptSession kept = store->take(peer)) SSL_set_session(session, kept.get());
}

}  // namespace warder::net
