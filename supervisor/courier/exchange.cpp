#include "supervisor/courier/exchange.h"

#include <unistd.h>

#include <algorithm>

namespace warder::courier {

namespace asio = boost::asio;

namespace {
constexpr std::chrono::seconds kIdleLimit{30};  // without a byte in either direction
constexpr std::size_t kPiece = 256 * 1024;
}  // namespace

Exchange::Exchange(Sink sink, WipedText token) : sink_(std::move(sink)), token_(std::move(token)) {
  rules_.private_addresses = true;  // the job names this host
}

void Exchange::hurry(std::chrono::milliseconds left) {
  rules_.timeout = std::clamp(left, std::chrono::milliseconds(1), rules_.timeout);
}

base::Error Exchange::failure(std::string_view what) const {
  return {base::Kind::Peer, "collector " + sink_.url + ": " + std::string(what)};
}

void Exchange::abort() {
  if (connection_) connection_->abort();
}

asio::awaitable<base::Status> Exchange::connect() {
  auto dialling = net::dial(sink_.endpoint, rules_);
  auto dialled = co_await std::move(dialling);
  if (!dialled) co_return failure(dialled.error().sentence);
  connection_ = std::move(*dialled);
  connection_->setIdleLimit(kIdleLimit);
  received_.clear();
  co_return base::Status();
}

asio::awaitable<bool> Exchange::sendBody(std::shared_ptr<Outgoing> request) {
  if (!request->file) {
    const auto whole = asio::buffer(request->body);
    const auto failed = co_await connection_->writeAll(whole);
    co_return !failed;
  }
  std::string piece;
  for (std::uint64_t offset = 0; offset < request->file_bytes;) {
    piece.resize(
        static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, request->file_bytes - offset)));
    const ssize_t count =
        ::pread(request->file.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
    // The file became shorter than announced: the request cannot be completed.
    if (count <= 0) co_return false;
    const auto part = asio::buffer(piece.data(), static_cast<std::size_t>(count));
    const auto failed = co_await connection_->writeAll(part);
    if (failed) co_return false;
    offset += static_cast<std::uint64_t>(count);
  }
  co_return true;
}

asio::awaitable<bool> Exchange::send(std::shared_ptr<Outgoing> request) {
  const std::uint64_t length = request->file ? request->file_bytes : request->body.size();
  std::string rest;
  for (const auto& [name, value] : request->headers) rest += name + ": " + value + "\r\n";
  if (request->method != "HEAD") rest += "Content-Length: " + std::to_string(length) + "\r\n";
  rest += "\r\n";
  const std::string line = request->method + " " + sink_.base_path + request->path +
                           " HTTP/1.1\r\nHost: " + sink_.authority +
                           "\r\nUser-Agent: warder\r\nAuthorization: Bearer ";
  // The only place where the token leaves its own; wiped as soon as it is sent.
  WipedText head(line.size() + token_.view().size() + 2 + rest.size());
  head.append(line);
  head.append(token_.view());
  head.append("\r\n");
  head.append(rest);
  const auto bytes = asio::buffer(head.view().data(), head.view().size());
  const auto failed = co_await connection_->writeAll(bytes);
  if (failed) co_return false;
  co_return co_await sendBody(request);
}

asio::awaitable<base::Status> Exchange::receive(AnswerReader* reader) {
  char buffer[16384];
  for (;;) {
    const auto whole = reader->take(received_);
    if (!whole) co_return failure(whole.error().doing);
    if (*whole) co_return base::Status();
    const auto space = asio::buffer(buffer);
    const auto read = co_await connection_->readSome(space);
    if (read.failure == asio::error::timed_out) co_return failure("no answer within 30 seconds");
    if (read.failure || read.bytes == 0) {
      const auto ended = reader->started() ? reader->end() : base::Status();
      if (reader->started() && ended) co_return base::Status();
      co_return failure("the connection ended before the answer did");
    }
    received_.append(buffer, read.bytes);
  }
}

asio::awaitable<base::Result<HttpAnswer>> Exchange::ask(std::shared_ptr<Outgoing> request) {
  for (bool again = true; again;) {
    const bool kept = connection_ != nullptr;
    again = false;
    if (!kept) {
      const auto connected = co_await connect();
      if (!connected) co_return connected.error();
    }
    AnswerReader reader(request->method == "HEAD");
    const bool sent = co_await send(request);
    // A collector may refuse a body before all of it is sent: its answer counts then.
    const auto received = co_await receive(&reader);
    if (received) {
      HttpAnswer answer = reader.answer();
      if (!sent || !answer.keep_alive) connection_.reset();
      co_return answer;
    }
    connection_.reset();
    again = kept && !reader.started();
    if (!again) co_return received.error();
  }
  co_return failure("no connection");
}

}  // namespace warder::courier
