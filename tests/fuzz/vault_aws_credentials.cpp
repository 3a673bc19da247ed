// Whatever is read as AWS credentials is a part of the text, and nothing that could end a header's
// line.
#include <cstdlib>

#include "secrets/vault/aws_credentials.h"

using namespace warder::vault;

namespace {

void check(std::string_view part, std::string_view text) {
  if (part.empty()) return;
  if (part.data() < text.data() || part.data() + part.size() > text.data() + text.size())
    std::abort();
  if (part.find_first_of("\r\n\t \"\\:,") != std::string_view::npos) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto found = readAwsCredentials(text);
  if (!found) return 0;
  if (found->id.size() < 8 || found->secret.size() < 8) std::abort();
  for (const std::string_view part : {found->id, found->secret, found->token}) check(part, text);
  return 0;
}
