// What only the process that a person called can check: its own descriptors and variables.
#include <fcntl.h>

#include <cstdlib>
#include <cstring>

#include "supervisor/job/job_files.h"
#include "supervisor/job/secret_length.h"

namespace warder::job {
namespace {

struct NamedSource {
  std::string what;
  std::string where;
  HandedSource source;
  Length length;
};

std::vector<NamedSource> sourcesOf(const JobReading& reading) {
  std::vector<NamedSource> sources;
  for (const SecretSpec& secret : reading.job.secrets) {
    const std::string key = "secrets." + secret.name;
    if (const auto handed = handedOf(secret.from))
      sources.push_back({key, reading.placeOf(key + ".from"), *handed, kKey});
  }
  for (std::size_t i = 0; i < reading.job.results.to.size(); ++i) {
    const std::string key = "results.to[" + std::to_string(i) + "].token";
    sources.push_back({key, reading.placeOf(key), reading.job.results.to[i].token, kToken});
  }
  return sources;
}

std::string whyNotHandedOver(const NamedSource& named) {
  if (const auto* fd = std::get_if<FdSource>(&named.source)) {
    if (fd->fd >= 0 && ::fcntl(fd->fd, F_GETFD) < 0) {
      return "descriptor " + std::to_string(fd->fd) + " is not open";
    }
  }
  if (const auto* variable = std::get_if<EnvSource>(&named.source)) {
    const char* value = std::getenv(variable->variable.c_str());
    if (value == nullptr || *value == '\0') {
      return "the environment variable " + variable->variable + " is not set or empty";
    }
    const std::string why = whyNoLength(std::strlen(value), named.length);
    if (!why.empty()) return "the environment variable " + variable->variable + " " + why;
  }
  return {};
}

}  // namespace

base::Faults checkHandedOver(const JobReading& reading) {
  base::Faults faults;
  for (const NamedSource& named : sourcesOf(reading)) {
    const std::string why = whyNotHandedOver(named);
    if (!why.empty()) faults.push_back({named.where, named.what + ": " + why});
  }
  return faults;
}

}  // namespace warder::job
