// The upstream's answer on its way to the agent: every read is passed on at once, scrubbed.
#include <array>
#include <charconv>

#include "secrets/exchange.h"

namespace warder::secrets {

namespace asio = boost::asio;

namespace {

constexpr std::size_t kPiece = 16'384;
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
  if (going) going = co_await passHead();
  if (going) going = co_await passBody();
  co_return going;
}

/// One read of the upstream's stream; false when it is over, and then failure_ says so unless the
/// body lasts until close.
asio::awaitable<bool> Exchange::fillAnswer() {
  const std::size_t before = answer_inbox_.size();
  answer_inbox_.resize(before + kPiece);
  const net::ReadResult read =
      co_await upstream_->readSome(asio::buffer(answer_inbox_.data() + before, kPiece));
  answer_inbox_.resize(before + read.bytes);
  if (read.bytes > 0 && !first_byte_) first_byte_ = Clock::now();
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
  const std::string host = authorityOf(door_.grant.upstream);
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
      vault::scrubWhole(door_.credential.secret(), door_.grant.placeholder, answer_inbox_,
                        scanned_);
      auto head = http::parseResponseHead(vault::viewOf(answer_inbox_).substr(0, scanned_),
                                          head_.method == "HEAD");
      vault::dropFront(answer_inbox_, std::exchange(scanned_, 0));
      if (!head) {
        fault = head.error();
      } else if (head->status >= 200) {
        answer_ = std::move(*head);
        co_return true;
      } else if (head->status == 101) {
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
  if (head.status == 100 || head_.minor == 0) co_return true;
  const std::string text = clientHead(head, ClientFraming{});
  const bool written = co_await writeToClient(asio::buffer(text));
  co_return written;
}

asio::awaitable<bool> Exchange::passHead() {
  if (hasEncoding(answer_)) {
    failUpstream("protocol", authorityOf(door_.grant.upstream) +
                                 " encoded its answer although identity was asked for");
    co_return false;
  }
  client_framing_ = clientFraming(answer_, head_);
  answer_body_.emplace(answer_.framing);
  const bool events = isEventStream(answer_);
  scrubber_.emplace(door_.credential.secret(), door_.grant.placeholder,
                    events ? vault::Scrubber::Mode::Events : vault::Scrubber::Mode::Window);
  meter_.emplace(events, [gate = &door_.gate](std::string& text) { gate->clean(text); });
  const std::string text = clientHead(answer_, client_framing_);
  answer_started_ = true;
  const bool written = co_await writeToClient(asio::buffer(text));
  co_return written;
}

asio::awaitable<bool> Exchange::passBody() {
  bool going = true;
  while (going) {
    vault::WipedBytes out;
    std::size_t used = 0;
    while (used < answer_inbox_.size()) {
      const auto step = answer_body_->step(vault::viewOf(answer_inbox_).substr(used));
      if (step.consumed == 0) break;
      used += step.consumed;
      response_bytes_ += step.data.size();
      scrubber_->push(step.data, out);
    }
    vault::dropFront(answer_inbox_, used);
    if (answer_body_->complete()) scrubber_->finish(out);
    const bool passed = co_await passPiece(std::move(out));
    if (!passed) co_return false;
    if (answer_body_->bad()) {
      failUpstream("protocol", authorityOf(door_.grant.upstream) +
                                   " broke its framing: " + answer_body_->fault());
      co_return false;
    }
    if (answer_body_->complete()) co_return true;
    going = co_await fillAnswer();
    if (!going && answer_body_->complete()) going = true;  // it lasted until close
  }
  co_return false;
}

/// Frames one piece of content towards the agent; adds the end when the body is complete.
asio::awaitable<bool> Exchange::passPiece(vault::WipedBytes piece) {
  meter_->feed(vault::viewOf(piece));
  vault::WipedBytes text;
  const bool chunked = client_framing_.framing.kind == http::Framing::Kind::Chunked;
  if (chunked && !piece.empty()) {
    std::array<char, 20> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), piece.size(), 16).ptr;
    append(text, {digits.begin(), static_cast<std::size_t>(end - digits.begin())});
    append(text, "\r\n");
    append(text, vault::viewOf(piece));
    append(text, "\r\n");
  }
  if (chunked && answer_body_->complete()) append(text, "0\r\n\r\n");
  const vault::WipedBytes& out = chunked ? text : piece;
  if (out.empty()) co_return true;
  const bool written = co_await writeToClient(asio::buffer(out));
  co_return written;
}

}  // namespace warder::secrets
