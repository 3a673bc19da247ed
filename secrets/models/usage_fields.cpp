#include "secrets/models/usage_fields.h"

#include <algorithm>

namespace warder::models {
namespace {

constexpr unsigned bitOf(Dialect dialect) {
  return 1U << static_cast<unsigned>(dialect);
}

constexpr unsigned kMessages = bitOf(Dialect::Anthropic) | bitOf(Dialect::Bedrock);
constexpr unsigned kResponses = bitOf(Dialect::OpenaiResponses);
constexpr unsigned kChat = bitOf(Dialect::OpenaiChat);
constexpr unsigned kGemini = bitOf(Dialect::Gemini);
constexpr unsigned kBedrock = bitOf(Dialect::Bedrock);

struct Field {
  unsigned dialects;
  std::string_view path;
  Count count;
};

constexpr std::array kFields = {
    Field{kMessages | kResponses, "usage.input_tokens", Count::Input},
    Field{kMessages | kResponses, "usage.output_tokens", Count::Output},
    Field{kMessages, "usage.cache_read_input_tokens", Count::CacheRead},
    Field{kMessages, "usage.cache_creation_input_tokens", Count::CacheWrite},
    Field{kMessages, "usage.cache_creation.ephemeral_1h_input_tokens", Count::CacheWriteHour},
    Field{kResponses, "usage.input_tokens_details.cached_tokens", Count::CacheRead},
    Field{kChat, "usage.prompt_tokens", Count::Input},
    Field{kChat, "usage.completion_tokens", Count::Output},
    Field{kChat, "usage.prompt_tokens_details.cached_tokens", Count::CacheRead},
    Field{kGemini, "usageMetadata.promptTokenCount", Count::Input},
    Field{kGemini, "usageMetadata.candidatesTokenCount", Count::Output},
    Field{kGemini, "usageMetadata.cachedContentTokenCount", Count::CacheRead},
    Field{kGemini, "usageMetadata.thoughtsTokenCount", Count::Thoughts},
    Field{kGemini, "usageMetadata.toolUsePromptTokenCount", Count::ToolPrompt},
    Field{kBedrock, "usage.inputTokens", Count::Input},
    Field{kBedrock, "usage.outputTokens", Count::Output},
    Field{kBedrock, "usage.cacheReadInputTokens", Count::CacheRead},
    Field{kBedrock, "usage.cacheWriteInputTokens", Count::CacheWrite},
    Field{kBedrock, "amazon-bedrock-invocationMetrics.inputTokenCount", Count::Input},
    Field{kBedrock, "amazon-bedrock-invocationMetrics.outputTokenCount", Count::Output},
    Field{kBedrock, "amazon-bedrock-invocationMetrics.cacheReadInputTokenCount", Count::CacheRead},
    Field{kBedrock, "amazon-bedrock-invocationMetrics.cacheWriteInputTokenCount",
          Count::CacheWrite},
};

}  // namespace

void UsageCounts::raise(Count count, std::uint64_t value) {
  // Sums stay sums.
  constexpr std::uint64_t kMost = 1'000'000'000;
  if (value > kMost) return;
  told_ = true;
  std::uint64_t& known = values_[static_cast<std::size_t>(count)];
  known = std::max(known, value);
}

Usage UsageCounts::usageIn(Dialect dialect) const {
  Usage usage;
  usage.output = of(Count::Output) + of(Count::Thoughts);
  usage.cache_read = of(Count::CacheRead);
  usage.cache_write = of(Count::CacheWrite);
  usage.cache_write_1h = of(Count::CacheWriteHour);
  usage.input = of(Count::Input) + of(Count::ToolPrompt);
  // OpenAI and Google count what was cached as a part of the input.
  const bool cached_within = (bitOf(dialect) & (kResponses | kChat | kGemini)) != 0;
  if (cached_within) usage.input -= std::min(usage.input, usage.cache_read);
  return usage;
}

std::optional<Count> countAt(Dialect dialect, std::string_view path) {
  for (const Field& field : kFields)
    if ((field.dialects & bitOf(dialect)) != 0 && field.path == path) return field.count;
  return std::nullopt;
}

std::string_view withoutWrap(Dialect dialect, std::string_view path) {
  const std::string_view wrap = (bitOf(dialect) & kMessages) != 0     ? "message."
                                : dialect == Dialect::OpenaiResponses ? "response."
                                : dialect == Dialect::Gemini          ? "[]."
                                                                      : "";
  return path.substr(path.starts_with(wrap) ? wrap.size() : 0);
}

}  // namespace warder::models
