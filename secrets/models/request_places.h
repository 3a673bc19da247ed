// Places in the bodies of calls to models: what is looked at in which dialect.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "secrets/models/dialect.h"

namespace warder::models {

/// What the value of a key is. Elements of an array are what the array is.
enum class Place : std::uint8_t {
  Inert,  // nothing below it is looked at
  Top,
  Model,
  Stream,
  StreamOptions,
  IncludeUsage,
  Background,
  Content,  // messages, blocks, items, parts
  Source,   // of an image or a document
  SourceType,
  Url,    // only data: is no fetching
  Fetch,  // whatever it says, the provider goes out
  Tool,
  ToolType,
  ToolReach,  // "external_web_access"
  ToolPlace,  // where a shell runs
  ToolPlaceType,
  ToolConfig,  // Converse: what holds the tools
  NamedTool,   // Gemini, Converse: the key of the tool is its type
};

struct Next {
  Place place = Place::Inert;
  int key = -1;  // one number for all spellings of a key; -1 for one that is not known
};

/// The place to which a key of an object leads. Keys are compared as the laxest of readers would:
/// without case, without underscores.
Next follow(Dialect dialect, Place from, std::string_view key);

/// Types of tools that the agent itself runs, or that only order the others.
bool runsAtTheAgent(Dialect dialect, std::string_view tool_type);
/// Types of Anthropic's sources that hold their content, or name a file of the provider's.
bool holdsItsContent(std::string_view source_type);
/// Empty, or a data: URL.
bool needsNoFetching(std::string_view url);

}  // namespace warder::models
