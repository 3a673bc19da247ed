// Asks a Vault for a secret: the wire form of a key-value store, version 2.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <memory>

#include "secrets/sourced_secret.h"

namespace warder::secrets {

/// Dialling, and all of the answer.
inline constexpr std::chrono::milliseconds kVaultLimit{8'000};
inline constexpr std::size_t kMostVaultAnswer = 1'048'576;

/// GET /v1/PATH with the token; data.data.FIELD of the answer. The Vault may be at a private
/// address, since the job names it. Errors: Config, Peer, Timeout; the sentence names the status
/// and what to do, never the token or the answer. Source: HashiCorp, "KV secrets engine - version 2
/// (API)", "Read secret version".
boost::asio::awaitable<base::Result<SourcedSecret>> askVault(
    std::shared_ptr<const Grant> grant, std::shared_ptr<const vault::SecretBytes> token);

}  // namespace warder::secrets
