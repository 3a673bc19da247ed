#include "supervisor/cli/secret_sources.h"

#include <fcntl.h>

#include <cstdlib>

namespace warder::cli {

using base::Error;
using base::Kind;
using base::Result;
using base::UniqueFd;

Result<UniqueFd> openSource(const job::HandedSource& from, const MovedSecrets& moved) {
  if (const auto* file = std::get_if<job::FileSource>(&from))
    return base::openFile(file->path, O_RDONLY | O_NOCTTY);
  if (const auto* given = std::get_if<job::FdSource>(&from)) {
    if (::fcntl(given->fd, F_GETFD) < 0)
      return Error{Kind::Config, "descriptor " + std::to_string(given->fd) + " is not open"};
    return base::duplicate(given->fd);
  }
  return base::duplicate(moved.at(std::get<job::EnvSource>(from).variable));
}

Result<UniqueFd> openToken(const job::HandedSource& from, const MovedSecrets& moved) {
  const auto* variable = std::get_if<job::EnvSource>(&from);
  if (variable != nullptr && !moved.contains(variable->variable)) {
    const char* value = std::getenv(variable->variable.c_str());
    if (value == nullptr)
      return Error{Kind::Config, "the environment variable " + variable->variable + " is not set"};
    return base::sealedText("token", value);
  }
  auto source = openSource(from, moved);
  if (!source || std::holds_alternative<job::FileSource>(from)) return source;
  auto text = base::readAll(source->get(), 65536);
  if (!text) return text.error();
  return base::sealedText("token", *text);
}

}  // namespace warder::cli
