#include "supervisor/boot/name_files.h"

#include <algorithm>
#include <sstream>

namespace warder::boot {

namespace {

/// The words of each line, comments left out.
std::vector<std::vector<std::string>> wordsOfLines(std::string_view text,
                                                   std::string_view comment) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find_first_of(comment)));
    auto& found = lines.emplace_back();
    for (std::string word; words >> word;) found.push_back(word);
  }
  return lines;
}

}  // namespace

std::string hostsWith(std::string_view existing, std::string_view host) {
  bool v4 = false, v6 = false, own = false;
  for (const auto& words : wordsOfLines(existing, "#")) {
    if (words.empty()) continue;
    const auto names = [&words](std::string_view name) {
      return std::find(words.begin() + 1, words.end(), name) != words.end();
    };
    v4 = v4 || (words[0] == "127.0.0.1" && names("localhost"));
    v6 = v6 || (words[0] == "::1" && names("localhost"));
    own = own || names(host);
  }
  std::string text(existing);
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (!v4) text += "127.0.0.1 localhost\n";
  if (!v6) text += "::1 localhost ip6-localhost ip6-loopback\n";
  if (!own) text += "127.0.1.1 " + std::string(host) + "\n";
  return text;
}

std::string resolvConf(const std::vector<std::string>& servers) {
  std::string text;
  for (const auto& server : servers) text += "nameserver " + server + "\n";
  return text;
}

std::size_t countNameServers(std::string_view text) {
  std::size_t count = 0;
  for (const auto& words : wordsOfLines(text, "#;"))
    if (words.size() >= 2 && words[0] == "nameserver") ++count;
  return count;
}

}  // namespace warder::boot
