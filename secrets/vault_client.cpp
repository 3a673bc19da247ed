#include "secrets/vault_client.h"

#include <array>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "secrets/decision.h"
#include "secrets/http/body_decoder.h"
#include "secrets/read_more.h"
#include "supervisor/net/dial.h"

namespace warder::secrets {

namespace asio = boost::asio;
using base::Error;
using base::Kind;
using base::Result;
using vault::WipedBytes;

namespace {

/// What came, up to the end of the answer.
struct VaultAnswer {
  int status = 0;
  WipedBytes body;
  std::string fault;  // empty: it came whole
};

/// Bytes that were read, taken apart; false when more are needed.
bool takeApart(WipedBytes& inbox, std::optional<http::BodyDecoder>& decoder, VaultAnswer& answer) {
  if (!decoder) {
    std::size_t length = 0;
    http::HeadFault fault;
    const http::HeadScan scan = http::scanHead(vault::viewOf(inbox), length, fault);
    if (scan == http::HeadScan::NeedMore) return false;
    auto head = http::parseResponseHead(vault::viewOf(inbox).substr(0, length), false);
    if (scan == http::HeadScan::Bad || !head) {
      answer.fault = "sent what is no HTTP/1.1 answer";
      return true;
    }
    vault::dropFront(inbox, length);
    if (head->status < 200) return takeApart(inbox, decoder, answer);
    answer.status = head->status;
    decoder.emplace(head->framing);
  }
  std::size_t used = 0;
  while (used < inbox.size()) {
    const auto step = decoder->step(vault::viewOf(inbox).substr(used));
    if (step.consumed == 0) break;
    used += step.consumed;
    vault::append(answer.body, step.data);
  }
  vault::dropFront(inbox, used);
  if (decoder->bad()) answer.fault = "sent a body whose framing is broken";
  if (answer.body.size() > kMostVaultAnswer) answer.fault = "sent more than 1 MiB";
  return decoder->complete() || !answer.fault.empty();
}

asio::awaitable<VaultAnswer> readAnswer(net::Connection* connection) {
  VaultAnswer answer;
  WipedBytes inbox;
  std::optional<http::BodyDecoder> decoder;
  while (!takeApart(inbox, decoder, answer)) {
    const net::ReadResult read = co_await readMore(*connection, inbox);
    if (!read.failure && read.bytes > 0) continue;
    const bool ended = !read.failure && decoder && decoder->endOfStream();
    if (!ended) answer.fault = "did not answer in time, or ended the connection early";
    break;
  }
  co_return answer;
}

/// The token goes from its page into the connection, and nowhere else.
asio::awaitable<bool> sendQuestion(net::Connection* connection, const Grant* grant,
                                   const vault::SecretBytes* token) {
  const GrantSource& source = grant->source;
  std::string head = "GET " + source.vault.base_path + "/v1/" + source.path +
                     " HTTP/1.1\r\nHost: " + authorityOf(source.vault) +
                     "\r\nAccept: application/json\r\nAccept-Encoding: identity\r\nConnection: "
                     "close\r\nX-Vault-Request: true\r\n";
  if (!source.name_space.empty()) head += "X-Vault-Namespace: " + source.name_space + "\r\n";
  head += "X-Vault-Token: ";
  const std::array<std::string_view, 3> parts{head, token->reveal(), "\r\n\r\n"};
  connection->hold();
  for (const std::string_view part : parts) {
    const auto failure = co_await connection->writeAll(asio::buffer(part));
    if (failure) co_return false;
  }
  connection->release();
  co_return true;
}

std::string whatToDo(int status) {
  switch (status) {
    case 400:
    case 403:
      return "; is the token good, and may it read this path?";
    case 404:
      return "; nothing is there (a key-value store, version 2, has it at MOUNT/data/NAME)";
    case 429:
    case 473:
    case 307:
      return "; name the active node of the Vault";
    case 503:
      return "; the Vault is sealed or down for maintenance";
    default:
      return "";
  }
}

}  // namespace

asio::awaitable<Result<SourcedSecret>> askVault(std::shared_ptr<const Grant> grant,
                                                std::shared_ptr<const vault::SecretBytes> token) {
  const Upstream& to = grant->source.vault;
  const std::string vault_name = "the Vault at " + authorityOf(to);
  net::Endpoint endpoint{to.tls, to.host, to.port, to.ca_file};
  net::DialRules rules;
  rules.private_addresses = true;
  rules.timeout = kVaultLimit / 2;
  const net::Dialled dialled = co_await net::dial(std::move(endpoint), rules);
  if (!dialled) {
    Error unreachable{Kind::Peer, vault_name + " cannot be asked: " + dialled.error().sentence};
    co_return unreachable;
  }
  net::Connection* connection = dialled->get();
  connection->setIdleLimit(kVaultLimit / 2);
  asio::steady_timer limit(co_await asio::this_coro::executor);
  limit.expires_after(kVaultLimit / 2);
  const auto asking = std::make_shared<bool>(true);  // a handler may run after its timer is gone
  limit.async_wait([connection, asking](boost::system::error_code failure) {
    if (!failure && *asking) connection->close();
  });
  const bool asked = co_await sendQuestion(connection, grant.get(), token.get());
  VaultAnswer answer;
  if (asked) answer = co_await readAnswer(connection);
  if (!asked) answer.fault = "ended the connection before it was asked";
  *asking = false;
  if (!answer.fault.empty()) {
    Error broken{Kind::Peer, vault_name + " " + answer.fault};
    co_return broken;
  }
  if (answer.status != 200) {
    const std::string status = std::to_string(answer.status);
    Error refused{Kind::Peer, vault_name + " answered " + status + " for " + grant->source.path +
                                  whatToDo(answer.status)};
    co_return refused;
  }
  co_return secretInVaultAnswer(vault::viewOf(answer.body), *grant);
}

}  // namespace warder::secrets
