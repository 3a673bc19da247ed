// The upstream of the broker's benchmark: broker_upstream CERTIFICATE KEY. Prints its port. Speaks
// TLS and HTTP/1.1, and answers as the header x-bench says:
//   (none)                a small answer of a model's, at once
//   after MICROS          the same, that much later
//   sse EVENTS MICROS     a stream of events, one each MICROS; each tells when it was sent
//   quiet MICROS          one event, and the end that much later
// A small answer tells when the request was here and when the answer left ("R=…;S=…;").
#include <signal.h>
#include <strings.h>

#include <memory>
#include <queue>

#include "tests/bench/wire.h"

namespace warder::bench {
namespace {

constexpr std::string_view kEventsHead =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string chunk(const std::string& text) {
  std::array<char, 16> size{};
  std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
  return size.data() + text + "\r\n";
}

std::string event() {
  return chunk(
      "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,"
      "\"delta\":{\"type\":\"text_delta\",\"text\":\"T=" +
      digits(now()) + ";\"}}\n\n");
}

std::string smallAnswer(std::int64_t received) {
  const std::string body =
      R"({"id":"msg_01XFDUDYJgAACzvnptvVoYEL","type":"message","role":"assistant",)"
      R"("model":"claude-haiku-4-5","content":[{"type":"text","text":"R=)" +
      digits(received) + ";S=" + digits(now()) +
      R"(;"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":12,)"
      R"("output_tokens":6,"service_tier":"standard"}})";
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\nrequest-id: req_011CSHoEeqs5C35K2UUqR7Fy\r\n\r\n" +
         body;
}

/// What follows "name: " in a head; empty when it is not there. Lower case names only.
std::string_view valueOf(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() <= name.size() || line[name.size()] != ':') continue;
    if (::strncasecmp(line.data(), name.data(), name.size()) != 0) continue;
    line.remove_prefix(name.size() + 1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    return line;
  }
  return {};
}

struct Visitor {
  Visitor(int fd, SSL* tls) : wire(fd, tls) {}
  Wire wire;
  bool shaken = false;
  bool gone = false;
  std::string in;
  std::string out;
  // The request that is being read.
  bool in_body = false;
  bool chunked = false;
  std::uint64_t left = 0;
  std::string asked;  // x-bench
  // The answer that is under way.
  std::int64_t received = 0;
  long events_left = 0;
  std::int64_t pause = 0;
};

struct Due {
  std::int64_t when;
  std::shared_ptr<Visitor> whose;
  bool operator<(const Due& other) const { return when > other.when; }
};

class Server {
 public:
  Server(const char* certificate, const char* key) : context_(SSL_CTX_new(TLS_server_method())) {
    SSL_CTX_set_mode(context_, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    if (SSL_CTX_use_certificate_chain_file(context_, certificate) != 1 ||
        SSL_CTX_use_PrivateKey_file(context_, key, SSL_FILETYPE_PEM) != 1)
      fail("the certificate cannot be used");
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof address;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(listener_, 4096) != 0)
      fail("listen");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
    std::printf("%d\n", ntohs(address.sin_port));
    std::fflush(stdout);
    poll_.add(listener_, nullptr, EPOLLIN);
  }

  void serve() {
    for (;;) {
      const std::int64_t wait = due_.empty() ? 1'000'000'000 : due_.top().when - now();
      poll_.each(wait, [this](void* whose) {
        if (whose == nullptr)
          accept();
        else
          move(*static_cast<std::shared_ptr<Visitor>*>(whose));
      });
      while (!due_.empty() && due_.top().when <= now()) {
        const Due due = due_.top();
        due_.pop();
        if (!due.whose->gone) proceed(due);
      }
    }
  }

 private:
  void accept() {
    for (;;) {
      const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
      if (fd < 0) return;
      SSL* tls = SSL_new(context_);
      SSL_set_accept_state(tls);
      // Released when the visitor leaves; epoll holds this pointer.
      auto* visitor = new std::shared_ptr<Visitor>(std::make_shared<Visitor>(fd, tls));
      poll_.add(fd, visitor);
    }
  }

  void move(std::shared_ptr<Visitor>& visitor) {
    Visitor& who = *visitor;
    if (!who.shaken) {
      const Transfer shaken = who.wire.shake();
      if (shaken.moved == Moved::Later) return;
      who.shaken = shaken.moved == Moved::Some;
      if (!who.shaken) return leave(visitor);
    }
    static std::array<char, 65'536> buffer;
    for (;;) {
      const Transfer got = who.wire.read(buffer.data(), buffer.size());
      if (got.moved == Moved::Over) return leave(visitor);
      if (got.moved == Moved::Later) break;
      who.in.append(buffer.data(), got.bytes);
      take(visitor);
    }
    flush(who);
  }

  void leave(std::shared_ptr<Visitor>& visitor) {
    visitor->gone = true;  // what is due for it may keep it for a while
    poll_.remove(visitor->wire.fd());
    ::shutdown(visitor->wire.fd(), SHUT_RDWR);
    delete &visitor;
  }

  void take(const std::shared_ptr<Visitor>& visitor) {
    Visitor& who = *visitor;
    for (;;) {
      if (!who.in_body) {
        const std::size_t end = who.in.find("\r\n\r\n");
        if (end == std::string::npos) return;
        const std::string_view head = std::string_view(who.in).substr(0, end + 2);
        who.chunked = !valueOf(head, "transfer-encoding").empty();
        who.left = std::strtoull(std::string(valueOf(head, "content-length")).c_str(), nullptr, 10);
        who.asked = valueOf(head, "x-bench");
        who.in_body = true;
        who.in.erase(0, end + 4);
      }
      if (!passBody(who)) return;
      who.in_body = false;
      who.received = now();
      begin(visitor);
    }
  }

  /// True when the body is over. What it holds is nobody's business here.
  static bool passBody(Visitor& who) {
    if (!who.chunked) {
      const std::size_t count = std::min<std::uint64_t>(who.left, who.in.size());
      who.left -= count;
      who.in.erase(0, count);
      return who.left == 0;
    }
    std::size_t used = 0;
    for (;;) {
      const std::size_t skipped = std::min<std::uint64_t>(who.left, who.in.size() - used);
      used += skipped;
      who.left -= skipped;
      const std::size_t line = who.in.find("\r\n", used);
      if (who.left > 0 || line == std::string::npos || who.in.size() < line + 4) break;
      const std::uint64_t size = std::strtoull(who.in.c_str() + used, nullptr, 16);
      used = line + 2;
      who.left = size + 2;
      if (size > 0) continue;
      who.in.erase(0, used + 2);
      who.left = 0;
      return true;
    }
    who.in.erase(0, used);
    return false;
  }

  void begin(const std::shared_ptr<Visitor>& visitor) {
    Visitor& who = *visitor;
    long first = 0;
    long second = 0;
    if (std::sscanf(who.asked.c_str(), "after %ld", &first) == 1) {
      who.events_left = -1;
      due_.push({who.received + first * 1000, visitor});
    } else if (std::sscanf(who.asked.c_str(), "sse %ld %ld", &first, &second) == 2) {
      who.events_left = first;
      who.pause = second * 1000;
      who.out += kEventsHead;
      // Streams that begin together do not go on together.
      due_.push({who.received + std::rand() % who.pause, visitor});
    } else if (std::sscanf(who.asked.c_str(), "quiet %ld", &first) == 1) {
      who.events_left = 0;
      who.out += std::string(kEventsHead) + event();
      due_.push({who.received + first * 1000, visitor});
    } else {
      who.out += smallAnswer(who.received);
    }
  }

  void proceed(const Due& due) {
    Visitor& who = *due.whose;
    if (who.events_left < 0) {
      who.out += smallAnswer(who.received);
    } else if (who.events_left == 0) {
      who.out += event() + "0\r\n\r\n";
    } else {
      who.out += event();
      --who.events_left;
      due_.push({due.when + who.pause, due.whose});
    }
    flush(who);
  }

  static void flush(Visitor& who) {
    while (!who.out.empty()) {
      const Transfer sent = who.wire.write(who.out);
      if (sent.moved != Moved::Some) return;
      who.out.erase(0, sent.bytes);
    }
  }

  SSL_CTX* context_;
  int listener_ = -1;
  Poll poll_;
  std::priority_queue<Due> due_;
};

}  // namespace
}  // namespace warder::bench

int main(int argc, char** argv) {
  using namespace warder::bench;
  if (argc != 3) return 2;
  allowManyFiles();
  ::signal(SIGPIPE, SIG_IGN);
  Server(argv[1], argv[2]).serve();
}
