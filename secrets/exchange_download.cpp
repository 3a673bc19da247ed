// The upstream's answer on its way to the agent: every read is passed on at once, scrubbed where a
// secret was lent.
#include <array>
#include <charconv>

#include "secrets/exchange.h"
#include "secrets/read_more.h"

namespace warder::secrets {

namespace asio = boost::asio;

namespace {

constexpr int kMostInterim = 16;

bool hasEncoding(const http::ResponseHead& head) {
  for (const auto& encoding : http::listField(head.fields, "content-encoding"))
    if (encoding != "identity") return true;
  return false;
}

bool isEventStream(const http::ResponseHead& head) {
  const std::string* type = http::findField(head.fields, "content-type");
  return type != nullptr && http::lowerCase(*type).starts_with("text/event-stream");
}

}  // namespace

/// Always comes to an end of its own, also by an error of ours: upload() waits for it.
asio::awaitable<void> Exchange::download() {
  try {
    answer_complete_ = co_await relay();
  } catch (const std::exception& e) {
    failUpstream("protocol", std::string("Warder could not pass the answer on: ") + e.what());
  }
}

asio::awaitable<bool> Exchange::relay() {
  bool going = co_await readAnswerHead();
  if (going && noteRejection()) co_return false;
  if (going) going = co_await passHead();
  if (going && !switched_) going = co_await passBody();
  co_return going;
}

/// One read of the upstream's stream; false when it is over, and then failure_ says so unless the
/// body lasts until close.
asio::awaitable<bool> Exchange::fillAnswer() {
  const net::ReadResult read = co_await readMore(*upstream_, answer_inbox_);
  if (read.bytes > 0 && !first_byte_) first_byte_ = Clock::now();
  answer_begun_ = answer_begun_ || read.bytes > 0;
  if (!read.failure && read.bytes > 0) co_return true;
  if (!answer_body_)
    failRead(read, "before it answered");
  else if (read.failure || !answer_body_->endOfStream())
    failRead(read, "in the middle of its answer");
  co_return false;
}

/// False when the agent is gone, or when upload() cancelled us and knows why.
asio::awaitable<bool> Exchange::writeToClient(asio::const_buffer bytes) {
  const auto failure = co_await client_.connection->writeAll(bytes);
  if (failure && failure != asio::error::operation_aborted) client_gone_ = true;
  co_return !failure;
}

asio::awaitable<bool> Exchange::readAnswerHead() {
  const std::string host = authorityOf(asked_.to);
  for (int interim = 0; interim <= kMostInterim; ++interim) {
    http::HeadFault fault;
    http::HeadScan scan = http::HeadScan::NeedMore;
    for (;;) {
      scan = http::scanHead(vault::viewOf(answer_inbox_), scanned_, fault);
      if (scan != http::HeadScan::NeedMore) break;
      const bool more = co_await fillAnswer();
      if (!more) co_return false;
    }
    if (scan == http::HeadScan::Whole) {
      // Before anything is copied out of it.
      if (secret_) vault::scrubWhole(secret_->hidden, answer_inbox_, scanned_);
      auto head = http::parseResponseHead(vault::viewOf(answer_inbox_).substr(0, scanned_),
                                          asked_.head.method == "HEAD");
      vault::dropFront(answer_inbox_, std::exchange(scanned_, 0));
      if (!head) {
        fault = head.error();
      } else if (head->status >= 200) {
        answer_ = std::move(*head);
        co_return true;
      } else if (head->status == 101) {
        if (asked_.head.wants_upgrade && !lent()) {
          answer_ = std::move(*head);
          switched_ = true;
          co_return true;
        }
        fault.sentence = "it switched protocols without being asked";
      } else {
        const bool passed = co_await passInterim(std::move(*head));
        if (!passed) co_return false;
        continue;
      }
    }
    failUpstream("protocol", host + " sent what is no HTTP/1.1 answer: " + fault.sentence);
    co_return false;
  }
  failUpstream("protocol", host + " sent interim answers without end");
  co_return false;
}

/// 100 is between the upstream and us; others are for whoever asked.
asio::awaitable<bool> Exchange::passInterim(http::ResponseHead head) {
  if (head.status == 100 || asked_.head.minor == 0) co_return true;
  const std::string text = clientHead(head, ClientFraming{});
  const bool written = co_await writeToClient(asio::buffer(text));
  co_return written;
}

asio::awaitable<bool> Exchange::passHead() {
  if (lent() && hasEncoding(answer_)) {
    failUpstream("protocol",
                 authorityOf(asked_.to) + " encoded its answer although identity was asked for");
    co_return false;
  }
  client_framing_ = clientFraming(answer_, asked_.head);
  answer_body_.emplace(answer_.framing);
  if (lent()) {
    const bool events = isEventStream(answer_);
    scrubber_.emplace(secret_->hidden,
                      events ? vault::Scrubber::Mode::Events : vault::Scrubber::Mode::Window);
    const std::string* type = http::findField(answer_.fields, "content-type");
    const std::string_view said = type != nullptr ? *type : std::string_view();
    meter_ =
        models::AnswerMeter::make(verdict_.route.dialect, said,
                                  [&gate = shared_.gate](std::string& text) { gate.clean(text); });
  }
  const std::string text =
      switched_ ? switchingHead(answer_) : clientHead(answer_, client_framing_);
  append(to_client_, text);
  answer_started_ = true;
  // With it goes what of the body is here already; a head alone does not wait.
  if (!answer_inbox_.empty() && !switched_) co_return true;
  const vault::WipedBytes out = std::exchange(to_client_, {});
  const bool written = co_await writeToClient(asio::buffer(out));
  co_return written;
}

asio::awaitable<bool> Exchange::passBody() {
  bool going = true;
  while (going) {
    vault::WipedBytes piece;
    std::size_t used = 0;
    while (used < answer_inbox_.size()) {
      const auto step = answer_body_->step(vault::viewOf(answer_inbox_).substr(used));
      if (step.consumed == 0) break;
      used += step.consumed;
      response_bytes_ += step.data.size();
      if (scrubber_)
        scrubber_->push(step.data, piece);
      else
        append(piece, step.data);
    }
    vault::dropFront(answer_inbox_, used);
    if (answer_body_->complete() && scrubber_) scrubber_->finish(piece);
    if (meter_) meter_->feed(vault::viewOf(piece));
    framePiece(piece);
    if (!keepBudget()) co_return false;
    const vault::WipedBytes out = std::exchange(to_client_, {});
    if (!out.empty()) {
      const bool passed = co_await writeToClient(asio::buffer(out));
      if (!passed) co_return false;
    }
    if (answer_body_->bad()) {
      failUpstream("protocol",
                   authorityOf(asked_.to) + " broke its framing: " + answer_body_->fault());
      co_return false;
    }
    if (answer_body_->complete()) co_return true;
    going = co_await fillAnswer();
    if (!going && answer_body_->complete()) going = true;  // it lasted until close
  }
  co_return false;
}

/// Frames content towards the agent; adds the end when the body is complete.
void Exchange::framePiece(const vault::WipedBytes& piece) {
  const bool chunked = client_framing_.framing.kind == http::Framing::Kind::Chunked;
  if (chunked && !piece.empty()) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), piece.size(), 16).ptr;
    append(to_client_, {digits.begin(), static_cast<std::size_t>(end - digits.begin())});
    append(to_client_, "\r\n");
  }
  append(to_client_, vault::viewOf(piece));
  if (chunked && !piece.empty()) append(to_client_, "\r\n");
  if (chunked && answer_body_->complete()) append(to_client_, "0\r\n\r\n");
}

}  // namespace warder::secrets
