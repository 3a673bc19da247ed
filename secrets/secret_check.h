// A secret checked before the run begins, with the rules by which the broker takes it.
#pragma once
#include <string_view>

#include "secrets/broker_config.h"
#include "secrets/models/provider.h"
#include "secrets/vault/secret_bytes.h"
#include "supervisor/base/result.h"

namespace warder::secrets {

/// Reads the secret of the grant from `fd` to its end, into locked pages that are wiped, and says
/// what the broker would say of it: too short, too long, bytes that it may not have or, where the
/// grant names a provider, that it is no kind of secret to lend there. Of the grant count name,
/// provider and inject. The sentences never hold the content. Errors: Config, Kernel.
base::Status checkSecret(int fd, const Grant& grant);

/// Can what the broker needs be made of this secret, for every host of the provider? Errors:
/// Config, Kernel.
base::Status checkCarried(const vault::SecretBytes& secret, const Grant& grant,
                          const models::Provider& provider);

/// How a secret for this grant is to be read: as a document where it may be AWS credentials.
vault::SecretBytes::Form formOf(const Grant& grant, const models::Provider& provider);

/// The stage `secret-check`. Its configuration: {"names":[…],"providers":[…],"injects":[…]}, the
/// last two as long as the first or absent (an inject as broker_config.h writes it, or null); the
/// secret of each name is the descriptor at base::kFirstExtraFd and following. Says ready when all
/// are fine, else {"failed":…} with step "secret" for the first that is not. Returns the process's
/// exit code.
int secretCheckMain();

}  // namespace warder::secrets
