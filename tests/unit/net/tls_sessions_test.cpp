// Which sessions of TLS are kept, for whom and how long.
#include "supervisor/net/tls_sessions.h"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <ctime>

namespace warder::net {
namespace {

KeptSession sessionOfAge(std::chrono::seconds age) {
  KeptSession session(SSL_SESSION_new());
  SSL_SESSION_set_time(session.get(), static_cast<long>(std::time(nullptr) - age.count()));
  return session;
}

KeptSession freshSession() {
  return sessionOfAge(std::chrono::seconds(0));
}

TEST(SessionStore, GivesEachSessionOnceAndToItsPeerAlone) {
  SessionStore store;
  store.keep("a 443", freshSession());
  EXPECT_EQ(store.take("b 443"), nullptr);
  EXPECT_EQ(store.take("a 8443"), nullptr);
  EXPECT_NE(store.take("a 443"), nullptr);
  EXPECT_EQ(store.take("a 443"), nullptr);
}

TEST(SessionStore, KeepsTheNewestSessionsOfAPeer) {
  SessionStore store;
  for (std::size_t i = 0; i < kMostSessionsOfHost + 1; ++i) store.keep("a", freshSession());
  for (std::size_t i = 0; i < kMostSessionsOfHost; ++i) EXPECT_NE(store.take("a"), nullptr);
  EXPECT_EQ(store.take("a"), nullptr);
}

TEST(SessionStore, ForgetsThePeerThatWasSeenFirstWhenThereAreTooMany) {
  SessionStore store;
  for (std::size_t i = 0; i < kMostSessionHosts; ++i) store.keep(std::to_string(i), freshSession());
  store.keep("0", freshSession());  // known: nobody goes
  EXPECT_NE(store.take("0"), nullptr);
  EXPECT_NE(store.take("1"), nullptr);
  store.keep("one more", freshSession());
  EXPECT_EQ(store.take("0"), nullptr);
  EXPECT_NE(store.take("2"), nullptr);
  EXPECT_NE(store.take("one more"), nullptr);
}

TEST(SessionStore, BelievesASessionForItsLifeOnly) {
  SessionStore store;
  const std::chrono::seconds margin(60);  // more than this test takes
  store.keep("young", sessionOfAge(kSessionLife - margin));
  store.keep("old", sessionOfAge(kSessionLife));
  store.keep("from the future", sessionOfAge(-margin));
  EXPECT_NE(store.take("young"), nullptr);
  EXPECT_EQ(store.take("old"), nullptr);
  EXPECT_EQ(store.take("from the future"), nullptr);
}

}  // namespace
}  // namespace warder::net
