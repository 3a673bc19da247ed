// Readers for values that job and preset files share.
#pragma once
#include <map>
#include <optional>
#include <string>

#include "supervisor/base/yaml_fields.h"
#include "supervisor/job/job_spec.h"

namespace warder::job {

/// NAME: text; names are checked, values are text (numbers and booleans need quotes).
std::map<std::string, std::string> readEnvironment(const base::YamlNode& node,
                                                   const std::string& path,
                                                   base::YamlFaults& faults);

/// Exactly one of {file: PATH}, {fd: N}, {env: NAME}; a relative path is below `folder`.
std::optional<HandedSource> readHandedSource(const base::YamlNode& node, const std::string& path,
                                             const std::string& folder, base::YamlFaults& faults);
/// The same, or {exec: …} or {vault: …}.
std::optional<SecretSource> readSecretSource(const base::YamlNode& node, const std::string& path,
                                             const std::string& folder, base::YamlFaults& faults);

/// Rising marks, 1 to 10 of "1%" to "99%"; nothing where there is a fault.
std::optional<std::vector<int>> readMarks(const base::YamlNode& node, const std::string& path,
                                          base::YamlFaults& faults);

/// A base URL: https://HOST[:PORT][/PATH], or http:// where HOST is this machine's loopback.
/// Leaves a fault that says what is wrong and returns the text anyway.
std::string readUrl(const base::YamlNode& node, const std::string& path, base::YamlFaults& faults);

/// Why this is no base URL, as half a sentence; empty when it is one. Pure.
std::string whyNoUrl(std::string_view url);

/// The path under `key`, made absolute below `folder`; an empty one is a fault.
std::optional<std::string> readPath(base::YamlFields& fields, const std::string& key,
                                    const std::string& folder, base::YamlFaults& faults);

/// `path` below `folder` unless it is absolute; without "." and ".." as far as text can tell.
std::string absolutePath(const std::string& folder, const std::string& path);

/// Does this name a file rather than something shipped? A slash or a YAML suffix says so.
bool namesFile(std::string_view text);

}  // namespace warder::job
