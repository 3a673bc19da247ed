#include "policies/explain.h"

namespace warder::policies {
namespace {

std::string joined(const std::vector<std::string>& words, const char* none) {
  if (words.empty()) return none;
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace

std::string describe(const Rule& rule) {
  const bool is_v6 = rule.host.find(':') != std::string::npos;
  const std::string host = is_v6 ? "[" + rule.host + "]" : rule.host;
  const std::string place = host + ":" + std::to_string(rule.port);
  if (rule.flow == Flow::Tunnel) return "TLS tunnel to " + place + ", not inspected";
  if (rule.flow == Flow::Tcp) return "any TCP to " + place + ", not inspected";
  const char* plain = rule.flow == Flow::Plain ? ", plain HTTP" : "";
  return joined(rule.methods, "any method") + " " + place + " " + joined(rule.paths, "any path") +
         plain;
}

std::vector<std::string> explain(const Policy& policy) {
  std::vector<std::string> lines;
  for (const Rule& rule : policy.deny) {
    lines.push_back("deny   " + describe(rule) + "  (" + rule.where + ")");
  }
  for (const Rule& rule : policy.allow) {
    lines.push_back("allow  " + describe(rule) + "  (" + rule.where + ")");
  }
  if (policy.allow.empty()) lines.push_back("nothing is allowed");
  for (const Rule& allowed : policy.allow) {
    for (const Rule& denied : policy.deny) {
      if (allowed.host != denied.host || allowed.port != denied.port) continue;
      lines.push_back("note   " + allowed.host + " stands in allow (" + allowed.where +
                      ") and in deny (" + denied.where + "); deny wins");
    }
  }
  return lines;
}

}  // namespace warder::policies
