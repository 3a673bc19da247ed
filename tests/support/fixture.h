// Sections of a fixture file: "=== title" and the text below it.
#pragma once
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace warder::support {

struct Fixture {
  std::string title;
  std::string text;
};

/// The sections of tests/unit/NAME.
inline std::vector<Fixture> fixturesOf(const std::string& name) {
  std::ifstream file(std::string(WARDER_SOURCE_DIR "/tests/unit/") + name);
  std::stringstream all;
  all << file.rdbuf();
  const std::string text = all.str();
  const std::string mark = "=== ";
  std::vector<Fixture> fixtures;
  for (std::size_t at = text.find(mark); at != std::string::npos;) {
    const std::size_t next = text.find(mark, at + mark.size());
    const std::string part = text.substr(at + mark.size(), next - at - mark.size());
    const std::size_t line = part.find('\n');
    fixtures.push_back({part.substr(0, line), part.substr(line + 1)});
    at = next;
  }
  return fixtures;
}

}  // namespace warder::support
