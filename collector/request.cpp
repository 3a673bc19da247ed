#include "collector/request.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>

#include "collector/target.h"

namespace warder::collector {

namespace http = boost::beast::http;

struct HeadReader::Parser {
  http::request_parser<http::empty_body> beast;
};

namespace {

constexpr const char* kTooLarge = "the head of a request may have 16 KiB";

base::Error refused(std::string what) {
  return {base::Kind::Config, std::move(what)};
}

template <class Fields>
std::size_t countOf(const Fields& fields, http::field name) {
  const auto range = fields.equal_range(name);
  return static_cast<std::size_t>(std::distance(range.first, range.second));
}

Method methodOf(http::verb verb) {
  if (verb == http::verb::get) return Method::Get;
  if (verb == http::verb::head) return Method::Head;
  if (verb == http::verb::post) return Method::Post;
  if (verb == http::verb::put) return Method::Put;
  return Method::Other;
}

}  // namespace

HeadReader::HeadReader() : parser_(std::make_unique<Parser>()) {
  parser_->beast.header_limit(kMaxHead);
  parser_->beast.body_limit(boost::none);  // bodies are read apart, each with its own limit
}

HeadReader::~HeadReader() = default;

base::Result<bool> HeadReader::take(std::string& bytes) {
  auto& parser = parser_->beast;
  boost::system::error_code failure;
  while (!bytes.empty() && !parser.is_header_done()) {
    const std::size_t used = parser.put(boost::asio::buffer(bytes), failure);
    started_ = started_ || used > 0;
    bytes.erase(0, used);
    taken_ += used;
    too_large_ = failure == http::error::header_limit ||
                 (failure == http::error::need_more && bytes.size() > kMaxHead);
    if (too_large_) return refused(kTooLarge);
    if (failure == http::error::need_more) return false;
    if (failure) return refused("the request is malformed: " + failure.message());
  }
  if (!parser.is_header_done()) return false;
  // Beast counts its limit per line.
  too_large_ = taken_ > kMaxHead;
  if (too_large_) return refused(kTooLarge);
  const auto& head = parser.get();
  if (head.version() != 11) return refused("only HTTP/1.1 is spoken here");
  if (countOf(head, http::field::host) != 1) return refused("exactly one Host is needed");
  if (head.count(http::field::transfer_encoding) != 0)
    return refused("a body needs a Content-Length, not a transfer coding");
  if (countOf(head, http::field::content_length) > 1) return refused("several Content-Length");
  return true;
}

Request HeadReader::request() const {
  const auto& head = parser_->beast.get();
  const auto text = [&head](auto name) { return std::string(head[name]); };
  Request request;
  request.method = methodOf(head.method());
  request.target = std::string(head.target());
  request.host = text(http::field::host);
  request.authorization = text(http::field::authorization);
  request.content_digest = text("Content-Digest");
  request.repr_digest = text("Repr-Digest");
  request.warder_seq = text("Warder-Seq");
  request.range = text(http::field::range);
  if (head.count(http::field::content_length) != 0)
    request.content_length = parseNumber(text(http::field::content_length), INT64_MAX);
  request.keep_alive = head.keep_alive();
  request.expects_continue = boost::beast::iequals(head[http::field::expect], "100-continue");
  return request;
}

std::optional<ByteRange> parseRange(std::string_view header, std::uint64_t size) {
  constexpr std::string_view kUnit = "bytes=";
  if (!header.starts_with(kUnit)) return std::nullopt;
  header.remove_prefix(kUnit.size());
  const std::size_t dash = header.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = parseNumber(header.substr(0, dash), INT64_MAX);
  const auto last = parseNumber(header.substr(dash + 1), INT64_MAX);
  if (dash == 0) {
    if (!last) return std::nullopt;
    const std::uint64_t length = std::min(*last, size);
    return ByteRange{size - length, length};
  }
  const bool open_end = dash + 1 == header.size();
  if (!first || (!last && !open_end) || (last && *last < *first)) return std::nullopt;
  if (*first >= size) return ByteRange{0, 0};
  const std::uint64_t end = last ? std::min(*last, size - 1) : size - 1;
  return ByteRange{*first, end - *first + 1};
}

}  // namespace warder::collector
