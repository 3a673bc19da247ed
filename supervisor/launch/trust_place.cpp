#include "supervisor/launch/trust_place.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "supervisor/job/certificates.h"

namespace warder::launch {

using base::Result;

namespace {

/// wget as Debian builds it reads no variable that names certificates, but one that names settings.
/// Source: wget, src/init.c.
std::string wgetSettings(const std::string& bundle) {
  auto own = readRegularInRoot("/", "/etc/wgetrc");
  return (own ? *own + "\n" : std::string()) + "ca_certificate = " + bundle + "\n";
}

std::vector<std::string> programsIn(const std::string& root, const std::vector<std::string>& path) {
  std::vector<std::string> found;
  for (const auto& program : programsWithOwnRoots())
    for (const auto& folder : path)
      if (::faccessat(AT_FDCWD, (root + folder + "/" + program).c_str(), F_OK,
                      AT_SYMLINK_NOFOLLOW) == 0)
        found.push_back(program);
  return found;
}

/// What a place was made to trust goes on to be trusted; a file that cannot be read is told.
struct NamedTexts {
  std::vector<std::string> texts;
  std::vector<std::string> warnings;
};

NamedTexts readNamed(const std::vector<std::string>& files) {
  NamedTexts named;
  for (const auto& file : files) {
    auto text = readRegularInRoot("/", file);
    if (text && job::holdsCertificates(*text))
      named.texts.push_back(std::move(*text));
    else
      named.warnings.push_back("the certificates of " + file +
                               ", which a variable of this place names, cannot be read and are not "
                               "trusted");
  }
  return named;
}

void tell(const TrustOrder& order, const std::string& root, PreparedTrust& prepared) {
  auto& warnings = prepared.environment.warnings;
  if (!prepared.trust.has_system_roots)
    warnings.push_back(
        "there is no bundle of certificates here (ca-certificates is not installed): "
        "the agent's programs trust the run's CA and the job's, and hosts that are "
        "tunnelled only with roots of their own");
  for (const Variables* variables : {&order.job_env, &order.inherited})
    for (auto& sentence : disabledChecks(*variables)) warnings.push_back(std::move(sentence));
  for (auto& sentence : uncoveredPrograms(programsIn(root, order.path)))
    warnings.push_back(std::move(sentence));
}

TrustRequest requestOf(const TrustOrder& order, const std::string& folder) {
  TrustRequest request;
  request.folder = folder;
  request.job_env = order.job_env;
  request.inherited = order.inherited;
  request.transparent = order.transparent;
  request.proxy_port = order.proxy_port;
  return request;
}

}  // namespace

Result<PreparedTrust> trustForBox(const TrustOrder& order, const std::string& image) {
  auto bundle = readSystemBundle(image);
  if (bundle && bundle->empty() && image != "/") bundle = readSystemBundle("/");
  if (!bundle) return bundle.error();
  auto trust = mergeTrust({order.ca_pem, order.extras, *bundle});
  if (!trust) return trust.error();
  PreparedTrust prepared{std::move(*trust), kTrustInBox, {}};
  prepared.environment = trustEnvironment(requestOf(order, kTrustInBox));
  tell(order, image == "/" ? "" : image, prepared);
  return prepared;
}

Result<PreparedTrust> trustInPlace(const TrustOrder& order, const std::string& run_id) {
  auto bundle = readSystemBundle("/");
  if (!bundle) return bundle.error();
  const NamedBundles files = namedBundles(order.inherited);
  NamedTexts replacing = readNamed(files.replacing), adding = readNamed(files.adding);
  TrustSources sources{order.ca_pem, order.extras, *bundle, std::move(replacing.texts)};
  for (auto& text : adding.texts) sources.extras.push_back(std::move(text));
  auto trust = mergeTrust(sources);
  if (!trust) return trust.error();
  auto folder = makeTrustFolder(run_id);
  if (!folder) return folder.error();
  PreparedTrust prepared{std::move(*trust), *folder, {}};
  prepared.trust.wgetrc = wgetSettings(TrustPaths(*folder).bundle);
  if (auto written = writeTrustFiles(*folder, prepared.trust); !written) return written.error();
  TrustRequest request = requestOf(order, *folder);
  request.wgetrc = true;
  prepared.environment = trustEnvironment(request);
  for (const auto* warnings : {&replacing.warnings, &adding.warnings})
    for (const auto& warning : *warnings) prepared.environment.warnings.push_back(warning);
  tell(order, "", prepared);
  return prepared;
}

}  // namespace warder::launch
