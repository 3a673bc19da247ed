#include "supervisor/report/program_facts.h"

#include <unistd.h>

#include "supervisor/base/fd.h"
#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/clean_text.h"
#include "supervisor/journal/digest.h"

namespace warder::report {

using base::Result;
using base::UniqueFd;
namespace json = base::json;

namespace {

constexpr std::size_t kPiece = 256 * 1024;
constexpr std::size_t kLongestVersion = 128;

Result<ProgramFacts> read(const UniqueFd& program, const UniqueFd& package) {
  ProgramFacts facts;
  journal::Sha256 digest;
  std::string piece(kPiece, '\0');
  for (;;) {
    const ssize_t count = ::read(program.get(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::kernelError("cannot read the agent's program");
    if (count == 0) break;
    digest.update({piece.data(), static_cast<std::size_t>(count)});
    facts.bytes += static_cast<std::size_t>(count);
  }
  facts.sha256 = digest.hex();
  if (auto text = base::readAll(package.get(), kLargestPackageFile))
    facts.version = versionOf(*text);
  return facts;
}

}  // namespace

std::string versionOf(std::string_view package_json) {
  const auto value = base::parseJson(package_json);
  if (!value || !value->is_object()) return {};
  const auto* version = value->get_object().if_contains("version");
  if (version == nullptr || !version->is_string()) return {};
  const std::string_view text = version->get_string();
  return base::escapeForTerminal(journal::cutUtf8(text, kLongestVersion));
}

json::object toMessage(const ProgramFacts& facts) {
  return {
      {"program", {{"sha256", facts.sha256}, {"bytes", facts.bytes}, {"version", facts.version}}}};
}

std::optional<ProgramFacts> programFactsFrom(const json::object& message) {
  const auto* said = message.if_contains("program");
  if (said == nullptr || !said->is_object()) return std::nullopt;
  const auto& object = said->get_object();
  const auto* digest = object.if_contains("sha256");
  const auto* bytes = object.if_contains("bytes");
  const auto* version = object.if_contains("version");
  if (digest == nullptr || bytes == nullptr || version == nullptr || !digest->is_string() ||
      !bytes->is_number() || !version->is_string())
    return std::nullopt;
  return ProgramFacts{std::string(digest->get_string()), bytes->to_number<std::uint64_t>(),
                      std::string(version->get_string())};
}

int programFactsMain() {
  const UniqueFd config(base::kConfigFd), control(base::kControlFd);
  const UniqueFd program(base::kFirstExtraFd), package(base::kFirstExtraFd + 1);
  if (auto hard = base::hardenStage(); !hard) {
    (void)base::sayFailed(control.get(), "harden", hard.error());
    return 1;
  }
  auto facts = read(program, package);
  if (!facts) {
    (void)base::sayFailed(control.get(), "program", facts.error());
    return 1;
  }
  return base::sendMessage(control.get(), toMessage(*facts)) ? 0 : 1;
}

}  // namespace warder::report
