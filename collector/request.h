// The head of a request, parsed by Beast and then narrowed to what this server takes. Pure.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace warder::collector {

enum class Method { Get, Head, Post, Put, Other };

struct Request {
  Method method = Method::Other;
  std::string target;
  std::string host;
  std::string authorization;
  std::string content_digest;
  std::string repr_digest;
  std::string warder_seq;
  std::string range;
  std::optional<std::uint64_t> content_length;
  bool keep_alive = true;
  bool expects_continue = false;
};

inline constexpr std::uint32_t kMaxHead = 16 * 1024;

/// Reads one head from bytes that come in pieces.
class HeadReader {
 public:
  HeadReader();
  ~HeadReader();
  HeadReader(const HeadReader&) = delete;
  HeadReader& operator=(const HeadReader&) = delete;

  /// Takes bytes from the front of `bytes`; true when the head is whole. What remains in `bytes`
  /// then belongs to the body. Errors: Config when it is no request that this server takes: bad
  /// syntax, more than kMaxHead, no or several Host, a transfer coding (bodies carry a length),
  /// several lengths.
  base::Result<bool> take(std::string& bytes);
  Request request() const;
  /// take() failed because the head has more than kMaxHead bytes (431, RFC 6585 section 5).
  bool tooLarge() const { return too_large_; }
  /// Nothing was taken yet.
  bool empty() const { return !started_; }

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  bool started_ = false;
  bool too_large_ = false;
  std::size_t taken_ = 0;
};

/// A "bytes=a-b", "bytes=a-" or "bytes=-n" range over a body of `size` bytes.
struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
};
/// nullopt when the header is absent, malformed or has several ranges (the whole is sent then);
/// a length of 0 when it lies outside (416).
std::optional<ByteRange> parseRange(std::string_view header, std::uint64_t size);

}  // namespace warder::collector
