#include "secrets/vault/aws_credentials.h"

#include <algorithm>
#include <string>

#include "secrets/vault/secret_bytes.h"

namespace warder::vault {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kLongestKeyId = 128;  // of AWS's API reference, "AccessKey"

Error bad(const std::string& why) {
  return Error{Kind::Config, "the AWS credentials " + why +
                                 "; write {\"access_key_id\":…,\"secret_access_key\":…} or the "
                                 "lines of one profile of a credentials file"};
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Equal without regard to case and underscores: AccessKeyId is access_key_id.
bool isKey(std::string_view text, std::string_view key) {
  for (const char c : text) {
    if (c == '_') continue;
    if (key.empty() || lower(c) != key.front()) return false;
    key.remove_prefix(1);
  }
  return key.empty();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

Status take(std::string_view key, std::string_view value, AwsCredentials& to) {
  if (key.size() > 4 && isKey(key.substr(0, 4), "aws")) key.remove_prefix(4);
  std::string_view* field = isKey(key, "accesskeyid")       ? &to.id
                            : isKey(key, "secretaccesskey") ? &to.secret
                            : isKey(key, "sessiontoken")    ? &to.token
                                                            : nullptr;
  if (field == nullptr) return {};
  if (!field->empty()) return bad("name the same part twice");
  *field = value;
  return {};
}

/// Flat JSON whose texts are looked at where they stand.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  Result<AwsCredentials> read() {
    AwsCredentials found;
    if (!eat('{')) return bad("are no JSON object");
    if (eat('}')) return found;
    do {
      std::string_view key, value;
      bool is_text = false;
      if (!readText(key) || !eat(':') || !readValue(value, is_text))
        return bad("are no flat JSON object with plain texts");
      if (!is_text) continue;
      if (auto taken = take(key, value, found); !taken) return taken.error();
    } while (eat(','));
    if (!eat('}') || !skipBlank().empty()) return bad("are no JSON object");
    return found;
  }

 private:
  std::string_view skipBlank() {
    const std::size_t first = std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size());
    rest_.remove_prefix(first);
    return rest_;
  }
  bool eat(char wanted) {
    if (skipBlank().empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  /// A text with an escape is refused: it could only be read into a copy.
  bool readText(std::string_view& text) {
    if (!eat('"')) return false;
    const std::size_t end = rest_.find_first_of("\"\\");
    if (end == std::string_view::npos || rest_[end] == '\\') return false;
    text = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
  }
  /// A text, a number, true, false or null.
  bool readValue(std::string_view& value, bool& is_text) {
    if (skipBlank().empty()) return false;
    is_text = rest_.front() == '"';
    if (is_text) return readText(value);
    const std::size_t end =
        std::min(rest_.find_first_not_of("+-.0123456789abcdefghijklmnopqrstuvwxyzE"), rest_.size());
    rest_.remove_prefix(end);
    return end > 0;
  }

  std::string_view rest_;
};

Result<AwsCredentials> readLines(std::string_view rest) {
  AwsCredentials found;
  bool in_profile = false;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    if (line.front() == '[') {
      if (in_profile || !found.id.empty()) return bad("hold more than one profile");
      in_profile = true;
      continue;
    }
    const std::size_t mark = line.find('=');
    if (mark == std::string_view::npos) return bad("hold a line that is none of KEY = VALUE");
    const auto taken = take(trimmed(line.substr(0, mark)), trimmed(line.substr(mark + 1)), found);
    if (!taken) return taken.error();
  }
  return found;
}

/// Letters, digits and what base64 has beside them: nothing that could end a header's line.
bool isWord(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') || c == '/' || c == '+' ||
           c == '=' || c == '_' || c == '-';
  });
}

}  // namespace

Result<AwsCredentials> readAwsCredentials(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool is_json = first != std::string_view::npos && text[first] == '{';
  auto found = is_json ? JsonReader(text).read() : readLines(text);
  if (!found) return found.error();
  if (found->id.empty()) return bad("have no access_key_id");
  if (found->secret.empty()) return bad("have no secret_access_key");
  if (!isWord(found->id) || !isWord(found->secret) || !isWord(found->token))
    return bad("hold a character that no key of AWS has");
  if (found->id.size() < kMinSecretBytes || found->id.size() > kLongestKeyId)
    return bad("have an access_key_id of less than 8 or more than 128 characters");
  if (found->secret.size() < kMinSecretBytes)
    return bad("have a secret_access_key of less than 8 characters");
  if (!found->token.empty() && found->token.size() < kMinSecretBytes)
    return bad("have a session_token of less than 8 characters");
  return found;
}

}  // namespace warder::vault
