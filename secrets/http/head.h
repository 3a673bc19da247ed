// The framing gate: heads of HTTP/1.1 messages, read strictly. Nothing that two parsers could
// understand differently gets through, so that what was decided on is what is sent.
#pragma once
#include <boost/system/result.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warder::http {

inline constexpr std::size_t kMaxHeadBytes = 65'536;
inline constexpr std::size_t kMaxHeaders = 200;

struct HeaderField {
  std::string name;  // as sent
  std::string value;
};
using HeaderFields = std::vector<HeaderField>;

/// How the end of a body is found.
struct Framing {
  enum class Kind { None, Length, Chunked, UntilClose };
  Kind kind = Kind::None;
  std::uint64_t length = 0;
};

struct RequestHead {
  std::string method;
  std::string target;  // origin-form, not yet checked (see target.h)
  int minor = 1;       // HTTP/1.minor
  HeaderFields fields;
  Framing framing;
  bool expects_continue = false;
  bool wants_upgrade = false;
  bool keep_alive = true;
};

struct ResponseHead {
  int status = 0;
  int minor = 1;
  std::string reason;
  HeaderFields fields;
  Framing framing;
  bool keep_alive = false;  // another request may follow on this connection
};

/// Why a head was refused.
struct HeadFault {
  int status = 400;  // what to answer when the agent sent it
  std::string sentence;
};

template <class T>
using HeadResult = boost::system::result<T, HeadFault>;

enum class HeadScan { NeedMore, Whole, Bad };

/// Looks for the end of a head in bytes that arrive piece by piece: `position` (0 at first)
/// remembers how far it looked and is the head's length when it is whole. A line feed without
/// carriage return, or the reverse, is bad at once; so is a head over kMaxHeadBytes.
HeadScan scanHead(std::string_view bytes, std::size_t& position, HeadFault& fault);

/// `head_text` ends with its blank line. Source: RFC 9112 sections 2 to 6, made stricter: one Host,
/// no Content-Length beside Transfer-Encoding, "chunked" only and not in HTTP/1.0, no folded lines.
HeadResult<RequestHead> parseRequestHead(std::string_view head_text);
/// `to_head_request`: the answer to HEAD has no body whatever it says.
HeadResult<ResponseHead> parseResponseHead(std::string_view head_text, bool to_head_request);

/// ASCII lower case, for header names.
std::string lowerCase(std::string_view text);
bool sameName(std::string_view left, std::string_view right);
/// The value of the only field of this name; nullptr when there is none (or several).
const std::string* findField(const HeaderFields& fields, std::string_view name);
/// Lower-case elements of all comma-separated fields of this name.
std::vector<std::string> listField(const HeaderFields& fields, std::string_view name);

[[noreturn]] void throw_exception_from_error(const HeadFault& fault,
                                             const boost::source_location& where);

}  // namespace warder::http
