// A secret of AWS: two or three texts in one, as JSON or as the lines of a credentials file.
#pragma once
#include <string_view>

#include "supervisor/base/result.h"

namespace warder::vault {

/// Views into the text that was read; none of them is copied.
struct AwsCredentials {
  std::string_view id;
  std::string_view secret;
  std::string_view token;  // empty: long-lived credentials
};

/// Reads, without a copy, either a flat JSON object with access_key_id, secret_access_key and maybe
/// session_token (also as AWS's tools spell them, AccessKeyId and so on; other texts, numbers and
/// words in it count for nothing), or the lines of a credentials file with one profile
/// (aws_access_key_id = …). Errors: Config; the sentence never holds the content. Source: AWS CLI,
/// "Configuration and credential file settings" and "Sourcing credentials with an external
/// process".
base::Result<AwsCredentials> readAwsCredentials(std::string_view text);

}  // namespace warder::vault
