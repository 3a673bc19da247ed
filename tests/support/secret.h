// Secrets for tests, read as the broker reads them.
#pragma once
#include <string_view>

#include "secrets/vault/secret_bytes.h"
#include "supervisor/base/fd.h"

namespace warder::vault {

inline base::Result<SecretBytes> secretOf(std::string_view content,
                                          SecretBytes::Form form = SecretBytes::Form::Document) {
  const auto fd = base::sealedText("secret", content);
  return SecretBytes::read(fd->get(), "test", form);
}

}  // namespace warder::vault
