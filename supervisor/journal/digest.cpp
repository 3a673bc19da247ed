#include "supervisor/journal/digest.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::journal {

void Sha256::Free::operator()(evp_md_ctx_st* context) const {
  EVP_MD_CTX_free(context);
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1)
    throw std::runtime_error("SHA-256 is not to be had");
}

void Sha256::update(std::string_view bytes) {
  EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size());
}

std::string Sha256::raw() {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  EVP_DigestFinal_ex(context_.get(), digest, &length);
  return {reinterpret_cast<const char*>(digest), length};
}

std::string Sha256::hex() {
  return toHex(raw());
}

std::string sha256Raw(std::string_view bytes) {
  Sha256 digest;
  digest.update(bytes);
  return digest.raw();
}

std::string sha256Hex(std::string_view bytes) {
  return toHex(sha256Raw(bytes));
}

base::Result<std::string> sha256OfFile(const std::string& path) {
  auto fd = base::openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) return fd.error();
  Sha256 digest;
  std::vector<char> buffer(256 * 1024);
  for (;;) {
    const ssize_t count = ::read(fd->get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::kernelError("cannot read " + path);
    if (count == 0) return digest.hex();
    digest.update({buffer.data(), static_cast<std::size_t>(count)});
  }
}

std::string toHex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

bool isHexDigest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace warder::journal
