#include "supervisor/boot/module_list.h"

#include <algorithm>

#include "supervisor/base/fault.h"
#include "supervisor/boot/settings.h"

namespace warder::boot {

using base::Error;
using base::Kind;

namespace {

constexpr std::string_view kSuffix = ".ko";

std::string plainName(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '-', '_');
  return plain;
}

}  // namespace

base::Result<std::vector<std::string>> readModuleList(std::string_view text) {
  if (text.size() > kLongestModuleList)
    return Error{Kind::Config, "the list of modules is longer than 64 KiB"};
  std::vector<std::string> files;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.starts_with('#')) continue;
    if (!line.ends_with(kSuffix) || line.find('/') != line.npos || line.size() > 128)
      return Error{Kind::Config, "the list of modules holds " + base::inQuotes(line) +
                                     ", which is no name of a .ko file beside it"};
    if (files.size() == kMostModules)
      return Error{Kind::Config, "the list of modules holds more than 256"};
    files.emplace_back(line);
  }
  return files;
}

std::string moduleParameters(const std::string& file, std::string_view command_line) {
  const std::string module = plainName(std::string_view(file).substr(0, file.rfind(kSuffix)));
  std::string parameters;
  for (const auto& word : commandLineWords(command_line)) {
    if (word == "--") break;
    const auto dot = word.find('.');
    if (dot == std::string::npos || dot > word.find('=')) continue;
    if (plainName(word.substr(0, dot)) != module) continue;
    const std::string parameter = word.substr(dot + 1);
    if (!parameters.empty()) parameters += ' ';
    parameters += parameter.find(' ') == std::string::npos ? parameter : '"' + parameter + '"';
  }
  return parameters;
}

}  // namespace warder::boot
