#include "supervisor/cli/secret_files.h"

#include <fcntl.h>

#include <chrono>

#include "supervisor/init/orders.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/spawner.h"
#include "supervisor/watch/reaper.h"

namespace warder::cli {

namespace {

constexpr std::chrono::milliseconds kLimit{10'000};

base::Status checkFile(const job::SecretSpec& secret, const std::string& path) {
  auto file = base::openFile(path, O_RDONLY | O_NOCTTY);
  if (!file) return file.error();
  launch::StageStart start;
  start.stage = "secret-check";
  start.config = {
      {"names", {secret.name}},
      {"providers", {secret.provider}},
      {"injects", base::json::array{secrets::injectToJson(init::grantRequestOf(secret).inject)}}};
  start.extra_fds = {file->get()};
  start.service = launch::mayChangeIds();  // an ordinary user has nothing to give up
  start.uid = start.gid = launch::kBrokerUid;
  auto stage = launch::startStage(start);
  if (!stage) return stage.error();
  auto word = launch::awaitMessage(stage->control.get(), kLimit);
  if (!word) return word.error().during("checking secret " + secret.name);
  if (word->body.contains("ready")) return {};
  return launch::saidFailure(word->body);
}

}  // namespace

base::Faults checkSecretFiles(const job::JobSpec& job) {
  base::Faults faults;
  for (const auto& secret : job.secrets) {
    const auto* from = std::get_if<job::FileSource>(&secret.from);
    if (from == nullptr) continue;
    if (auto checked = checkFile(secret, from->path); !checked)
      faults.push_back({from->path, checked.error().sentence()});
  }
  watch::reapAll();
  return faults;
}

}  // namespace warder::cli
