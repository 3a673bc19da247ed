#include "supervisor/net/dial.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <stdexcept>
#include <vector>

#include "supervisor/net/address.h"
#include "supervisor/net/resolver.h"
#include "supervisor/net/tls_connection.h"
#include "supervisor/net/tls_roots.h"

namespace warder::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace asio::experimental::awaitable_operators;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

constexpr auto kAwait = asio::as_tuple(asio::use_awaitable);

std::string nameAndPort(const Endpoint& endpoint) {
  const bool literal6 = endpoint.host.find(':') != std::string::npos;
  return (literal6 ? "[" + endpoint.host + "]" : endpoint.host) + ":" +
         std::to_string(endpoint.port);
}

milliseconds until(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  return std::max(left, milliseconds(1));
}

struct Candidates {
  std::vector<asio::ip::address> addresses;
  DialError error;  // meaningful when there is none
};

asio::awaitable<Candidates> candidates(Endpoint endpoint, DialRules rules) {
  Candidates found;
  error_code no_literal;
  const auto literal = asio::ip::make_address(endpoint.host, no_literal);
  std::vector<asio::ip::address> all;
  if (!no_literal) {
    all.push_back(literal);
  } else {
    Resolution resolution = co_await resolve(endpoint.host, rules.timeout);
    all = std::move(resolution.addresses);
    if (all.empty()) {
      found.error.why = DialFailure::Dns;
      found.error.sentence = "the name " + endpoint.host + " could not be resolved: " +
                             (resolution.timed_out ? "no answer in time" : resolution.failure);
      co_return found;
    }
  }
  for (const auto& address : all) {
    const std::string_view use = specialUse(address);
    if (use.empty() || rules.private_addresses) {
      found.addresses.push_back(address);
    } else if (found.error.sentence.empty()) {
      found.error.why = DialFailure::AddressDenied;
      found.error.sentence = nameAndPort(endpoint) + " leads to " + address.to_string() + " (" +
                             std::string(use) + "), which only a rule that names it opens";
    }
  }
  co_return found;
}

struct Connected {
  tcp::socket socket;
  bool timed_out = false;
  error_code failure;
};

asio::awaitable<Connected> connectTo(tcp::endpoint where, milliseconds timeout) {
  auto executor = co_await asio::this_coro::executor;
  Connected result{tcp::socket(executor), false, {}};
  asio::steady_timer timer(executor);
  timer.expires_after(timeout);
  auto first = co_await (result.socket.async_connect(where, kAwait) || timer.async_wait(kAwait));
  result.timed_out = first.index() == 1;
  if (result.timed_out)
    result.failure = asio::error::timed_out;
  else
    result.failure = std::get<0>(std::get<0>(first));
  co_return result;
}

}  // namespace

std::string_view nameOf(DialFailure why) {
  switch (why) {
    case DialFailure::Dns:
      return "dns";
    case DialFailure::AddressDenied:
      return "address_denied";
    case DialFailure::Refused:
      return "refused";
    case DialFailure::Timeout:
      return "timeout";
    case DialFailure::Tls:
      return "tls";
  }
  return "refused";
}

asio::awaitable<Dialled> dial(Endpoint endpoint, DialRules rules) {
  auto executor = co_await asio::this_coro::executor;
  const auto deadline = Clock::now() + rules.timeout;
  std::shared_ptr<asio::ssl::context> context;
  if (endpoint.tls) {
    ClientContext made = clientContext(executor, endpoint.ca_file);
    if (!made) co_return DialError{DialFailure::Tls, made.error()};
    context = *made;
  }
  Candidates found = co_await candidates(endpoint, rules);
  if (found.addresses.empty()) co_return found.error;

  DialError last;
  for (std::size_t i = 0; i < found.addresses.size(); ++i) {
    const tcp::endpoint where(found.addresses[i], endpoint.port);
    const auto shares = static_cast<int>(found.addresses.size() - i);
    Connected connected = co_await connectTo(where, until(deadline) / shares);
    if (connected.failure) {
      last.why = connected.timed_out ? DialFailure::Timeout : DialFailure::Refused;
      last.sentence = nameAndPort(endpoint) + " cannot be reached: " +
                      (connected.timed_out ? "no answer in time" : connected.failure.message());
      continue;
    }
    if (!endpoint.tls) co_return plainConnection(std::move(connected.socket));
    TlsHandshake tls =
        co_await startTls(std::move(connected.socket), context, endpoint.host, until(deadline));
    if (tls.connection) co_return std::move(tls.connection);
    last.why = tls.timed_out ? DialFailure::Timeout : DialFailure::Tls;
    last.sentence = "TLS with " + nameAndPort(endpoint) + " failed: " + tls.failure;
    co_return last;
  }
  co_return last;
}

void throw_exception_from_error(const DialError& error, const boost::source_location&) {
  throw std::runtime_error(error.sentence);
}

}  // namespace warder::net
