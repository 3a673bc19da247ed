#include "supervisor/boot/module_list.h"

#include <fnmatch.h>

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

base::Result<std::vector<Module>> readModuleList(std::string_view text) {
  if (text.size() > kLongestModuleList)
    return Error{Kind::Config, "the list of modules is longer than 64 KiB"};
  std::vector<Module> modules;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const auto whole = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (whole.empty() || whole.starts_with('#')) continue;
    const auto blank = std::min(whole.find(' '), whole.size());
    const auto line = whole.substr(0, blank);
    const auto alias = whole.substr(std::min(blank + 1, whole.size()));
    if (!line.ends_with(kSuffix) || line.find('/') != line.npos || line.size() > 128)
      return Error{Kind::Config, "the list of modules holds " + base::inQuotes(line) +
                                     ", which is no name of a .ko file beside it"};
    if (blank < whole.size() && (busOf(alias).empty() || alias.find(' ') != alias.npos))
      return Error{Kind::Config, "the list of modules holds " + base::inQuotes(whole) +
                                     ", whose second word is no alias such as virtio:d00000001v*"};
    if (modules.size() == kMostModules)
      return Error{Kind::Config, "the list of modules holds more than 256"};
    modules.push_back({std::string(line), std::string(alias)});
  }
  return modules;
}

std::string busOf(std::string_view alias) {
  const auto bus = alias.substr(0, std::min(alias.find(':'), alias.size()));
  const bool plain = std::all_of(bus.begin(), bus.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  return plain && bus.size() < alias.size() ? std::string(bus) : "";
}

bool answersTo(std::string_view modalias, const std::string& alias) {
  while (modalias.ends_with('\n')) modalias.remove_suffix(1);
  return ::fnmatch(alias.c_str(), std::string(modalias).c_str(), 0) == 0;
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
