// explainQuestion: one host or request, asked of a policy.
#include <algorithm>
#include <optional>

#include "policies/explain.h"
#include "policies/host_pattern.h"
#include "supervisor/base/fault.h"

namespace warder::policies {
namespace {

struct Question {
  std::string host;
  std::uint16_t port = 443;
  std::optional<Request> request;
};

base::Error noQuestion(const std::string& why) {
  return {base::Kind::Config, why +
                                  "; ask about HOST, HOST:PORT or \"METHOD URL\", as "
                                  "\"POST https://api.example.org/v1\""};
}

std::optional<std::uint16_t> portOf(std::string_view digits) {
  const bool plain =
      !digits.empty() && digits.size() <= 5 &&
      std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  const unsigned long number = plain ? std::stoul(std::string(digits)) : 0;
  if (number < 1 || number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

/// "host", "host:port", "[v6]", "[v6]:port" or a bare IPv6 address.
base::Result<Question> readAuthority(std::string_view text, std::uint16_t default_port) {
  Question question;
  question.port = default_port;
  const std::size_t colon = text.rfind(':');
  const bool bare_v6 = text.find(':') != colon && !text.starts_with('[');
  const std::size_t bracket = text.rfind(']');
  const bool has_port = colon != std::string_view::npos && !bare_v6 &&
                        (bracket == std::string_view::npos || colon > bracket);
  if (has_port) {
    const auto port = portOf(text.substr(colon + 1));
    if (!port) {
      return noQuestion("port " + base::inQuotes(text.substr(colon + 1)) +
                        " is no number from 1 to 65535");
    }
    question.port = *port;
    text = text.substr(0, colon);
  }
  question.host = canonicalHost(text);
  if (!question.host.empty()) return question;
  const std::string fault = readHostPattern(text).fault;
  return noQuestion(fault.empty() ? "host " + base::inQuotes(text) + " is a pattern" : fault);
}

base::Result<Question> readRequest(std::string_view method, std::string_view url) {
  const bool tls = url.starts_with("https://");
  if (!tls && !url.starts_with("http://"))
    return noQuestion("URL " + base::inQuotes(url) + " begins with neither https:// nor http://");
  url.remove_prefix(tls ? 8 : 7);
  url = url.substr(0, url.find_first_of("?#"));
  const std::size_t slash = std::min(url.find('/'), url.size());
  auto question = readAuthority(url.substr(0, slash), tls ? 443 : 80);
  if (!question) return question;
  const std::string path = slash < url.size() ? std::string(url.substr(slash)) : "/";
  question->request = Request{question->host, question->port, std::string(method), path,
                              tls ? Carrier::Tls : Carrier::Plain};
  return question;
}

base::Result<Question> read(std::string_view text) {
  const std::size_t space = text.find(' ');
  if (space == std::string_view::npos) {
    return text.find("://") == std::string_view::npos ? readAuthority(text, 443)
                                                      : readRequest("GET", text);
  }
  return readRequest(text.substr(0, space), text.substr(space + 1));
}

void addMatching(const std::vector<Rule>& rules, const char* list, const Question& question,
                 std::vector<std::string>& lines) {
  for (const Rule& rule : rules) {
    if (rule.port != question.port || !matchesHost(rule.host, question.host)) continue;
    lines.push_back(std::string("rule        ") + list + describe(rule) + "  (" + rule.where + ")");
  }
}

std::string addressLine(const Policy& policy, const Question& question) {
  return namesHost(policy, question.host, question.port)
             ? "address     may be private, since a rule names the host"
             : "address     must be public, since no rule names the host exactly";
}

}  // namespace

base::Result<std::vector<std::string>> explainQuestion(const Policy& policy,
                                                       std::string_view text) {
  const auto question = read(text);
  if (!question) return question.error();
  const Access access = accessTo(policy, question->host, question->port);
  std::vector<std::string> lines = {"connection  " + access.reason};
  if (question->request) {
    lines.push_back("request     " + decide(policy, *question->request).reason);
  }
  addMatching(policy.deny, "deny   ", *question, lines);
  addMatching(policy.allow, "allow  ", *question, lines);
  if (!isAddress(question->host)) {
    lines.push_back(mayResolve(policy, question->host)
                        ? "name        is answered by the agent's name server"
                        : "name        is not answered: nothing flows to it on any port");
    if (access.any()) lines.push_back(addressLine(policy, *question));
  }
  return lines;
}

}  // namespace warder::policies
