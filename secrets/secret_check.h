// A secret checked before the run begins, with the rules by which the broker takes it.
#pragma once
#include <string_view>

#include "secrets/models/provider.h"
#include "secrets/vault/secret_bytes.h"
#include "supervisor/base/result.h"

namespace warder::secrets {

/// Reads the secret from `fd` to its end, into locked pages that are wiped, and says what the
/// broker would say of it: too short, too long, not printable ASCII or, where `provider` is not
/// empty, a kind that is no key of this provider. `name` is the job's name for it, for the
/// sentences; they never hold the content. Errors: Config, Kernel.
base::Status checkSecret(int fd, std::string_view name, std::string_view provider);

/// Could this secret be a key of the provider? Errors: Config.
base::Status checkKind(const vault::SecretBytes& secret, std::string_view name,
                       const models::Provider& provider);

/// The stage `secret-check`. Its configuration: {"names":[…],"providers":[…]}, the second as long
/// as the first or absent; the secret of each name is the descriptor at base::kFirstExtraFd and
/// following. Says ready when all are fine, else {"failed":…} with step "secret" for the first that
/// is not. Returns the process's exit code.
int secretCheckMain();

}  // namespace warder::secrets
