// Ending TLS on real sockets, with OpenSSL's own client at the other end.
#include "secrets/ca/accept_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <thread>

#include "secrets/ca/authority.h"

namespace warder::ca {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using testing::HasSubstr;

/// What the client does and what it saw.
struct Client {
  bool trusting = true;
  std::string alpn = "\x08http/1.1";
  long newest = TLS1_3_VERSION;
  std::string host = "api.example.com";
  std::string to_send = "ping";
  std::string received = {};
  std::string chosen = {};
  int version = 0;
  int alert = -1;
  bool shook_hands = false;
  bool ended_in_order = false;
};

void trust(SSL_CTX* context, const std::string& pem) {
  BIO* memory = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* root = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), root);
  X509_free(root);
  BIO_free(memory);
}

void speak(SSL* session, Client& client) {
  client.shook_hands = SSL_connect(session) == 1;
  if (!client.shook_hands) {
    const int reason = ERR_GET_REASON(ERR_get_error());
    if (reason >= SSL_AD_REASON_OFFSET) client.alert = reason - SSL_AD_REASON_OFFSET;
    return;
  }
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(session, &name, &length);
  client.chosen.assign(reinterpret_cast<const char*>(name), length);
  client.version = SSL_version(session);
  SSL_write(session, client.to_send.data(), static_cast<int>(client.to_send.size()));
  char buffer[65536];
  int count;
  while ((count = SSL_read(session, buffer, sizeof buffer)) > 0)
    client.received.append(buffer, static_cast<std::size_t>(count));
  client.ended_in_order = SSL_get_error(session, count) == SSL_ERROR_ZERO_RETURN;
}

void run(int fd, const std::string& pem, Client& client) {
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_security_level(context, 0);
  SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
  SSL_CTX_set_max_proto_version(context, static_cast<int>(client.newest));
  if (client.trusting) trust(context, pem);
  SSL* session = SSL_new(context);
  SSL_set_tlsext_host_name(session, client.host.c_str());
  SSL_set1_host(session, client.host.c_str());
  SSL_set_alpn_protos(session, reinterpret_cast<const unsigned char*>(client.alpn.data()),
                      static_cast<unsigned>(client.alpn.size()));
  SSL_set_fd(session, fd);
  speak(session, client);
  SSL_free(session);
  SSL_CTX_free(context);
  ::close(fd);
}

/// Reads `early` bytes before TLS, as whoever looks at the first bytes does; then echoes what was
/// read up to `length`, and closes.
struct Server {
  std::size_t early = 0;
  std::size_t length = 4;
  milliseconds timeout{10'000};
  bool aborts = false;
  Accepted accepted = {};
};

asio::awaitable<void> echo(Server& server) {
  std::string text(server.length, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const auto into = asio::buffer(text.data() + have, text.size() - have);
    const net::ReadResult read = co_await server.accepted.connection->readSome(into);
    if (read.failure || read.bytes == 0) break;
    have += read.bytes;
  }
  const auto all = asio::buffer(text.data(), have);
  co_await server.accepted.connection->writeAll(all);
  if (server.aborts) server.accepted.connection->abort();
  server.accepted.connection->close();
  server.accepted.connection.reset();  // it must not outlive its io_context
}

asio::awaitable<void> serve(tcp::socket socket, RunAuthority::LeafContext context, Server& server) {
  std::string early(server.early, '\0');
  if (server.early > 0) {
    co_await socket.async_wait(tcp::socket::wait_read, asio::use_awaitable);
    early.resize(socket.read_some(asio::buffer(early)));
  }
  server.accepted =
      co_await acceptTls(std::move(socket), std::move(early), context, server.timeout);
  if (server.accepted.connection) co_await echo(server);
}

class AcceptTls : public testing::Test {
 protected:
  void meet(Client& client, Server& server) {
    auto thread = connect([this, &client](int fd) { run(fd, authority_.pem(), client); }, server,
                          client.host);
    thread.join();
  }

  /// Serves until the connection is over; the client's thread is left to be joined.
  std::thread connect(std::function<void(int)> client, Server& server, const std::string& host) {
    asio::io_context context;
    tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = acceptor.local_endpoint();
    EXPECT_EQ(::connect(fd, address.data(), static_cast<socklen_t>(address.size())), 0);
    tcp::socket socket = acceptor.accept();
    std::thread thread(std::move(client), fd);
    asio::co_spawn(context, serve(std::move(socket), *authority_.leafFor(host), server),
                   [](std::exception_ptr) {});
    context.run();
    return thread;
  }

  RunAuthority authority_ = *RunAuthority::make("run-1");
};

TEST_F(AcceptTls, SpeaksWithAClientThatTrustsTheRunsCa) {
  Client client;
  Server server;
  meet(client, server);
  EXPECT_TRUE(client.shook_hands);
  EXPECT_EQ(client.received, "ping");
  EXPECT_EQ(client.chosen, "http/1.1");
  EXPECT_TRUE(client.ended_in_order);
}

TEST_F(AcceptTls, BeginsWithBytesThatWereAlreadyRead) {
  for (const std::size_t early : {1, 5, 100, 4096}) {
    Client client;
    Server server;
    server.early = early;
    meet(client, server);
    EXPECT_EQ(client.received, "ping") << early;
  }
}

TEST_F(AcceptTls, SpeaksTls12AndNothingOlder) {
  Client client;
  client.newest = TLS1_2_VERSION;
  Server server;
  meet(client, server);
  EXPECT_EQ(client.version, TLS1_2_VERSION);
  EXPECT_EQ(client.received, "ping");
  Client old;
  old.newest = TLS1_1_VERSION;
  Server refusing;
  meet(old, refusing);
  EXPECT_FALSE(old.shook_hands);
  EXPECT_EQ(refusing.accepted.failure, TlsFailure::TooOld);
}

TEST_F(AcceptTls, AnswersForAnAddress) {
  Client client;
  client.host = "localhost";
  Server server;
  meet(client, server);
  EXPECT_EQ(client.received, "ping");
}

TEST_F(AcceptTls, SaysThatAProgramDoesNotTrustTheRunsCa) {  // BC-004
  for (const long newest : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    Client client;
    client.trusting = false;
    client.newest = newest;
    Server server;
    meet(client, server);
    EXPECT_FALSE(server.accepted.connection);
    EXPECT_EQ(server.accepted.failure, TlsFailure::UntrustedCa) << server.accepted.sentence;
    EXPECT_THAT(server.accepted.sentence, HasSubstr("does not trust the run's CA"));
  }
}

TEST_F(AcceptTls, ChoosesHttp1AndRefusesAClientThatOffersOnlyHttp2) {
  Client both;
  both.alpn = "\x02h2\x08http/1.1";
  Server server;
  meet(both, server);
  EXPECT_EQ(both.chosen, "http/1.1");
  Client only_h2;
  only_h2.alpn = "\x02h2";
  Server refusing;
  meet(only_h2, refusing);
  EXPECT_EQ(only_h2.alert, SSL_AD_NO_APPLICATION_PROTOCOL);
  EXPECT_EQ(refusing.accepted.failure, TlsFailure::NoHttp1);
  Client none;
  none.alpn = "";
  Server unasked;
  meet(none, unasked);
  EXPECT_EQ(none.received, "ping");
}

TEST_F(AcceptTls, CarriesManyBytesBothWays) {
  Client client;
  client.to_send.assign(5 << 20, 'x');
  Server server;
  server.length = client.to_send.size();
  meet(client, server);
  EXPECT_EQ(client.received.size(), client.to_send.size());
  EXPECT_TRUE(client.ended_in_order);
}

TEST_F(AcceptTls, LetsAClientTellACutFromAnEnd) {
  Client client;
  Server server;
  server.aborts = true;
  meet(client, server);
  EXPECT_FALSE(client.ended_in_order);
}

TEST_F(AcceptTls, GivesUpOnAClientThatIsSilentOrGone) {
  Server silent;
  silent.timeout = milliseconds(50);
  const auto waitForEnd = [](int fd) {
    char byte;
    EXPECT_LE(::recv(fd, &byte, 1, 0), 0);
    ::close(fd);
  };
  connect(waitForEnd, silent, "api.example.com").join();
  EXPECT_EQ(silent.accepted.failure, TlsFailure::Timeout);
  Server deserted;
  connect([](int fd) { ::close(fd); }, deserted, "api.example.com").join();
  EXPECT_EQ(deserted.accepted.failure, TlsFailure::Gone);
  Server puzzled;
  const auto rubbish = [](int fd) {
    ::send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    ::close(fd);
  };
  connect(rubbish, puzzled, "api.example.com").join();
  EXPECT_EQ(puzzled.accepted.failure, TlsFailure::Broken);
}

}  // namespace
}  // namespace warder::ca
