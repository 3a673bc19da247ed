// Reads the first message of a TLS client, before any TLS is spoken, to see which name it asks for.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace warder::ca {

/// A real one has 200 to 2000 bytes, with post-quantum key shares.
inline constexpr std::size_t kMostHelloBytes = 16'384;
/// A hello may be spread over records; a hello of one byte a record is nobody's honest work.
inline constexpr std::size_t kMostHelloRecords = 64;
inline constexpr std::size_t kMostHelloExtensions = 128;

struct ClientHello {
  bool has_sni = false;
  std::string sni;  // as it was sent: printable ASCII without spaces, 1 to 255 bytes
  std::vector<std::string> alpn;
  bool has_ech =
      false;  // an encrypted hello is inside, or looks as if (browsers send an empty one)
};

/// NotTls: these are no bytes of TLS (an SSLv2 hello is none either). Bad: TLS, but against its
/// rules, or beyond the limits above.
enum class HelloVerdict { NeedMore, NotTls, Bad, Hello };

struct HelloReading {
  HelloVerdict verdict = HelloVerdict::NeedMore;
  ClientHello hello;  // Hello
  std::string fault;  // Bad: what is wrong, without anything that was sent
};

/// Judges what a connection has sent so far, from its first byte. What follows the hello's records
/// is not looked at. Source: RFC 8446, 4.1.2 and 5.1; RFC 6066, 3; RFC 7301, 3.1.
HelloReading readClientHello(std::string_view bytes);

}  // namespace warder::ca
