#include "secrets/secret_check.h"

#include <string>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"

namespace warder::secrets {

namespace json = base::json;
using base::Error;
using base::Kind;
using base::Status;

Status checkKind(const vault::SecretBytes& secret, std::string_view name,
                 const models::Provider& provider) {
  for (const models::NotKey& kind : provider.not_keys)
    if (secret.reveal().starts_with(kind.prefix))
      return Error{Kind::Config, "the secret \"" + std::string(name) + "\" " + kind.sentence};
  return {};
}

Status checkSecret(int fd, std::string_view name, std::string_view provider) {
  const auto secret = vault::SecretBytes::read(fd, name);
  if (!secret) return secret.error();
  if (provider.empty()) return {};
  const auto known = models::providerNamed(provider);
  if (!known) return known.error();
  return checkKind(*secret, name, *known);
}

namespace {

struct Checked {
  std::string name;
  std::string provider;
};

base::Result<std::vector<Checked>> readConfig() {
  auto object = base::readStageConfig();
  if (!object) return object.error();
  try {
    std::vector<Checked> secrets;
    for (const json::value& name : object->at("names").as_array())
      secrets.push_back({std::string(name.as_string()), ""});
    const json::value* providers = object->if_contains("providers");
    if (providers == nullptr) return secrets;
    if (providers->as_array().size() != secrets.size())
      return Error{Kind::Internal, "the secret check was told of another number of providers"};
    for (std::size_t i = 0; i < secrets.size(); ++i)
      secrets[i].provider = std::string(providers->as_array()[i].as_string());
    return secrets;
  } catch (const std::exception& e) {
    return Error{Kind::Internal,
                 std::string("the secret check's configuration is not valid: ") + e.what()};
  }
}

int check(int control) {
  const auto failed = [control](const char* step, const Error& error) {
    (void)base::sayFailed(control, step, error);
    return 1;
  };
  if (auto hardened = base::hardenStage(); !hardened) return failed("harden", hardened.error());
  const auto secrets = readConfig();
  if (!secrets) return failed("configuration", secrets.error());
  int fd = base::kFirstExtraFd;
  for (const Checked& secret : *secrets) {
    const base::UniqueFd source(fd++);
    if (auto fine = checkSecret(source.get(), secret.name, secret.provider); !fine)
      return failed("secret", fine.error());
  }
  return base::sayReady(control) ? 0 : 1;
}

}  // namespace

int secretCheckMain() {
  base::setUpLog("secret-check");
  try {
    return check(base::kControlFd);
  } catch (const std::exception& e) {
    base::log(base::Level::Error,
              std::string("the secret check ends by an error of ours: ") + e.what());
    return 1;
  }
}

}  // namespace warder::secrets
