// AWS's Signature Version 4. Pure: a request and the key of a day in, a signature out.
#pragma once
#include <array>
#include <ctime>
#include <span>
#include <string>
#include <string_view>

#include "secrets/http/head.h"
#include "supervisor/base/result.h"

namespace warder::vault {

/// For the payload of a request to S3 that is not known before the head is sent.
inline constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";

/// A request as it will be sent. Views: they must live while it is signed.
struct SigningCase {
  std::string_view method;
  std::string_view host;   // as the Host header says it
  std::string_view path;   // as it is sent, percent-encoded
  std::string_view query;  // as it is sent, without its question mark
  /// Fields that will be sent. Left out of the signature are Host (taken from `host`), those that
  /// the signature itself adds, and those that an intermediary may change.
  std::span<const http::HeaderField> fields;
  std::string_view payload_hash;  // SHA-256 in lower-case hex, or kUnsignedPayload
  std::time_t time = 0;
};

/// What a request is signed with, but for the secret. Views.
struct SigningScope {
  std::string_view id;      // of the access key
  std::string_view token;   // of the session; may be empty
  std::string_view region;  // "us-east-1"
  std::string_view service;
};

/// A HMAC-SHA256; whoever holds one as a key wipes it.
using SigningKey = std::array<unsigned char, 32>;

/// "20150830T123600Z"; its first eight characters are the day that a key is good for.
base::Result<std::string> signingTime(std::time_t time);
/// `prefixed_secret` is "AWS4" and the secret access key. Errors: Internal.
base::Result<SigningKey> signingKey(std::string_view prefixed_secret, std::string_view day,
                                    const SigningScope& scope);

/// Header lines with CRLF. Between the two parts goes the line of the token, which is not copied
/// into them.
struct Signature {
  std::string before_token;  // X-Amz-Date and, where the service needs it, X-Amz-Content-Sha256
  std::string after_token;   // Authorization
};
/// Errors: Internal. Source: "Create a signed AWS API request" in AWS's IAM user guide.
base::Result<Signature> signRequest(const SigningCase& request, const SigningScope& scope,
                                    const SigningKey& key);

/// The region in the name of an endpoint of AWS (SERVICE.REGION.amazonaws.com, also .cn and with a
/// port); empty when there is none.
std::string_view regionOfHost(std::string_view host);

}  // namespace warder::vault
