// How a provider of models is spoken to: the shapes of requests, answers and streams.
#pragma once
#include <optional>
#include <string_view>

namespace warder::models {

enum class Dialect { None, Anthropic, OpenaiResponses, OpenaiChat, Gemini, Bedrock };

/// As provider data spells it: none, anthropic, openai-responses, openai-chat, gemini, bedrock.
std::string_view nameOf(Dialect dialect);
/// Nothing for a name that is not known.
std::optional<Dialect> dialectNamed(std::string_view name);

}  // namespace warder::models
