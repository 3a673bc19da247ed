#include "secrets/models/dialect.h"

#include <array>

namespace warder::models {
namespace {

struct Named {
  Dialect dialect;
  std::string_view name;
};

constexpr std::array kNames = {
    Named{Dialect::None, "none"},
    Named{Dialect::Anthropic, "anthropic"},
    Named{Dialect::OpenaiResponses, "openai-responses"},
    Named{Dialect::OpenaiChat, "openai-chat"},
    Named{Dialect::Gemini, "gemini"},
    Named{Dialect::Bedrock, "bedrock"},
};

}  // namespace

std::string_view nameOf(Dialect dialect) {
  for (const Named& known : kNames)
    if (known.dialect == dialect) return known.name;
  return "none";
}

std::optional<Dialect> dialectNamed(std::string_view name) {
  for (const Named& known : kNames)
    if (known.name == name) return known.dialect;
  return std::nullopt;
}

}  // namespace warder::models
