#include "supervisor/courier/token.h"

#include <openssl/crypto.h>
#include <unistd.h>

#include <algorithm>

namespace warder::courier {

namespace {
constexpr std::size_t kMaxToken = 4096;
}

WipedText::~WipedText() {
  text_.resize(text_.capacity());
  ::OPENSSL_cleanse(text_.data(), text_.size());
}

void WipedText::append(std::string_view bytes) {
  if (text_.size() + bytes.size() <= text_.capacity()) text_.append(bytes);
}

base::Result<WipedText> readToken(base::UniqueFd fd) {
  char buffer[512];
  WipedText raw(kMaxToken + 2 + sizeof buffer);
  base::Status read;
  for (bool more = true; more;) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) read = base::kernelError("cannot read the collector's token");
    more = count > 0 && raw.view().size() <= kMaxToken + 2;
    if (count > 0) raw.append({buffer, static_cast<std::size_t>(count)});
  }
  ::OPENSSL_cleanse(buffer, sizeof buffer);
  if (!read) return read.error();
  std::string_view line = raw.view();
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  const bool printable =
      std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (line.empty() || line.size() > kMaxToken || !printable)
    return base::Error{base::Kind::Config,
                       "the collector's token must be one line of 1 to 4096 printable ASCII "
                       "characters"};
  WipedText token(line.size());
  token.append(line);
  return token;
}

}  // namespace warder::courier
