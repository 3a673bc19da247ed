// Many clients on one thread, for the benchmark's loads.
#pragma once
#include <functional>
#include <memory>

#include "tests/bench/wire.h"

namespace warder::bench {

struct Door {
  bool tls = false;
  bool proxy = false;
  std::uint16_t port = 0;
  std::string path;
};

inline Door doorNamed(const std::string& text) {
  Door door;
  door.tls = text.starts_with("tls:");
  door.proxy = text.starts_with("proxy:");
  const std::size_t colon = text.find(':');
  if (colon != std::string::npos) door.port = static_cast<std::uint16_t>(atoi(&text[colon + 1]));
  const std::size_t path = text.find('/');
  if (path != std::string::npos) door.path = text.substr(path);
  return door;
}

inline SSL* newTls(const char* name) {
  static SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL* tls = SSL_new(context);
  SSL_set_connect_state(tls);
  SSL_set_tlsext_host_name(tls, name);
  return tls;
}

inline int dial(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (fd < 0) fail("socket");
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS)
    fail("connect");
  return fd;
}

/// One connection. What it does when something came is given by whoever made it.
struct Client {
  Client(const Door& door) : wire(dial(door.port), door.tls ? newTls("localhost") : nullptr) {
    shaken = !door.tls;
  }
  Wire wire;
  bool shaken = false;
  bool over = false;
  bool failed = false;
  std::string out;
  std::string in;
  std::int64_t sent = 0;      // the present request
  std::uint64_t to_send = 0;  // bytes of an upload that are still to be made
  int seen = 0;
};

class Crowd {
 public:
  /// `came` looks at client.in, and says when it is over.
  Crowd(Door door, std::function<void(Client&)> came)
      : door_(std::move(door)), came_(std::move(came)) {}

  Client& join() {
    clients_.push_back(std::make_unique<Client>(door_));
    Client& client = *clients_.back();
    poll_.add(client.wire.fd(), &client);
    return client;
  }
  std::size_t size() const { return clients_.size(); }
  std::size_t over() const { return over_; }
  std::size_t failed() const { return failed_; }
  std::function<void(Client&)> refill;  // when everything went out

  void turn(std::int64_t wait) {
    poll_.each(wait, [this](void* whose) { move(*static_cast<Client*>(whose)); });
  }
  void untilOver(std::int64_t limit) {
    while (over_ < clients_.size() && now() < limit) turn(100'000'000);
    failed_ += clients_.size() - over_;
  }
  void send(Client& client) {
    while (!client.out.empty() && client.shaken) {
      const Transfer sent = client.wire.write(client.out);
      if (sent.moved != Moved::Some) return;
      client.out.erase(0, sent.bytes);
      if (client.out.empty() && refill) refill(client);
    }
  }

 private:
  void move(Client& client) {
    if (client.over) return;
    if (!client.shaken) {
      const Transfer shaken = client.wire.shake();
      if (shaken.moved == Moved::Later) return;
      if (shaken.moved == Moved::Over) return end(client, true);
      client.shaken = true;
    }
    send(client);
    static std::array<char, 65'536> buffer;
    for (;;) {
      const Transfer got = client.wire.read(buffer.data(), buffer.size());
      if (got.moved == Moved::Later) return;
      if (got.moved == Moved::Over) return end(client, true);
      client.in.append(buffer.data(), got.bytes);
      came_(client);
      if (client.over) return end(client, client.failed);
      send(client);
    }
  }
  void end(Client& client, bool failed) {
    client.over = true;
    ++over_;
    if (failed && ++failed_ == 1) std::fprintf(stderr, "bench: %s\n", client.in.c_str());
    poll_.remove(client.wire.fd());
    ::shutdown(client.wire.fd(), SHUT_RDWR);
  }

  Door door_;
  std::function<void(Client&)> came_;
  Poll poll_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::size_t over_ = 0;
  std::size_t failed_ = 0;
};

}  // namespace warder::bench
