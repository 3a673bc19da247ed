// Who may do what. Pure, tokens are kept as digests only.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace warder::collector {

/// What a request needs: nothing (health), the right to bring results, the right to look, or
/// either of these.
enum class Right { None, Ingest, Read, Either };
enum class Verdict { Allowed, Unauthenticated, Forbidden, WrongHost };

class Access {
 public:
  /// Without a read token everybody who reaches the server may look.
  Access(std::string_view ingest_token, std::optional<std::string_view> read_token);

  /// `authorization` is the header's value: "Bearer TOKEN", or Basic with any user and the token
  /// as password. Unauthenticated: none or unknown; Forbidden: a token for something else.
  Verdict decide(Right right, std::string_view authorization) const;
  bool readIsOpen() const { return !read_digest_; }

 private:
  std::string ingest_digest_;
  std::optional<std::string> read_digest_;
};

/// Is this Host header a name of this machine's loopback ("localhost", 127.0.0.0/8, [::1], with or
/// without a port)? Where reading is open on loopback, nothing else is answered, so that a web
/// page cannot reach the collector through a name of its own (DNS rebinding).
bool isLoopbackHost(std::string_view host);

/// Reads a token file: one line, 16 to 4096 visible ASCII characters. Errors: Config, NotFound,
/// Kernel; they name the file, never its content.
base::Result<std::string> readToken(const std::string& path);

}  // namespace warder::collector
