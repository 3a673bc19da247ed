#include "secrets/exchange.h"

#include <boost/asio/experimental/awaitable_operators.hpp>

#include "supervisor/net/dial.h"

namespace warder::secrets {

namespace asio = boost::asio;
using namespace asio::experimental::awaitable_operators;

namespace {

std::int64_t millisecondsBetween(std::chrono::steady_clock::time_point from,
                                 std::chrono::steady_clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

}  // namespace

Exchange::Exchange(const Door& door, ClientSide& client, const http::RequestHead& head,
                   const http::Target& target)
    : door_(door),
      client_(client),
      head_(head),
      target_(target),
      request_body_(head.framing),
      request_model_([gate = &door.gate](std::string& text) { gate->clean(text); }) {}

asio::awaitable<ExchangeEnd> Exchange::run(const models::Route* route) {
  route_ = route;
  const Upstream& to = door_.grant.upstream;
  net::Endpoint endpoint{to.tls, to.host, to.port, to.ca_file};
  net::DialRules rules;
  rules.private_addresses = policies::namesHost(door_.policy, to.host, to.port);
  rules.timeout = door_.limits.dial;
  net::Dialled dialled = co_await net::dial(std::move(endpoint), rules);
  if (!dialled) {
    failUpstream(std::string(net::nameOf(dialled.error().why)), dialled.error().sentence);
    discardBuffered();
    co_return conclude();
  }
  upstream_ = std::move(*dialled);
  upstream_->setIdleLimit(door_.limits.upstream_idle);
  // Until the answer is over, the agent may be silent as long as it likes.
  client_.connection->setIdleLimit(std::chrono::milliseconds(0));
  const bool sent = co_await sendHead();
  if (sent) co_await (download() || upload());
  upstream_->close();
  co_return conclude();
}

asio::awaitable<bool> Exchange::sendHead() {
  const std::string head =
      upstreamHead({door_.grant, door_.provider, door_.policy, head_, target_});
  auto failure = co_await upstream_->writeAll(asio::buffer(head));
  // The secret goes from its locked page into the TLS record, and nowhere else.
  const std::string_view line = door_.credential.line();
  if (!failure) failure = co_await upstream_->writeAll(asio::buffer(line));
  if (failure) {
    failUpstream("closed", "the connection ended before the request was sent");
    co_return false;
  }
  if (!head_.expects_continue) co_return true;
  const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
  const bool told = co_await writeToClient(asio::buffer(go_on));
  co_return told;
}

/// The first cause counts: once upload() has found the agent at fault, what its cancellation does
/// to download() says nothing about the upstream.
void Exchange::failUpstream(std::string why, std::string sentence) {
  door_.gate.clean(sentence);  // it goes to the agent too
  if (!failure_ && !client_gone_ && request_fault_.empty())
    failure_ = Failure{std::move(why), std::move(sentence)};
}

/// `when` completes "… ended" or "… said nothing for too long".
void Exchange::failRead(const net::ReadResult& read, const std::string& when) {
  const std::string host = authorityOf(door_.grant.upstream);
  if (read.failure == asio::error::timed_out)
    failUpstream("timeout", host + " said nothing for too long " + when);
  else
    failUpstream("closed", host + " ended the connection " + when);
}

/// A body that has come already need not cost the connection.
void Exchange::discardBuffered() {
  std::size_t used = 0;
  for (;;) {
    const auto step = request_body_.step(std::string_view(client_.inbox).substr(used));
    if (step.consumed == 0) break;
    used += step.consumed;
  }
  client_.inbox.erase(0, used);
}

ExchangeEnd Exchange::conclude() {
  ExchangeEnd end;
  if (failure_)
    door_.emit({"broker.upstream_failed",
                {{"grant", door_.grant.name},
                 {"host", door_.grant.upstream.host},
                 {"port", door_.grant.upstream.port},
                 {"why", failure_->why},
                 {"sentence", failure_->sentence}}});
  if (!request_fault_.empty())
    door_.emit({"broker.bad_request", {{"grant", door_.grant.name}, {"sentence", request_fault_}}});
  if (upstream_ && (answer_started_ || client_gone_)) emitCall();
  if (answer_complete_ && !client_gone_) {
    const bool reusable = request_body_.complete() && !client_framing_.close;
    end.then = reusable ? ExchangeEnd::Then::KeepAlive : ExchangeEnd::Then::Close;
    return end;
  }
  end.then = ExchangeEnd::Then::Close;
  if (client_gone_) return end;
  if (answer_started_) {
    // Only where the end of the body is the end of the connection could a cut look orderly.
    if (client_framing_.framing.kind == http::Framing::Kind::UntilClose)
      end.then = ExchangeEnd::Then::Abort;
    return end;
  }
  if (!failure_) failure_ = Failure{"closed", "it ended without a reason"};
  end.answer = request_fault_.empty() ? upstreamFailed(failure_->why, failure_->sentence)
                                      : badRequest({400, request_fault_});
  if (request_body_.complete() && head_.keep_alive) end.then = ExchangeEnd::Then::KeepAlive;
  return end;
}

void Exchange::emitCall() const {
  const models::Usage usage = meter_ ? meter_->usage() : models::Usage{};
  std::string model = meter_ ? meter_->model() : "";
  if (model.empty()) model = request_model_.model();
  const bool bills = route_ != nullptr && route_->bills;
  const auto cost =
      bills ? models::costOf(door_.provider, model, usage) : std::optional<double>(0.0);
  base::json::object data{
      {"grant", door_.grant.name},
      {"provider", door_.grant.provider},
      {"method", head_.method},
      {"path", target_.path},
      {"model", model},
      {"status", answer_.status},
      {"input_tokens", usage.input},
      {"output_tokens", usage.output},
      {"cache_read_tokens", usage.cache_read},
      {"cache_write_tokens", usage.cache_write},
      {"cost_usd", cost.value_or(0.0)},
      {"priced", cost.has_value()},
      {"streamed", meter_ && meter_->streamed()},
      {"ttfb_ms", first_byte_ ? millisecondsBetween(started_, *first_byte_) : 0},
      {"duration_ms", millisecondsBetween(started_, Clock::now())},
      {"request_bytes", request_bytes_},
      {"response_bytes", response_bytes_},
      {"ended", client_gone_       ? "client_gone"
                : answer_complete_ ? "complete"
                                   : "cut"}};
  if (meter_ && !meter_->error().empty()) data["error"] = meter_->error();
  if (scrubber_ && scrubber_->hits() > 0) data["scrubbed"] = scrubber_->hits();
  door_.emit({"llm.call", std::move(data)});
}

}  // namespace warder::secrets
