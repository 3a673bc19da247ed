#include "secrets/opening.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "secrets/http/head.h"

namespace warder::secrets {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace asio::experimental::awaitable_operators;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);
constexpr std::size_t kPiece = 4'096;

enum class More { Bytes, End, TooLate };

/// Waits without a buffer, then takes what there is.
asio::awaitable<More> readSocket(tcp::socket* socket, std::string* early,
                                 Clock::time_point deadline) {
  asio::steady_timer timer(socket->get_executor());
  timer.expires_at(deadline);
  auto first =
      co_await (socket->async_wait(tcp::socket::wait_read, kAwait) || timer.async_wait(kAwait));
  if (first.index() == 1) co_return More::TooLate;
  std::array<char, kPiece> piece;
  boost::system::error_code failure;
  socket->non_blocking(true, failure);
  const std::size_t count = socket->read_some(asio::buffer(piece), failure);
  if (failure == asio::error::would_block) co_return More::Bytes;
  if (failure || count == 0) co_return More::End;
  early->append(piece.data(), count);
  co_return More::Bytes;
}

/// A request line begins with a method, of letters.
bool looksLikeHttp(std::string_view bytes) {
  const char first = bytes.front();
  return (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
}

/// nullopt: more bytes are needed.
std::optional<Opening> judge(std::string_view early) {
  if (early.empty()) return std::nullopt;
  Opening opening;
  ca::HelloReading reading = ca::readClientHello(early);
  switch (reading.verdict) {
    case ca::HelloVerdict::NeedMore:
      return std::nullopt;
    case ca::HelloVerdict::Hello:
      opening.kind = Opening::Kind::Tls;
      opening.hello = std::move(reading.hello);
      return opening;
    case ca::HelloVerdict::Bad:
      opening.kind = Opening::Kind::Other;
      opening.fault = std::move(reading.fault);
      return opening;
    case ca::HelloVerdict::NotTls:
      break;
  }
  opening.kind = looksLikeHttp(early) ? Opening::Kind::Http : Opening::Kind::Other;
  return opening;
}

}  // namespace

asio::awaitable<Opening> readOpening(tcp::socket* socket, std::string* early,
                                     std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  for (;;) {
    auto opening = judge(*early);
    if (opening) co_return std::move(*opening);
    const More more = co_await readSocket(socket, early, deadline);
    if (more == More::Bytes) continue;
    Opening silent;
    silent.kind = more == More::End && early->empty() ? Opening::Kind::Gone : Opening::Kind::Other;
    if (silent.kind == Opening::Kind::Other) silent.fault = "it said nothing, or not enough";
    co_return silent;
  }
}

asio::awaitable<ProxyOpening> readProxyOpening(tcp::socket* socket, std::string* early,
                                               std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  ProxyOpening opening;
  http::HeadFault fault;
  for (;;) {
    const http::HeadScan scan = http::scanHead(*early, opening.head_length, fault);
    if (scan == http::HeadScan::Bad) co_return opening;
    if (scan == http::HeadScan::Whole) break;
    const More more = co_await readSocket(socket, early, deadline);
    opening.gone = more != More::Bytes;
    if (opening.gone) co_return opening;
  }
  auto head = http::parseRequestHead(std::string_view(*early).substr(0, opening.head_length));
  opening.connect = head && head->method == "CONNECT";
  if (opening.connect) opening.target = std::move(head->target);
  co_return opening;
}

}  // namespace warder::secrets
