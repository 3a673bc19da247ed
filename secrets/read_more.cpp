#include "secrets/read_more.h"

#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace warder::secrets {

namespace asio = boost::asio;

namespace {

/// One thread serves everybody; nothing of it stays here beyond readNow and the copy.
std::array<char, kLargestRead>& sharedBuffer() {
  static thread_local std::array<char, kLargestRead> buffer;
  return buffer;
}

void take(std::string& into, std::string_view bytes) {
  into += bytes;
}
void take(vault::WipedBytes& into, std::string_view bytes) {
  append(into, bytes);
}

template <class Bytes>
std::optional<net::ReadResult> takeNow(net::Connection& connection, Bytes& into) {
  auto& buffer = sharedBuffer();
  const auto read = connection.readNow(asio::buffer(buffer));
  if (!read || read->bytes == 0) return read;
  take(into, {buffer.data(), read->bytes});
  // An upstream may have echoed a secret.
  vault::wipe(buffer.data(), read->bytes);
  return read;
}

/// A peer that is always ahead of us must not keep the thread from the others.
bool hasTheTurnLongEnough() {
  static thread_local unsigned reads = 0;
  return ++reads % 8 == 0;
}

template <class Bytes>
asio::awaitable<net::ReadResult> read(net::Connection* connection, Bytes* into) {
  if (hasTheTurnLongEnough())
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  for (;;) {
    const auto read = takeNow(*connection, *into);
    if (read) co_return *read;
    const auto failure = co_await connection->awaitReadable();
    if (!failure) continue;
    net::ReadResult failed;
    failed.failure = failure;
    co_return failed;
  }
}

}  // namespace

asio::awaitable<net::ReadResult> readMore(net::Connection& connection, std::string& into) {
  return read(&connection, &into);
}

asio::awaitable<net::ReadResult> readMore(net::Connection& connection, vault::WipedBytes& into) {
  return read(&connection, &into);
}

}  // namespace warder::secrets
