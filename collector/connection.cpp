#include "collector/connection.h"

#include <unistd.h>

#include "supervisor/base/log.h"

namespace warder::collector {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::seconds kHeadTimeout{15};
constexpr std::chrono::seconds kIdleTimeout{75};
constexpr std::chrono::seconds kBodyTimeout{30};  // without a single byte
constexpr std::size_t kPiece = 256 * 1024;

/// The body at the front of a connection's bytes.
class ConnectionBody final : public Body {
 public:
  ConnectionBody(Stream* stream, std::string* buffer, const Request& request)
      : stream_(stream),
        buffer_(buffer),
        remaining_(request.content_length.value_or(0)),
        owes_continue_(request.expects_continue && remaining_ > 0) {}

  std::uint64_t remaining() const override { return remaining_; }
  bool broken() const override { return broken_; }

  asio::awaitable<std::string> next() override {
    std::string piece;
    if (remaining_ == 0 || broken_) co_return piece;
    if (owes_continue_) {
      owes_continue_ = false;
      broken_ = !co_await stream_->writeAll("HTTP/1.1 100 Continue\r\n\r\n");
    }
    const auto want = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, kPiece));
    if (buffer_->empty() && !broken_) {
      stream_->expireAfter(kBodyTimeout);
      broken_ = !co_await stream_->readSome(buffer_, want);
    }
    const std::size_t taken = std::min(buffer_->size(), want);
    piece = buffer_->substr(0, taken);
    buffer_->erase(0, taken);
    remaining_ -= taken;
    co_return piece;
  }

 private:
  Stream* stream_;
  std::string* buffer_;
  std::uint64_t remaining_;
  bool owes_continue_;
  bool broken_ = false;
};

asio::awaitable<bool> sendFile(Stream* stream, const Answer* answer) {
  std::string piece;
  std::uint64_t offset = answer->offset;
  const std::uint64_t end = answer->offset + answer->length;
  while (offset < end) {
    piece.resize(static_cast<std::size_t>(std::min<std::uint64_t>(end - offset, kPiece)));
    const ssize_t count =
        ::pread(answer->file.get(), piece.data(), piece.size(), static_cast<off_t>(offset));
    if (count <= 0) co_return false;
    piece.resize(static_cast<std::size_t>(count));
    if (!co_await stream->writeAll(piece)) co_return false;
    offset += static_cast<std::uint64_t>(count);
  }
  co_return true;
}

asio::awaitable<bool> send(Stream* stream, Answer answer) {
  std::string bytes = headOf(answer);
  if (!answer.without_body && !answer.file) bytes += answer.body;
  if (!co_await stream->writeAll(bytes)) co_return false;
  if (answer.without_body || !answer.file) co_return true;
  co_return co_await sendFile(stream, &answer);
}

enum class Heard { Request, Nothing, Nonsense };

/// Reads until a whole head is there.
asio::awaitable<Heard> hear(Stream* stream, std::string* buffer, HeadReader* reader,
                            std::string* why) {
  stream->expireAfter(buffer->empty() ? kIdleTimeout : kHeadTimeout);
  bool timed = !buffer->empty();
  for (;;) {
    const auto whole = reader->take(*buffer);
    if (!whole) {
      *why = whole.error().doing;
      co_return Heard::Nonsense;
    }
    if (*whole) co_return Heard::Request;
    if (!co_await stream->readSome(buffer, kMaxHead)) co_return Heard::Nothing;
    if (!timed) stream->expireAfter(kHeadTimeout);  // the whole head within this time
    timed = true;
  }
}

/// One request and its answer. False when the connection ends.
asio::awaitable<bool> serveOne(Stream* stream, std::string* buffer, Service* service,
                               std::shared_ptr<Presence> presence) {
  HeadReader reader;
  std::string why;
  presence->idle = buffer->empty();
  const Heard heard = co_await hear(stream, buffer, &reader, &why);
  presence->idle = false;
  if (heard == Heard::Nothing) co_return false;
  Answer answer;
  std::uint64_t unread = 0;
  bool keep_alive = false;
  if (heard == Heard::Nonsense) {
    answer =
        reader.tooLarge() ? errorAnswer(431, "too_large", why) : errorAnswer(400, "malformed", why);
  } else {
    Request request = reader.request();
    keep_alive = request.keep_alive;
    ConnectionBody body(stream, buffer, request);
    auto answering = service->answer(std::move(request), &body);
    answer = co_await std::move(answering);
    unread = body.remaining();
    if (body.broken()) co_return false;
  }
  // What was not read would be taken for the next request.
  answer.close = answer.close || !keep_alive || unread > 0 || presence->stopping;
  keep_alive = !answer.close;
  auto sending = send(stream, std::move(answer));
  const bool sent = co_await std::move(sending);
  co_return sent&& keep_alive;
}

}  // namespace

asio::awaitable<void> serveConnection(std::shared_ptr<Stream> stream, Service* service,
                                      std::shared_ptr<Presence> presence) {
  try {
    if (co_await stream->open()) {
      std::string buffer;
      while (co_await serveOne(stream.get(), &buffer, service, presence) && !presence->stopping) {
      }
      co_await stream->finish();
    }
  } catch (const std::exception& failure) {
    base::log(base::Level::Error, std::string("a connection failed: ") + failure.what());
  }
  stream->close();
}

asio::awaitable<void> turnAway(std::shared_ptr<Stream> stream) {
  try {
    if (co_await stream->open()) {
      Answer answer = errorAnswer(503, "busy", "too many connections");
      answer.headers.emplace_back("Retry-After", "1");
      answer.close = true;
      const std::string bytes = headOf(answer) + answer.body;
      co_await stream->writeAll(bytes);
      co_await stream->finish();
    }
  } catch (const std::exception&) {
  }
  stream->close();
}

}  // namespace warder::collector
