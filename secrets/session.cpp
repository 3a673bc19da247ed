#include "secrets/session.h"

#include <array>

#include "secrets/answers.h"
#include "secrets/exchange.h"

namespace warder::secrets {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPiece = 16'384;

class Session {
 public:
  Session(std::unique_ptr<net::Connection> connection, const Door& door) : door_(door) {
    client_.connection = std::move(connection);
    client_.connection->setIdleLimit(door.limits.client_idle);
  }

  asio::awaitable<void> serve() {
    bool going = true;
    while (going) {
      client_.connection->setIdleLimit(door_.limits.client_idle);
      std::size_t head_length = 0;
      http::HeadFault fault;
      const http::HeadScan scan = co_await readHead(&head_length, &fault);
      if (scan == http::HeadScan::NeedMore) co_return;  // the agent left
      if (scan == http::HeadScan::Bad) {
        co_await refuseBad(fault);
        co_return;
      }
      auto head = http::parseRequestHead(std::string_view(client_.inbox).substr(0, head_length));
      client_.inbox.erase(0, head_length);
      if (!head) {
        co_await refuseBad(head.error());
        co_return;
      }
      going = co_await answerRequest(std::move(*head));
    }
  }

  asio::awaitable<void> refuseOneTooMany() {
    Refusal refusal;
    refusal.status = 503;
    refusal.error_type = "overloaded_error";
    refusal.sentence = "there are " + std::to_string(door_.limits.connections) +
                       " connections to Warder's broker already; close some and try again";
    refusal.retry = true;
    co_await lastAnswer(std::move(refusal));
  }

 private:
  asio::awaitable<http::HeadScan> readHead(std::size_t* length, http::HeadFault* fault) {
    for (;;) {
      const http::HeadScan scan = http::scanHead(client_.inbox, *length, *fault);
      if (scan != http::HeadScan::NeedMore) co_return scan;
      std::array<char, kPiece> piece;
      const net::ReadResult read = co_await client_.connection->readSome(asio::buffer(piece));
      if (read.failure || read.bytes == 0) co_return http::HeadScan::NeedMore;
      client_.inbox.append(piece.data(), read.bytes);
    }
  }

  /// True when the connection may be used for another request.
  asio::awaitable<bool> answerRequest(http::RequestHead head) {
    auto target = http::parseTarget(head.target);
    if (!target) {
      co_await refuseBad(target.error());
      co_return false;
    }
    Admission admission;
    if (head.wants_upgrade) {
      Refusal refusal;
      refusal.status = 426;
      refusal.error_type = "invalid_request_error";
      refusal.sentence = "Warder's broker speaks plain HTTP/1.1 here and switches to nothing else";
      admission.refusal = std::move(refusal);
    } else {
      admission = admit({door_.grant, door_.provider, door_.policy, head, *target});
    }
    if (admission.refusal) {
      emitDenied(*admission.refusal, head, *target);
      const AnswerShape shape = shapeOfRefusal(head);
      const bool going = co_await refuse(std::move(*admission.refusal), shape);
      co_return going;
    }
    Exchange exchange(door_, client_, head, *target);
    ExchangeEnd end = co_await exchange.run(admission.route);
    if (end.answer) {
      const bool keeps = end.then == ExchangeEnd::Then::KeepAlive;
      const AnswerShape answer_shape{false, head.method == "HEAD"};
      if (!keeps) {
        co_await lastAnswer(std::move(*end.answer));
        co_return false;
      }
      const bool written = co_await write(errorAnswer(*end.answer, answer_shape));
      co_return written;
    }
    if (end.then == ExchangeEnd::Then::KeepAlive) co_return true;
    if (end.then == ExchangeEnd::Then::Abort) {
      client_.connection->abort();
      co_return false;
    }
    co_await linger();
    co_return false;
  }

  asio::awaitable<void> refuseBad(http::HeadFault fault) {
    door_.emit({"broker.bad_request", {{"grant", door_.grant.name}, {"sentence", fault.sentence}}});
    Refusal refusal = badRequest(fault);
    co_await lastAnswer(std::move(refusal));
  }

  /// Keeps the connection when there is no body in the way of the next request.
  static AnswerShape shapeOfRefusal(const http::RequestHead& head) {
    const bool bodyless =
        head.framing.kind == http::Framing::Kind::None ||
        (head.framing.kind == http::Framing::Kind::Length && head.framing.length == 0);
    return AnswerShape{!bodyless || !head.keep_alive, head.method == "HEAD"};
  }

  asio::awaitable<bool> refuse(Refusal refusal, AnswerShape shape) {
    const bool written = co_await write(errorAnswer(refusal, shape));
    if (written && shape.close) co_await linger();
    co_return written && !shape.close;
  }

  asio::awaitable<void> lastAnswer(Refusal refusal) {
    AnswerShape shape;
    shape.close = true;
    const bool written = co_await write(errorAnswer(refusal, shape));
    if (written) co_await linger();
  }

  asio::awaitable<bool> write(std::string text) {
    const auto failure = co_await client_.connection->writeAll(asio::buffer(text));
    co_return !failure;
  }

  /// Lets the agent read our last answer: closing while it still sends would reset the connection
  /// and could take the answer with it.
  asio::awaitable<void> linger() {
    client_.connection->endWriting();
    client_.connection->setIdleLimit(door_.limits.linger);
    std::array<char, kPiece> piece;
    std::size_t total = 0;
    while (total < door_.limits.linger_bytes) {
      const net::ReadResult read = co_await client_.connection->readSome(asio::buffer(piece));
      if (read.failure || read.bytes == 0) co_return;
      total += read.bytes;
    }
  }

  void emitDenied(const Refusal& refusal, const http::RequestHead& head,
                  const http::Target& target) {
    const Upstream& to = door_.grant.upstream;
    std::string path = target.path;
    door_.gate.clean(path);  // before it is cut
    door_.emit({"broker.denied",
                {{"grant", door_.grant.name},
                 {"method", head.method},
                 {"host", to.host},
                 {"port", to.port},
                 {"path", path.substr(0, 256)},
                 {"rule", refusal.rule},
                 {"reason", refusal.sentence}}});
  }

  const Door& door_;
  ClientSide client_;
};

}  // namespace

asio::awaitable<void> serveConnection(std::unique_ptr<net::Connection> connection,
                                      const Door* door) {
  Session session(std::move(connection), *door);
  co_await session.serve();
}

asio::awaitable<void> refuseConnection(std::unique_ptr<net::Connection> connection,
                                       const Door* door) {
  Session session(std::move(connection), *door);
  co_await session.refuseOneTooMany();
}

}  // namespace warder::secrets
