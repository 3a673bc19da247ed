#include "secrets/ca/client_hello.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace warder::ca {

namespace {

constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kClientHello = 1;
constexpr std::size_t kRecordHead = 5;
constexpr std::size_t kMessageHead = 4;
constexpr std::size_t kMostRecordBytes = 16'384;

constexpr std::uint16_t kServerName = 0;
constexpr std::uint16_t kAlpn = 16;
/// encrypted_client_hello, its drafts before the number was final, and encrypted_server_name.
constexpr std::uint16_t kEncryptedHellos[] = {0xFE0D, 0xFE0C, 0xFE0B, 0xFE0A, 0xFE09, 0xFFCE};

/// Takes fields off the front. Once something was missing, everything is.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}

  std::size_t number(std::size_t width) {
    std::size_t value = 0;
    for (const char c : take(width)) value = value << 8 | static_cast<std::uint8_t>(c);
    return value;
  }
  std::string_view take(std::size_t size) {
    if (size > rest_.size()) intact_ = false;
    if (!intact_) return {};
    const auto taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  /// A field that begins with its own length.
  std::string_view vector(std::size_t width) { return take(number(width)); }

  bool intact() const { return intact_; }
  bool finished() const { return intact_ && rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
  bool intact_ = true;
};

HelloReading bad(const char* fault) {
  HelloReading reading;
  reading.verdict = HelloVerdict::Bad;
  reading.fault = fault;
  return reading;
}

HelloReading notTls() {
  HelloReading reading;
  reading.verdict = HelloVerdict::NotTls;
  return reading;
}

/// The handshake message as far as it is there, out of its records.
struct Message {
  std::string bytes;
  bool cut = false;  // the last record is not there to its end
  const char* fault = nullptr;
};

Message joinRecords(std::string_view bytes) {
  Message message;
  std::size_t wanted = kMessageHead;
  for (std::size_t records = 0; message.bytes.size() < wanted; ++records) {
    if (bytes.size() < kRecordHead) {
      message.cut = true;
      break;
    }
    Fields head(bytes);
    const auto type = head.number(1), major = head.number(1), minor = head.number(1);
    const auto size = head.number(2);
    if (type != kHandshakeRecord || major != 3 || minor > 4)
      message.fault = "another record begins inside of the hello";
    else if (size == 0 || size > kMostRecordBytes)
      message.fault = "a record of the hello is empty or too long";
    else if (records == kMostHelloRecords)
      message.fault = "the hello is spread over too many records";
    if (message.fault != nullptr) break;
    const auto content = bytes.substr(kRecordHead, size);
    message.bytes += content;
    bytes.remove_prefix(kRecordHead + content.size());
    message.cut = content.size() < size;
    if (wanted == kMessageHead && message.bytes.size() >= kMessageHead) {
      Fields message_head(message.bytes);
      if (message_head.number(1) != kClientHello) message.fault = "the first message is no hello";
      wanted += message_head.number(3);
      if (wanted > kMostHelloBytes) message.fault = "the hello is too long";
    }
    if (message.fault != nullptr || message.cut) break;
  }
  return message;
}

bool isPlainText(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

const char* readServerName(std::string_view content, ClientHello& hello) {
  Fields fields(content);
  Fields names(fields.vector(2));
  if (!fields.finished()) return "the list of server names is malformed";
  // One name of one kind is all that was ever defined.
  const auto kind = names.number(1);
  const auto name = names.vector(2);
  if (!names.finished()) return "there is not exactly one server name";
  if (kind != 0) return "the server name is of an unknown kind";
  if (name.empty() || name.size() > 255 || !isPlainText(name))
    return "the server name holds something that no name holds";
  hello.has_sni = true;
  hello.sni = name;
  return nullptr;
}

const char* readAlpn(std::string_view content, ClientHello& hello) {
  Fields fields(content);
  Fields names(fields.vector(2));
  if (!fields.finished() || names.finished()) return "the list of protocols is malformed";
  while (!names.finished()) {
    const auto name = names.vector(1);
    if (!names.intact() || name.empty()) return "the list of protocols is malformed";
    hello.alpn.emplace_back(name);
  }
  return nullptr;
}

const char* readExtension(std::size_t kind, std::string_view content, ClientHello& hello) {
  if (kind == kServerName) return readServerName(content, hello);
  if (kind == kAlpn) return readAlpn(content, hello);
  if (std::find(std::begin(kEncryptedHellos), std::end(kEncryptedHellos), kind) !=
      std::end(kEncryptedHellos))
    hello.has_ech = true;
  return nullptr;
}

const char* readExtensions(std::string_view content, ClientHello& hello) {
  Fields fields(content);
  std::vector<std::size_t> seen;
  while (!fields.finished()) {
    const auto kind = fields.number(2);
    const auto body = fields.vector(2);
    if (!fields.intact()) return "an extension is longer than what holds it";
    if (std::find(seen.begin(), seen.end(), kind) != seen.end())
      return "an extension is there twice";
    if (seen.size() == kMostHelloExtensions) return "there are too many extensions";
    seen.push_back(kind);
    if (const char* fault = readExtension(kind, body, hello)) return fault;
  }
  return nullptr;
}

const char* readHello(std::string_view content, ClientHello& hello) {
  constexpr std::size_t kRandom = 32, kLongestSession = 32;
  Fields fields(content);
  const auto major = fields.number(1);
  fields.take(1);
  fields.take(kRandom);
  const auto session = fields.vector(1);
  const auto ciphers = fields.vector(2);
  const auto compressions = fields.vector(1);
  if (!fields.intact()) return "the hello ends too early";
  if (major != 3) return "the hello's version is none of TLS";
  if (session.size() > kLongestSession) return "the session's name is too long";
  if (ciphers.empty() || ciphers.size() % 2 != 0) return "the list of ciphers is malformed";
  if (compressions.find('\0') == std::string_view::npos)
    return "the hello does not offer to leave compression away";
  if (fields.finished()) return nullptr;  // TLS 1.2 allows for no extensions at all
  const auto extensions = fields.vector(2);
  if (!fields.finished()) return "the hello's length and the extensions' length disagree";
  return readExtensions(extensions, hello);
}

}  // namespace

HelloReading readClientHello(std::string_view bytes) {
  if (bytes.empty()) return {};
  if (static_cast<std::uint8_t>(bytes[0]) != kHandshakeRecord) return notTls();
  if (bytes.size() >= 2 && bytes[1] != 3) return notTls();
  if (bytes.size() >= 3 && static_cast<std::uint8_t>(bytes[2]) > 4)
    return bad("the version of the first record is none of TLS");
  const Message message = joinRecords(bytes);
  if (message.fault != nullptr) return bad(message.fault);
  if (message.bytes.size() < kMessageHead) return {};
  Fields fields(message.bytes);
  fields.take(1);
  const auto size = fields.number(3);
  if (fields.rest().size() > size) return bad("something follows the hello in its record");
  if (fields.rest().size() < size || message.cut) return {};
  HelloReading reading;
  if (const char* fault = readHello(fields.rest(), reading.hello)) return bad(fault);
  reading.verdict = HelloVerdict::Hello;
  return reading;
}

}  // namespace warder::ca
