// What a source gave: read, understood, and nothing of it left outside of locked pages.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>

#include "secrets/broker_config.h"
#include "secrets/vault/secret_bytes.h"
#include "supervisor/base/result.h"

namespace warder::secrets {

struct SourcedSecret {
  vault::SecretBytes secret;
  std::optional<std::chrono::system_clock::time_point> expires_at;  // as the source says
};

/// Reads the secret of a Handed or Helper source from `fd`. A helper may write the secret as it is
/// or {"secret": …, "expires_at": RFC 3339}; of kind sigv4 as AWS's credential_process. Errors:
/// Config, Kernel; the sentence never holds the content.
base::Result<SourcedSecret> readSourced(int fd, const Grant& grant);

/// The secret in an answer of a Vault to a question for a key-value store, version 2:
/// data.data.FIELD. Errors: Config.
base::Result<SourcedSecret> secretInVaultAnswer(std::string_view body, const Grant& grant);

}  // namespace warder::secrets
