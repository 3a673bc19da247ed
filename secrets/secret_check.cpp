#include "secrets/secret_check.h"

#include <algorithm>
#include <string>
#include <vector>

#include "secrets/grant_plan.h"
#include "secrets/vault/credential.h"
#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"

namespace warder::secrets {

namespace json = base::json;
using base::Error;
using base::Kind;
using base::Status;

Status checkCarried(const vault::SecretBytes& secret, const Grant& grant,
                    const models::Provider& provider) {
  std::vector<const std::vector<models::SecretKind>*> places{&provider.kinds};
  for (const models::Host& host : provider.hosts) places.push_back(&host.kinds);
  for (const auto* kinds : places) {
    const auto carriage = carriageOf(grant, *kinds, secret.reveal());
    if (!carriage) return carriage.error();
    const auto credential = vault::Credential::make(*carriage, secret);
    if (!credential) return credential.error().during("the secret \"" + grant.name + "\"");
  }
  return {};
}

vault::SecretBytes::Form formOf(const Grant& grant, const models::Provider& provider) {
  using Form = vault::SecretBytes::Form;
  constexpr auto kSigV4 = http::CredentialKind::Kind::SigV4;
  if (grant.inject) return grant.inject->kind == kSigV4 ? Form::Document : Form::Key;
  const bool signs = std::any_of(provider.kinds.begin(), provider.kinds.end(),
                                 [](const auto& kind) { return kind.credential.kind == kSigV4; });
  return signs ? Form::Document : Form::Key;
}

Status checkSecret(int fd, const Grant& grant) {
  if (grant.provider.empty()) {
    const auto secret = vault::SecretBytes::read(fd, grant.name);
    return secret ? Status() : secret.error();
  }
  const auto known = models::providerNamed(grant.provider);
  if (!known) return known.error();
  const auto secret = vault::SecretBytes::read(fd, grant.name, formOf(grant, *known));
  if (!secret) return secret.error();
  return checkCarried(*secret, grant, *known);
}

namespace {

/// Of each grant what the check depends on.
base::Result<std::vector<Grant>> readConfig() {
  auto object = base::readStageConfig();
  if (!object) return object.error();
  try {
    std::vector<Grant> secrets;
    for (const json::value& name : object->at("names").as_array())
      secrets.emplace_back().name = std::string(name.as_string());
    for (const std::string key : {"providers", "injects"}) {
      const json::value* list = object->if_contains(key);
      if (list == nullptr) continue;
      if (list->as_array().size() != secrets.size())
        return Error{Kind::Internal, "the secret check was told of another number of " + key};
      for (std::size_t i = 0; i < secrets.size(); ++i) {
        const json::value& value = list->as_array()[i];
        if (key == "injects") secrets[i].inject = injectFromJson(value);
        if (key == "providers") secrets[i].provider = std::string(value.as_string());
      }
    }
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
  for (const Grant& secret : *secrets) {
    const base::UniqueFd source(fd++);
    if (auto fine = checkSecret(source.get(), secret); !fine) return failed("secret", fine.error());
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
