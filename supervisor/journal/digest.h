// SHA-256, as the chain, blobs and logs use it.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

struct evp_md_ctx_st;

namespace warder::journal {

/// Digest of a stream of bytes.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  /// The 32 bytes. Ends the stream: call once.
  std::string raw();
  /// The same as 64 hexadecimal digits. Ends the stream: call once.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256Raw(std::string_view bytes);
std::string sha256Hex(std::string_view bytes);
/// Digest of a file, "sha256:" not included. Errors: NotFound, Kernel.
base::Result<std::string> sha256OfFile(const std::string& path);
std::string toHex(std::string_view bytes);
/// `text` is exactly 64 lower-case hexadecimal digits.
bool isHexDigest(std::string_view text);

}  // namespace warder::journal
