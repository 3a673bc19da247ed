#include "supervisor/launch/inherited_environment.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace warder::launch {

namespace {

constexpr std::string_view kCredentialWords[] = {
    "KEY",        "APIKEY",  "TOKEN",   "SECRET",  "SECRETS",    "PASSWORD",
    "PASSWD",     "PASS",    "PWD",     "CREDS",   "PASSPHRASE", "CREDENTIALS",
    "CREDENTIAL", "AUTH",    "PAT",     "JWT",     "BEARER",     "OAUTH",
    "COOKIE",     "PRIVATE", "SIGNING", "WEBHOOK", "DSN",        "KUBECONFIG"};
// However they end a word: PGPASSWORD, MYTOKEN.
constexpr std::string_view kCredentialEnds[] = {"PASSWORD", "PASSWD", "TOKEN", "SECRET", "APIKEY"};
// Words of ours that are no credentials.
constexpr std::string_view kHarmless[] = {"PWD", "OLDPWD"};

constexpr std::string_view kLoaders[] = {"LD_PRELOAD",  "LD_AUDIT", "NODE_OPTIONS",
                                         "BUN_OPTIONS", "BASH_ENV", "PYTHONSTARTUP",
                                         "PERL5OPT",    "RUBYOPT"};

/// Does some word of the name, as "_" divides it, stand for a credential?
bool speaksOfCredential(std::string_view name) {
  if (std::find(std::begin(kHarmless), std::end(kHarmless), name) != std::end(kHarmless))
    return false;
  std::string upper;
  for (const char c : name) upper += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (std::string_view rest = upper; !rest.empty();) {
    const auto end = std::min(rest.find('_'), rest.size());
    const auto word = rest.substr(0, end);
    if (std::find(std::begin(kCredentialWords), std::end(kCredentialWords), word) !=
        std::end(kCredentialWords))
      return true;
    for (const auto end_of_word : kCredentialEnds)
      if (word.ends_with(end_of_word)) return true;
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return false;
}

/// "scheme://user:password@host", as databases and proxies are named.
bool holdsLogin(std::string_view value) {
  const auto scheme = value.find("://");
  if (scheme == value.npos) return false;
  const auto authority = value.substr(scheme + 3, value.find('/', scheme + 3) - scheme - 3);
  const auto at = authority.rfind('@');
  return at != authority.npos && authority.substr(0, at).find(':') != authority.npos;
}

}  // namespace

InheritedEnvironment siftEnvironment(const std::vector<std::string>& environment,
                                     const std::vector<std::string>& secret) {
  InheritedEnvironment sifted;
  for (const auto& variable : environment) {
    const auto equals = variable.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = variable.substr(0, equals);
    if (std::find(secret.begin(), secret.end(), name) != secret.end()) continue;
    if (name.starts_with("WARDER_")) continue;
    if (speaksOfCredential(name) || holdsLogin(variable.substr(equals + 1)))
      sifted.held_back.push_back(name);
    else if (std::find(std::begin(kLoaders), std::end(kLoaders), name) != std::end(kLoaders))
      sifted.loaders.push_back(name);
    else
      sifted.passed[name] = variable.substr(equals + 1);
  }
  std::sort(sifted.held_back.begin(), sifted.held_back.end());
  std::sort(sifted.loaders.begin(), sifted.loaders.end());
  return sifted;
}

}  // namespace warder::launch
