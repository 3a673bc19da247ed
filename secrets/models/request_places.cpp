#include "secrets/models/request_places.h"

#include <algorithm>
#include <array>

namespace warder::models {
namespace {

constexpr unsigned kAnthropic = 1U << static_cast<unsigned>(Dialect::Anthropic);
constexpr unsigned kResponses = 1U << static_cast<unsigned>(Dialect::OpenaiResponses);
constexpr unsigned kChat = 1U << static_cast<unsigned>(Dialect::OpenaiChat);
constexpr unsigned kGemini = 1U << static_cast<unsigned>(Dialect::Gemini);
constexpr unsigned kBedrock = 1U << static_cast<unsigned>(Dialect::Bedrock);
constexpr unsigned kMessages = kAnthropic | kBedrock;  // Bedrock's invoke takes Anthropic's bodies
constexpr unsigned kOpenai = kResponses | kChat;
constexpr unsigned kAny = kMessages | kOpenai | kGemini;

struct Row {
  unsigned dialects;
  Place from;
  std::string_view key;  // in lower case, without underscores
  Place to;
};

constexpr std::array kRows = {
    Row{kAny, Place::Top, "model", Place::Model},
    Row{kMessages | kOpenai, Place::Top, "stream", Place::Stream},
    Row{kMessages | kChat, Place::Top, "messages", Place::Content},
    Row{kMessages, Place::Top, "system", Place::Content},
    Row{kMessages | kOpenai, Place::Top, "tools", Place::Tool},
    Row{kMessages | kOpenai, Place::Top, "mcpservers", Place::Fetch},
    Row{kMessages, Place::Top, "container", Place::Fetch},
    Row{kBedrock, Place::Top, "toolconfig", Place::ToolConfig},
    Row{kBedrock, Place::Top, "additionalmodelrequestfields", Place::Top},
    Row{kResponses, Place::Top, "input", Place::Content},
    Row{kResponses, Place::Top, "instructions", Place::Content},
    // A prompt that is kept at the provider brings tools which cannot be seen here.
    Row{kResponses, Place::Top, "prompt", Place::Fetch},
    Row{kResponses, Place::Top, "background", Place::Background},
    Row{kChat, Place::Top, "streamoptions", Place::StreamOptions},
    Row{kChat, Place::Top, "models", Place::Model},  // gateways: what to fall back to
    Row{kOpenai, Place::Top, "websearchoptions", Place::Fetch},
    Row{kOpenai, Place::Top, "plugins", Place::Fetch},
    Row{kOpenai, Place::Top, "searchparameters", Place::Fetch},
    Row{kOpenai, Place::Top, "enablesearch", Place::Fetch},
    Row{kGemini, Place::Top, "contents", Place::Content},
    Row{kGemini, Place::Top, "systeminstruction", Place::Content},
    Row{kGemini, Place::Top, "tools", Place::NamedTool},
    Row{kGemini, Place::Top, "generatecontentrequest", Place::Top},

    Row{kChat, Place::StreamOptions, "includeusage", Place::IncludeUsage},

    Row{kMessages | kOpenai, Place::Content, "content", Place::Content},
    Row{kMessages, Place::Content, "source", Place::Source},
    Row{kBedrock, Place::Content, "image", Place::Content},
    Row{kBedrock, Place::Content, "document", Place::Content},
    Row{kBedrock, Place::Content, "video", Place::Content},
    Row{kBedrock, Place::Content, "audio", Place::Content},
    Row{kBedrock, Place::Content, "toolresult", Place::Content},
    Row{kOpenai, Place::Content, "imageurl", Place::Url},
    Row{kOpenai, Place::Content, "fileurl", Place::Url},
    Row{kOpenai, Place::Content, "videourl", Place::Url},
    Row{kOpenai, Place::Content, "audiourl", Place::Url},
    Row{kChat, Place::Content, "file", Place::Content},
    Row{kResponses, Place::Content, "output", Place::Content},
    Row{kResponses, Place::Content, "tools", Place::Tool},
    Row{kResponses, Place::Content, "serverurl", Place::Fetch},
    Row{kGemini, Place::Content, "parts", Place::Content},
    Row{kGemini, Place::Content, "functionresponse", Place::Content},
    Row{kGemini, Place::Content, "filedata", Place::Source},

    Row{kMessages, Place::Source, "type", Place::SourceType},
    Row{kMessages, Place::Source, "url", Place::Url},
    Row{kMessages, Place::Source, "content", Place::Content},
    Row{kBedrock, Place::Source, "s3location", Place::Fetch},
    Row{kGemini, Place::Source, "fileuri", Place::Fetch},

    Row{kOpenai, Place::Url, "url", Place::Url},

    Row{kMessages | kOpenai, Place::Tool, "type", Place::ToolType},
    Row{kResponses, Place::Tool, "tools", Place::Tool},  // a namespace
    Row{kOpenai, Place::Tool, "serverurl", Place::Fetch},
    Row{kOpenai, Place::Tool, "connectorid", Place::Fetch},
    Row{kResponses, Place::Tool, "externalwebaccess", Place::ToolReach},
    Row{kResponses, Place::Tool, "environment", Place::ToolPlace},
    Row{kResponses, Place::ToolPlace, "type", Place::ToolPlaceType},

    Row{kBedrock, Place::ToolConfig, "tools", Place::NamedTool},
    Row{kBedrock, Place::NamedTool, "toolspec", Place::Inert},
    Row{kBedrock, Place::NamedTool, "cachepoint", Place::Inert},
    Row{kGemini, Place::NamedTool, "functiondeclarations", Place::Inert},
};

static_assert(kRows.size() <= 64, "known keys are bits of a word");

/// Longer than any key of the table, however it is spelt.
constexpr std::size_t kLongestSpelling = 96;

/// Some readers take U+017F for s and U+212A for k when they ignore case.
std::string plainKey(std::string_view key) {
  std::string plain;
  if (key.size() > kLongestSpelling) return plain;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char c = key[i];
    if (c == '_') continue;
    if (key.substr(i).starts_with("\xc5\xbf")) {
      plain += 's';
      i += 1;
    } else if (key.substr(i).starts_with("\xe2\x84\xaa")) {
      plain += 'k';
      i += 2;
    } else {
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return plain;
}

bool startsWithAny(std::string_view text, std::initializer_list<std::string_view> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&](std::string_view beginning) { return text.starts_with(beginning); });
}

bool isAny(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

}  // namespace

Next follow(Dialect dialect, Place from, std::string_view key) {
  const std::string plain = plainKey(key);
  const unsigned bit = 1U << static_cast<unsigned>(dialect);
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    const Row& row = kRows[i];
    if ((row.dialects & bit) != 0 && row.from == from && row.key == plain)
      return {row.to, static_cast<int>(i)};
  }
  // Where the key is the type, one that is not known may do anything.
  return {from == Place::NamedTool ? Place::Fetch : Place::Inert, -1};
}

bool runsAtTheAgent(Dialect dialect, std::string_view tool_type) {
  switch (dialect) {
    case Dialect::Anthropic:
    case Dialect::Bedrock:
      return tool_type == "custom" ||
             startsWithAny(tool_type,
                           {"bash_", "text_editor_", "computer_", "memory_", "tool_search_tool_"});
    case Dialect::OpenaiResponses:
      return isAny(tool_type, {"function", "custom", "local_shell", "apply_patch", "namespace",
                               "tool_search"});
    case Dialect::OpenaiChat:
      return isAny(tool_type, {"function", "custom"});
    default:
      return false;
  }
}

bool holdsItsContent(std::string_view source_type) {
  return isAny(source_type, {"base64", "text", "content", "file"});
}

bool needsNoFetching(std::string_view url) {
  constexpr std::string_view kData = "data:";
  if (url.empty()) return true;
  if (url.size() < kData.size()) return false;
  return std::equal(kData.begin(), kData.end(), url.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

}  // namespace warder::models
