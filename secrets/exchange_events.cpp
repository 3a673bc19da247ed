// What is told of an exchange when it is over.
#include "secrets/decision_events.h"
#include "secrets/exchange.h"

namespace warder::secrets {

namespace {

constexpr std::size_t kLongestPath = 256;

std::int64_t millisecondsBetween(std::chrono::steady_clock::time_point from,
                                 std::chrono::steady_clock::time_point to) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(to - from).count();
}

}  // namespace

void Exchange::emitFailures() const {
  const std::string grant = lent() ? verdict_.lease->grant->name : "";
  if (failure_)
    shared_.emit({"broker.upstream_failed",
                  {{"grant", grant},
                   {"host", asked_.to.host},
                   {"port", asked_.to.port},
                   {"why", failure_->why},
                   {"sentence", failure_->sentence}}});
  if (!refusal_) return;
  if (refusal_->why == "bad_request")
    shared_.emit({"broker.bad_request", {{"grant", grant}, {"sentence", refusal_->sentence}}});
  else
    emitDenied(shared_, asked_, verdict_, *refusal_);
}

std::string_view Exchange::howItEnded() const {
  if (taken_back_) return "revoked";
  if (client_gone_) return "client_gone";
  return answer_complete_ || switched_ ? "complete" : "cut";
}

void Exchange::emitCall() const {
  const models::Usage usage = meter_ ? meter_->usage() : models::Usage{};
  std::string model = meter_ ? meter_->model() : "";
  if (model.empty()) model = modelAsked();
  const auto cost = costSoFar();
  base::json::object data{
      {"grant", verdict_.lease->grant->name},
      {"provider", verdict_.lease->grant->provider},
      {"method", asked_.head.method},
      {"path", asked_.target.path},
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
      {"ended", howItEnded()}};
  if (verdict_.route.bills) data["usage_told"] = meter_ && meter_->usageTold();
  if (meter_ && !meter_->error().empty()) data["error"] = meter_->error();
  if (meter_ && !meter_->unreadable().empty()) data["unreadable"] = meter_->unreadable();
  if (scrubber_ && scrubber_->hits() > 0) data["scrubbed"] = scrubber_->hits();
  shared_.emit({"llm.call", std::move(data)});
}

void Exchange::emitRequest() const {
  std::string path = asked_.target.path;
  shared_.gate.clean(path);  // before it is cut
  base::json::object data{{"host", asked_.to.host},
                          {"port", asked_.to.port},
                          {"tls", asked_.to.tls},
                          {"method", asked_.head.method},
                          {"path", path.substr(0, kLongestPath)},
                          {"status", answer_.status},
                          {"duration_ms", millisecondsBetween(started_, Clock::now())},
                          {"request_bytes", request_bytes_},
                          {"response_bytes", response_bytes_},
                          {"upgraded", switched_},
                          {"ended", howItEnded()}};
  shared_.emit({"broker.request", std::move(data)});
}

}  // namespace warder::secrets
