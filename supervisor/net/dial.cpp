#include "supervisor/net/dial.h"

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/this_coro.hpp>
#include <stdexcept>
#include <vector>

#include "supervisor/net/address.h"
#include "supervisor/net/connect_race.h"
#include "supervisor/net/resolver.h"
#include "supervisor/net/tls_connection.h"
#include "supervisor/net/tls_roots.h"

namespace warder::net {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

namespace {

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

DialError deniedError(const Endpoint& endpoint, const asio::ip::address& address,
                      const AddressUse& use) {
  std::string why = "which is never dialled";
  if (use.reach == Reach::NamedHost) why = "which only a rule that names it opens";
  if (use.reach == Reach::NamedAddress) why = "which only a rule for that very address opens";
  return {DialFailure::AddressDenied, nameAndPort(endpoint) + " leads to " + address.to_string() +
                                          " (" + std::string(use.use) + "), " + why};
}

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
  Reach allowed = Reach::Public;
  if (rules.private_addresses) allowed = no_literal ? Reach::NamedHost : Reach::NamedAddress;
  for (const auto& address : all) {
    const AddressUse use = useOf(address);
    if (use.reach <= allowed) {
      found.addresses.push_back(address);
    } else if (found.error.sentence.empty()) {
      found.error = deniedError(endpoint, address, use);
    }
  }
  found.addresses = familiesInTurn(std::move(found.addresses));
  co_return found;
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

  std::vector<tcp::endpoint> places;
  for (const auto& address : found.addresses) places.emplace_back(address, endpoint.port);
  Connected connected = co_await connectToAny(std::move(places), until(deadline));
  DialError error;
  if (!connected.socket) {
    error.why = connected.timed_out ? DialFailure::Timeout : DialFailure::Refused;
    error.sentence = nameAndPort(endpoint) + " cannot be reached: " +
                     (connected.timed_out ? "no answer in time" : connected.failure.message());
    co_return error;
  }
  if (!endpoint.tls) co_return plainConnection(std::move(*connected.socket));
  TlsHandshake tls =
      co_await startTls(std::move(*connected.socket), context, endpoint.host, until(deadline));
  if (tls.connection) co_return std::move(tls.connection);
  error.why = tls.timed_out ? DialFailure::Timeout : DialFailure::Tls;
  error.sentence = "TLS with " + nameAndPort(endpoint) + " failed: " + tls.failure;
  co_return error;
}

void throw_exception_from_error(const DialError& error, const boost::source_location&) {
  throw std::runtime_error(error.sentence);
}

}  // namespace warder::net
