#include "secrets/session.h"

#include <array>

#include "secrets/answers.h"
#include "secrets/decision_events.h"
#include "secrets/exchange.h"
#include "secrets/host_field.h"
#include "secrets/read_more.h"

namespace warder::secrets {

namespace asio = boost::asio;

namespace {

class Session {
 public:
  Session(std::shared_ptr<Shared> shared, std::unique_ptr<net::Connection> connection,
          Approach approach)
      : shared_(std::move(shared)), approach_(std::move(approach)) {
    client_.connection = std::move(connection);
    client_.connection->setIdleLimit(shared_->limits.client_idle);
    form_ = formFor(approach_.to);
  }

  asio::awaitable<void> serve() {
    bool going = true;
    while (going) {
      client_.connection->setIdleLimit(shared_->limits.client_idle);
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

  /// One answer, whatever is asked; the head is read if it comes in time.
  asio::awaitable<void> answerWith(Refusal refusal) {
    client_.connection->setIdleLimit(shared_->limits.linger);
    std::size_t head_length = 0;
    http::HeadFault fault;
    const http::HeadScan scan = co_await readHead(&head_length, &fault);
    if (scan != http::HeadScan::NeedMore) co_await lastAnswer(std::move(refusal));
  }

  asio::awaitable<void> refuseOneTooMany() {
    Refusal refusal;
    refusal.status = 503;
    refusal.why = "connections";
    refusal.error_type = "overloaded_error";
    refusal.sentence = "there are " + std::to_string(shared_->limits.connections) +
                       " connections to Warder's broker already; close some and try again";
    refusal.retry = true;
    co_await lastAnswer(std::move(refusal));
  }

 private:
  asio::awaitable<http::HeadScan> readHead(std::size_t* length, http::HeadFault* fault) {
    for (;;) {
      const http::HeadScan scan = http::scanHead(client_.inbox, *length, *fault);
      if (scan != http::HeadScan::NeedMore) co_return scan;
      const net::ReadResult read = co_await readMore(*client_.connection, client_.inbox);
      if (read.failure || read.bytes == 0) co_return http::HeadScan::NeedMore;
    }
  }

  /// True when the connection may be used for another request.
  asio::awaitable<bool> answerRequest(http::RequestHead head) {
    Upstream to = approach_.to;
    if (approach_.kind == Approach::Kind::Proxy) {
      auto named = splitAbsolute(head);
      if (!named) {
        co_await refuseBad(named.error());
        co_return false;
      }
      to = std::move(*named);
    }
    auto target = http::parseTarget(head.target);
    if (!target) {
      co_await refuseBad(target.error());
      co_return false;
    }
    form_ = formFor(to);
    const Asked asked{shared_->rules, approach_.lease, to, head, *target};
    Verdict verdict = decide(asked);
    if (!verdict.refusal) verdict.refusal = judgeUpgrade(asked, verdict);
    emitVerdict(*shared_, asked, verdict);
    if (verdict.refusal) {
      const AnswerShape shape = shapeOfRefusal(head);
      const bool going = co_await refuse(std::move(*verdict.refusal), shape);
      co_return going;
    }
    Exchange exchange(*shared_, client_, asked, verdict);
    ExchangeEnd end = co_await exchange.run();
    const bool going = co_await finish(std::move(end), head.method == "HEAD");
    co_return going;
  }

  asio::awaitable<bool> finish(ExchangeEnd end, bool head_only) {
    const bool keeps = end.then == ExchangeEnd::Then::KeepAlive;
    if (end.answer && !keeps) {
      co_await lastAnswer(std::move(*end.answer));
      co_return false;
    }
    if (end.answer) {
      const AnswerShape shape{false, head_only, form_};
      const bool written = co_await write(errorAnswer(*end.answer, shape));
      co_return written;
    }
    if (keeps) co_return true;
    if (end.then == ExchangeEnd::Then::Abort) {
      client_.connection->abort();
      co_return false;
    }
    co_await linger();
    co_return false;
  }

  /// "http://host:port/path" into whom it is for and "/path". The Host header must say the same
  /// (decide() sees to it), so nothing is taken on trust.
  static http::HeadResult<Upstream> splitAbsolute(http::RequestHead& head) {
    const auto bad = [](std::string sentence) { return http::HeadFault{400, std::move(sentence)}; };
    std::string_view rest = head.target;
    if (rest.size() < 7 || !http::sameName(rest.substr(0, 7), "http://"))
      return bad(
          "this is a proxy: it takes CONNECT for https, and for http a target that begins with "
          "http://");
    rest.remove_prefix(7);
    const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
    std::string_view authority = rest.substr(0, end);
    if (const std::size_t at = authority.rfind('@'); at != std::string_view::npos)
      authority.remove_prefix(at + 1);
    const auto named = readHostAndPort(authority, 80);
    if (!named) return bad("the target names no valid host");
    if (isLoopbackHost(named->host))
      return http::HeadFault{403,
                             "a proxy does not lead to this machine itself; dial the address "
                             "directly (NO_PROXY=localhost,127.0.0.1,::1)"};
    std::string path(rest.substr(end));
    if (!path.starts_with('/')) path.insert(0, "/");
    head.target = std::move(path);
    Upstream to;
    to.tls = false;
    to.host = named->host;
    to.port = named->port;
    return to;
  }

  /// WebSocket passes where nothing is lent; h2c is an offer that a server may leave aside.
  static std::optional<Refusal> judgeUpgrade(const Asked& asked, const Verdict& verdict) {
    if (!asked.head.wants_upgrade || !verdict.lease) return std::nullopt;
    const auto protocols = http::listField(asked.head.fields, "upgrade");
    if (std::find(protocols.begin(), protocols.end(), "websocket") == protocols.end())
      return std::nullopt;
    Refusal refusal;
    refusal.status = 426;
    refusal.why = "upgrade";
    refusal.error_type = "invalid_request_error";
    refusal.sentence =
        "Warder's broker speaks plain HTTP/1.1 where it lends a secret, and switches to nothing "
        "else; send the request without Upgrade";
    return refusal;
  }

  asio::awaitable<void> refuseBad(http::HeadFault fault) {
    const std::string grant = approach_.lease ? approach_.lease->grant->name : "";
    shared_->emit({"broker.bad_request", {{"grant", grant}, {"sentence", fault.sentence}}});
    Refusal refusal = badRequest(fault);
    co_await lastAnswer(std::move(refusal));
  }

  /// Keeps the connection when there is no body in the way of the next request.
  AnswerShape shapeOfRefusal(const http::RequestHead& head) {
    const bool bodyless =
        head.framing.kind == http::Framing::Kind::None ||
        (head.framing.kind == http::Framing::Kind::Length && head.framing.length == 0);
    return AnswerShape{!bodyless || !head.keep_alive, head.method == "HEAD", form_};
  }

  /// Whoever speaks to a provider reads its errors; elsewhere ours are plain.
  models::ErrorForm formFor(const Upstream& to) const {
    if (approach_.lease) return approach_.lease->provider->error_form;
    for (const auto& lease : shared_->rules.leases)
      if (lease->to.host == to.host && lease->to.port == to.port)
        return lease->provider->error_form;
    return models::ErrorForm::Plain;
  }

  asio::awaitable<bool> refuse(Refusal refusal, AnswerShape shape) {
    const bool written = co_await write(errorAnswer(refusal, shape));
    if (written && shape.close) co_await linger();
    co_return written && !shape.close;
  }

  asio::awaitable<void> lastAnswer(Refusal refusal) {
    AnswerShape shape;
    shape.close = true;
    shape.form = form_;
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
    client_.connection->setIdleLimit(shared_->limits.linger);
    std::size_t total = 0;
    while (total < shared_->limits.linger_bytes) {
      client_.inbox.clear();
      const net::ReadResult read = co_await readMore(*client_.connection, client_.inbox);
      if (read.failure || read.bytes == 0) co_return;
      total += read.bytes;
    }
  }

  std::shared_ptr<Shared> shared_;
  Approach approach_;
  ClientSide client_;
  models::ErrorForm form_ = models::ErrorForm::Plain;
};

}  // namespace

asio::awaitable<void> serveHttp(std::shared_ptr<Shared> shared,
                                std::unique_ptr<net::Connection> connection, Approach approach) {
  Session session(std::move(shared), std::move(connection), std::move(approach));
  co_await session.serve();
}

asio::awaitable<void> refuseConnection(std::shared_ptr<Shared> shared,
                                       std::unique_ptr<net::Connection> connection,
                                       Approach approach) {
  Session session(std::move(shared), std::move(connection), std::move(approach));
  co_await session.refuseOneTooMany();
}

asio::awaitable<void> answerDenied(std::shared_ptr<Shared> shared,
                                   std::unique_ptr<net::Connection> connection, Refusal refusal) {
  Session session(std::move(shared), std::move(connection), Approach{});
  co_await session.answerWith(std::move(refusal));
}

}  // namespace warder::secrets
