#include "supervisor/cli/environment_secrets.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

extern char** environ;

namespace warder::cli {

using base::Error;
using base::kernelError;
using base::Kind;

namespace {
// A pipe's buffer, which must hold a value until the broker reads it. Source: pipe(7).
constexpr std::size_t kMaxValue = 65536;
}  // namespace

MovedSecrets parseMovedSecrets(const std::string& text) {
  MovedSecrets moved;
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    const auto equals = item.find('=');
    if (equals != std::string::npos)
      moved[item.substr(0, equals)] = std::atoi(item.c_str() + equals + 1);
  }
  return moved;
}

Error moveSecretsOut(const std::vector<std::string>& variables, ArgumentVector arguments) {
  std::string moved;
  std::vector<base::UniqueFd> ends;
  std::vector<std::string_view> values;  // in the environment; a copy under another name goes too
  for (const auto& name : variables) {
    const char* value = ::getenv(name.c_str());
    if (value == nullptr || *value == '\0')
      return Error{Kind::Config, "the environment variable " + name + " is not set"};
    if (std::strlen(value) > kMaxValue)
      return Error{Kind::Config, "the environment variable " + name + " is over 64 KiB"};
    values.emplace_back(value);
    auto pipe = base::makePipe();
    if (!pipe) return pipe.error();
    if (auto written = base::writeAll(pipe->write.get(), value); !written) return written.error();
    if (auto kept = base::setCloseOnExec(pipe->read.get(), false); !kept) return kept.error();
    moved += (moved.empty() ? "" : ",") + name + "=" + std::to_string(pipe->read.get());
    ends.push_back(std::move(pipe->read));
  }
  std::string option = std::string(kMovedSecretsOption) + "=" + moved;
  std::vector<char*> argv(arguments.words, arguments.words + arguments.count);
  argv.insert(argv.begin() + 1, option.data());
  argv.push_back(nullptr);
  std::vector<char*> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view name(*variable, std::strcspn(*variable, "="));
    const std::string_view value = std::string_view(*variable).substr(name.size());
    const bool copy = std::any_of(values.begin(), values.end(), [&](std::string_view secret) {
      return value.find(secret) != value.npos;
    });
    if (copy || std::find(variables.begin(), variables.end(), name) != variables.end()) continue;
    kept.push_back(*variable);
  }
  kept.push_back(nullptr);
  ::execve("/proc/self/exe", argv.data(), kept.data());
  return kernelError("cannot execute this binary again");
}

}  // namespace warder::cli
