// Where a secret's bytes come from, as the job says it.
#include <algorithm>

#include "supervisor/base/yaml_scalar.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/preset.h"

namespace warder::job {
namespace {

using base::inQuotes;
using base::YamlFaults;
using base::YamlFields;
using base::YamlNode;

constexpr std::uint64_t kHighestFd = 65535;
constexpr std::size_t kMostWords = 64;  // of a helper program's command
constexpr std::size_t kLongestVaultPath = 512;
constexpr std::size_t kLongestField = 128;
constexpr std::chrono::milliseconds kLeastTimeout{1'000};
constexpr std::chrono::milliseconds kMostTimeout{300'000};

std::optional<HandedSource> readOneHanded(YamlFields& fields, const std::string& folder,
                                          YamlFaults& faults) {
  std::optional<HandedSource> source;
  if (const auto path = readPath(fields, "file", folder, faults)) source = FileSource{*path};
  if (const auto fd = fields.integer("fd", {3, kHighestFd})) {
    source = FdSource{static_cast<int>(*fd)};
  }
  if (const auto variable = fields.text("env")) {
    source = EnvSource{*variable};
    if (!isVariableName(*variable)) {
      faults.add(*fields.find("env"), fields.name("env") + ": " + inQuotes(*variable) +
                                          " is no name of an environment variable");
    }
  }
  return source;
}

/// A relative path of a program is below the job's folder; a name without a slash stays a name.
std::vector<std::string> readCommand(const YamlNode& node, const std::string& path,
                                     const std::string& folder, YamlFaults& faults) {
  auto words = base::yamlTexts(node, path, faults);
  if (!words) return {};
  if (words->empty() || words->front().empty() || words->size() > kMostWords) {
    faults.add(node, path + " takes a program and its arguments, 1 to 64 words");
    return {};
  }
  if (words->front().find('/') != std::string::npos)
    words->front() = absolutePath(folder, words->front());
  return std::move(*words);
}

ExecSource readExec(const YamlNode& node, const std::string& path, const std::string& folder,
                    YamlFaults& faults) {
  ExecSource source;
  if (node.kind == YamlNode::Kind::Sequence) {
    source.command = readCommand(node, path, folder, faults);
    return source;
  }
  YamlFields fields(node, path, faults);
  if (const YamlNode* command = fields.need("command"))
    source.command = readCommand(*command, path + ".command", folder, faults);
  if (const YamlNode* env = fields.find("env"))
    source.env = readEnvironment(*env, path + ".env", faults);
  source.timeout = fields.duration("timeout").value_or(source.timeout);
  if (source.timeout < kLeastTimeout || source.timeout > kMostTimeout)
    faults.add(*fields.find("timeout"), path + ".timeout must be 1s to 5m");
  fields.finish();
  return source;
}

/// Segments of letters, digits and -._~@:+,= with single slashes between them.
bool isVaultPath(const std::string& text) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-._~@:+,=/").find(c) != std::string_view::npos;
  };
  const std::string framed = "/" + text + "/";
  return !text.empty() && text.size() <= kLongestVaultPath &&
         std::all_of(text.begin(), text.end(), fits) && framed.find("//") == std::string::npos &&
         framed.find("/./") == std::string::npos && framed.find("/../") == std::string::npos;
}

std::string readVaultPath(YamlFields& fields, const std::string& key, bool needed,
                          YamlFaults& faults) {
  const auto text = needed ? fields.needText(key) : fields.text(key);
  if (!text || isVaultPath(*text)) return text.value_or("");
  faults.add(*fields.find(key),
             fields.name(key) + ": " + inQuotes(*text) +
                 " is no path in a Vault; write it as the API has it after /v1/, such as "
                 "secret/data/agents/anthropic");
  return *text;
}

VaultSource readVault(const YamlNode& node, const std::string& path, const std::string& folder,
                      YamlFaults& faults) {
  YamlFields fields(node, path, faults);
  VaultSource source;
  if (const YamlNode* address = fields.need("address"))
    source.address = readUrl(*address, path + ".address", faults);
  source.path = readVaultPath(fields, "path", true, faults);
  source.name_space = readVaultPath(fields, "namespace", false, faults);
  source.field = fields.needText("field").value_or("x");
  if (source.field.empty() || source.field.size() > kLongestField)
    faults.add(*fields.find("field"), path + ".field takes a name of 1 to 128 bytes");
  source.ca_file = readPath(fields, "ca_file", folder, faults).value_or("");
  if (const YamlNode* token = fields.need("token"))
    if (const auto handed = readHandedSource(*token, path + ".token", folder, faults))
      source.token = *handed;
  fields.finish();
  return source;
}

/// How many of the keys are there.
int countOf(YamlFields& fields, std::initializer_list<const char*> keys) {
  int given = 0;
  for (const char* key : keys) given += fields.find(key) != nullptr ? 1 : 0;
  return given;
}

}  // namespace

std::optional<HandedSource> handedOf(const SecretSource& source) {
  if (const auto* file = std::get_if<FileSource>(&source)) return *file;
  if (const auto* fd = std::get_if<FdSource>(&source)) return *fd;
  if (const auto* variable = std::get_if<EnvSource>(&source)) return *variable;
  if (const auto* vault = std::get_if<VaultSource>(&source)) return vault->token;
  return std::nullopt;
}

std::optional<HandedSource> readHandedSource(const YamlNode& node, const std::string& path,
                                             const std::string& folder, YamlFaults& faults) {
  YamlFields fields(node, path, faults);
  auto source = readOneHanded(fields, folder, faults);
  fields.finish();
  if (!fields.usable()) return std::nullopt;
  if (countOf(fields, {"file", "fd", "env"}) != 1)
    faults.add(node, path + " takes exactly one of {file: PATH}, {fd: NUMBER}, {env: NAME}");
  return source;
}

std::optional<SecretSource> readSecretSource(const YamlNode& node, const std::string& path,
                                             const std::string& folder, YamlFaults& faults) {
  YamlFields fields(node, path, faults);
  std::optional<SecretSource> source;
  if (const auto handed = readOneHanded(fields, folder, faults))
    std::visit([&source](const auto& one) { source = one; }, *handed);
  if (const YamlNode* exec = fields.find("exec"))
    source = readExec(*exec, path + ".exec", folder, faults);
  if (const YamlNode* vault = fields.find("vault"))
    source = readVault(*vault, path + ".vault", folder, faults);
  fields.finish();
  if (!fields.usable()) return std::nullopt;
  if (countOf(fields, {"file", "fd", "env", "exec", "vault"}) != 1)
    faults.add(node, path +
                         " takes exactly one of {file: PATH}, {fd: NUMBER}, {env: NAME}, "
                         "{exec: [PROGRAM, …]}, {vault: {…}}");
  return source;
}

}  // namespace warder::job
