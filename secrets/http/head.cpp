#include "secrets/http/head.h"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace warder::http {

namespace {

constexpr std::string_view kCrLf = "\r\n";

bool isToken(char byte) {
  const auto c = static_cast<unsigned char>(byte);
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(byte) != std::string_view::npos;
}

bool isTokenText(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), isToken);
}

bool isValueText(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char byte) {
    const auto c = static_cast<unsigned char>(byte);
    return (c < 0x20 && c != '\t') || c == 0x7f;
  });
}

HeadFault bad(std::string sentence) {
  return HeadFault{400, std::move(sentence)};
}

/// The line before the next CRLF, taken off `rest`.
std::string_view takeLine(std::string_view& rest) {
  const std::size_t end = rest.find(kCrLf);
  const std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), line.size() + kCrLf.size()));
  return line;
}

std::optional<int> minorVersion(std::string_view text) {
  if (text == "HTTP/1.1") return 1;
  if (text == "HTTP/1.0") return 0;
  return std::nullopt;
}

std::optional<HeadFault> readFields(std::string_view rest, HeaderFields& fields) {
  for (;;) {
    const std::string_view line = takeLine(rest);
    if (line.empty()) break;
    if (fields.size() == kMaxHeaders) return HeadFault{431, "there are more than 200 header lines"};
    const std::size_t colon = line.find(':');
    if (line.front() == ' ' || line.front() == '\t') return bad("a header line is folded");
    if (colon == std::string_view::npos) return bad("a header line has no colon");
    if (!isTokenText(line.substr(0, colon))) return bad("a header name is not valid");
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    if (!isValueText(value)) return bad("a header value holds a control character");
    fields.push_back({std::string(line.substr(0, colon)), std::string(value)});
  }
  if (!rest.empty()) return bad("the head does not end with its blank line");
  return std::nullopt;
}

std::size_t countOf(const HeaderFields& fields, std::string_view name) {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(), [&](const auto& field) { return sameName(field.name, name); }));
}

std::optional<HeadFault> readFraming(const HeaderFields& fields, int minor, Framing& framing) {
  const std::size_t lengths = countOf(fields, "content-length");
  const std::size_t encodings = countOf(fields, "transfer-encoding");
  if (lengths > 0 && encodings > 0)
    return bad("Content-Length and Transfer-Encoding stand side by side");
  if (lengths > 1) return bad("there is more than one Content-Length");
  if (encodings > 1) return bad("there is more than one Transfer-Encoding");
  if (lengths == 1) {
    const std::string& text = *findField(fields, "content-length");
    const bool digits =
        !text.empty() && text.size() <= 18 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!digits) return bad("Content-Length is no plain number");
    framing = {Framing::Kind::Length, std::stoull(text)};
  }
  if (encodings == 1) {
    if (!sameName(*findField(fields, "transfer-encoding"), "chunked"))
      return bad("a Transfer-Encoding other than chunked is not understood");
    if (minor == 0) return bad("HTTP/1.0 knows no Transfer-Encoding");
    framing = {Framing::Kind::Chunked, 0};
  }
  return std::nullopt;
}

bool isHostText(std::string_view text) {
  return !text.empty() && text.size() <= 300 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._:[]").find(c) != std::string_view::npos;
  });
}

bool lists(const HeaderFields& fields, std::string_view name, std::string_view element) {
  const auto all = listField(fields, name);
  return std::find(all.begin(), all.end(), element) != all.end();
}

std::optional<HeadFault> readMeaning(RequestHead& head) {
  const auto hosts = countOf(head.fields, "host");
  // Python's http.client names no Host when it asks a proxy in HTTP/1.0; the target is the host.
  const bool may_lack_host = head.method == "CONNECT" && head.minor == 0;
  if (hosts != 1 && !(hosts == 0 && may_lack_host)) return bad("there must be exactly one Host");
  if (hosts == 1 && !isHostText(*findField(head.fields, "host"))) return bad("Host is not valid");
  if (auto fault = readFraming(head.fields, head.minor, head.framing)) return fault;
  if (countOf(head.fields, "expect") > 0) {
    const std::string* expect = findField(head.fields, "expect");
    if (expect == nullptr || !sameName(*expect, "100-continue"))
      return HeadFault{417, "an Expect other than 100-continue cannot be met"};
    head.expects_continue = head.minor == 1;
  }
  head.wants_upgrade = countOf(head.fields, "upgrade") > 0;
  head.keep_alive = head.minor == 1 && !lists(head.fields, "connection", "close");
  return std::nullopt;
}

}  // namespace

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

bool sameName(std::string_view left, std::string_view right) {
  return left.size() == right.size() && lowerCase(left) == lowerCase(right);
}

const std::string* findField(const HeaderFields& fields, std::string_view name) {
  const std::string* found = nullptr;
  for (const auto& field : fields) {
    if (!sameName(field.name, name)) continue;
    if (found != nullptr) return nullptr;
    found = &field.value;
  }
  return found;
}

std::vector<std::string> listField(const HeaderFields& fields, std::string_view name) {
  std::vector<std::string> elements;
  for (const auto& field : fields) {
    if (!sameName(field.name, name)) continue;
    std::string_view rest = field.value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view element = rest.substr(0, comma);
      rest.remove_prefix(std::min(rest.size(), comma + 1));
      while (!element.empty() && (element.front() == ' ' || element.front() == '\t'))
        element.remove_prefix(1);
      while (!element.empty() && (element.back() == ' ' || element.back() == '\t'))
        element.remove_suffix(1);
      if (!element.empty()) elements.push_back(lowerCase(element));
    }
  }
  return elements;
}

HeadScan scanHead(std::string_view bytes, std::size_t& position, HeadFault& fault) {
  for (; position < bytes.size(); ++position) {
    const char byte = bytes[position];
    if (position >= kMaxHeadBytes) {
      fault = HeadFault{431, "the head is longer than 65536 bytes"};
      return HeadScan::Bad;
    }
    const char before = position > 0 ? bytes[position - 1] : '\0';
    if ((byte == '\n') != (before == '\r')) {
      fault = bad("a line does not end with carriage return and line feed");
      return HeadScan::Bad;
    }
    if (byte == '\n' && position >= 3 && bytes.substr(position - 3, 4) == "\r\n\r\n") {
      ++position;
      return HeadScan::Whole;
    }
  }
  return HeadScan::NeedMore;
}

HeadResult<RequestHead> parseRequestHead(std::string_view head_text) {
  std::string_view rest = head_text;
  const std::string_view line = takeLine(rest);
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return bad("the request line is not valid");
  RequestHead head;
  head.method = line.substr(0, first);
  head.target = line.substr(first + 1, last - first - 1);
  const auto minor = minorVersion(line.substr(last + 1));
  if (!isTokenText(head.method) || head.method.size() > 32) return bad("the method is not valid");
  if (!minor) return bad("only HTTP/1.1 and HTTP/1.0 are spoken here");
  head.minor = *minor;
  if (auto fault = readFields(rest, head.fields)) return *fault;
  if (auto fault = readMeaning(head)) return *fault;
  return head;
}

HeadResult<ResponseHead> parseResponseHead(std::string_view head_text, bool to_head_request) {
  std::string_view rest = head_text;
  const std::string_view line = takeLine(rest);
  ResponseHead head;
  const auto minor = minorVersion(line.substr(0, 8));
  const bool shaped = line.size() >= 12 && line[8] == ' ' && (line.size() == 12 || line[12] == ' ');
  if (!minor || !shaped) return bad("the status line is not valid");
  for (const char digit : line.substr(9, 3)) {
    if (digit < '0' || digit > '9') return bad("the status line is not valid");
    head.status = head.status * 10 + (digit - '0');
  }
  if (head.status < 100 || head.status > 599) return bad("the status is not valid");
  head.minor = *minor;
  head.reason = line.substr(std::min<std::size_t>(line.size(), 13));
  if (!isValueText(head.reason)) return bad("the status line holds a control character");
  if (auto fault = readFields(rest, head.fields)) return *fault;
  head.framing = {Framing::Kind::UntilClose, 0};
  if (auto fault = readFraming(head.fields, head.minor, head.framing)) return *fault;
  if (to_head_request || head.status < 200 || head.status == 204 || head.status == 304)
    head.framing = {Framing::Kind::None, 0};
  head.keep_alive = head.minor == 1 && !lists(head.fields, "connection", "close");
  return head;
}

void throw_exception_from_error(const HeadFault& fault, const boost::source_location&) {
  throw std::runtime_error(fault.sentence);
}

}  // namespace warder::http
