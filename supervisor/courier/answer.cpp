#include "supervisor/courier/answer.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace warder::courier {

namespace http = boost::beast::http;

struct AnswerReader::Parser {
  http::response_parser<http::string_body> beast;
};

AnswerReader::AnswerReader(bool to_head) : to_head_(to_head) {
  restart();
}
AnswerReader::~AnswerReader() = default;

void AnswerReader::restart() {
  parser_ = std::make_unique<Parser>();
  parser_->beast.header_limit(64 * 1024);
  parser_->beast.body_limit(kMaxAnswer);
  parser_->beast.eager(true);
  parser_->beast.skip(to_head_);
}

base::Result<bool> AnswerReader::take(std::string& bytes) {
  while (!bytes.empty()) {
    boost::system::error_code failure;
    const std::size_t used = parser_->beast.put(boost::asio::buffer(bytes), failure);
    started_ = true;
    bytes.erase(0, used);
    if (failure == http::error::need_more) return false;
    if (failure)
      return base::Error{base::Kind::Peer, "the answer is not understood: " + failure.message()};
    if (!parser_->beast.is_done()) continue;
    const unsigned status = parser_->beast.get().result_int();
    if (status >= 200) return true;
    if (status == 101) return base::Error{base::Kind::Peer, "the answer switches protocols"};
    restart();
  }
  return false;
}

base::Status AnswerReader::end() {
  boost::system::error_code failure;
  // Beast asserts that there was something.
  if (parser_->beast.got_some()) parser_->beast.put_eof(failure);
  if (failure || !parser_->beast.is_done())
    return base::Error{base::Kind::Peer, "the connection ended before the answer did"};
  return {};
}

HttpAnswer AnswerReader::answer() {
  auto& message = parser_->beast.get();
  HttpAnswer answer;
  answer.status = static_cast<int>(message.result_int());
  answer.retry_after = std::string(message[http::field::retry_after]);
  answer.keep_alive = parser_->beast.keep_alive();
  answer.body = std::move(message.body());
  return answer;
}

}  // namespace warder::courier
