// A file that was compiled into the binary (presets, shipped policies, provider data, the page).
#pragma once
#include <span>
#include <string_view>

namespace warder::base {

struct EmbeddedFile {
  std::string_view name;  // file name without folder, such as "claude-code.yaml"
  std::string_view text;
};

}  // namespace warder::base
