// AWS's event stream (application/vnd.amazon.eventstream): binary messages of headers and a payload
// with checksums, as they stream by. Payloads of any size are told in pieces.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace warder::models {

/// What AWS's own clients accept.
inline constexpr std::uint32_t kMaxEventMessage = 24U << 20;
/// They accept more; what Bedrock sends is below 1 KiB.
inline constexpr std::uint32_t kMaxEventHeaders = 16U << 10;

class EventStreamReader {
 public:
  class Sink {
   public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;
    virtual void onMessageBegin() = 0;
    /// A header whose value is a text; others are passed over. All come before the payload.
    virtual void onHeader(std::string_view name, std::string_view value) = 0;
    virtual void onPayload(std::string_view piece) = 0;
    /// `sound`: its checksum is right. Only then was what came before true.
    virtual void onMessageEnd(bool sound) = 0;
  };

  explicit EventStreamReader(Sink& sink) : sink_(sink) {}
  /// Bytes after a fault are ignored.
  void feed(std::string_view bytes);

  bool failed() const { return state_ == State::Failed; }
  /// Between two messages.
  bool atBoundary() const { return state_ == State::Prelude && held_.empty(); }

 private:
  enum class State { Prelude, Headers, Payload, Checksum, Failed };

  std::string_view take(std::string_view& bytes, std::size_t size);
  bool hold(std::string_view& bytes, std::size_t size);
  void readPrelude();
  void readHeaders();
  bool readHeader(std::string_view& rest);
  void readChecksum();

  Sink& sink_;
  State state_ = State::Prelude;
  std::string held_;  // of what is read whole: prelude, headers, checksum
  std::uint32_t headers_ = 0;
  std::uint32_t payload_left_ = 0;
  std::uint32_t checksum_ = 0;
};

/// CRC-32 as in zlib, gzip and PNG. `before`: of the bytes that went before.
std::uint32_t checksumOf(std::string_view bytes, std::uint32_t before = 0);

}  // namespace warder::models
