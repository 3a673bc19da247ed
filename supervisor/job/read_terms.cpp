// What a secret is lent for, as the job says it: models, money, requests, time.
#include <algorithm>

#include "supervisor/base/units.h"
#include "supervisor/base/yaml_scalar.h"
#include "supervisor/job/fields.h"
#include "supervisor/job/sections.h"

namespace warder::job {
namespace {

using base::inQuotes;
using base::YamlFields;
using base::YamlNode;

constexpr std::size_t kMostMarks = 10;
constexpr std::size_t kMostModels = 64;
constexpr std::size_t kLongestModel = 200;
constexpr std::size_t kMostAllowed = 32;       // entries of `allow`
constexpr std::size_t kMostAllowedPaths = 64;  // of one of them, and methods
constexpr std::size_t kLongestPath = 1024;
constexpr std::size_t kLongestMethod = 32;
constexpr std::uint64_t kMostRequests = 1'000'000'000;
constexpr std::uint64_t kMostAtATime = 10'000;
constexpr std::chrono::milliseconds kLeastRefresh{10'000};

bool isPrintable(const std::string& text, std::size_t longest) {
  return !text.empty() && text.size() <= longest &&
         std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

void readModels(YamlFields& fields, TermsSpec& terms, Draft& draft) {
  const YamlNode* node = fields.find("models");
  auto models = fields.texts("models");
  if (!models) return;
  if (models->empty() || models->size() > kMostModels)
    draft.faults.add(*node, fields.name("models") + " takes 1 to 64 names of models");
  for (const std::string& model : *models) {
    if (isPrintable(model, kLongestModel)) continue;
    draft.faults.add(*node, fields.name("models") + ": " + inQuotes(model) +
                                " is no name of a model; write 1 to 200 printable characters, * "
                                "for any of them");
  }
  terms.models = std::move(*models);
}

template <class Value, class Parse>
std::optional<Value> readNumber(YamlFields& fields, const std::string& key, Draft& draft,
                                Parse parse) {
  const YamlNode* node = fields.find(key);
  const auto word =
      node == nullptr ? std::nullopt : base::yamlWord(*node, fields.name(key), draft.faults);
  if (!word) return std::nullopt;
  const auto value = parse(*word, node->quoted);
  if (value) return *value;
  draft.faults.add(*node, fields.name(key) + ": " + value.error().sentence());
  return std::nullopt;
}

base::Error inQuotesError(const std::string& word) {
  return {base::Kind::Config, "a plain number stands without quotes: " + word};
}

void readBudget(const YamlNode& node, const std::string& path, BudgetSpec& budget, Draft& draft) {
  YamlFields fields(node, path, draft.faults);
  const std::size_t faults = draft.faults.list().size();
  budget.usd = readNumber<double>(fields, "usd", draft,
                                  [](const std::string& word, bool quoted) -> base::Result<double> {
                                    if (quoted) return inQuotesError(word);
                                    return base::parseDollars(word);
                                  });
  budget.tokens = readNumber<std::uint64_t>(
      fields, "tokens", draft,
      [](const std::string& word, bool quoted) -> base::Result<std::uint64_t> {
        if (quoted && base::isPlainDecimal(word)) return inQuotesError(word);
        const auto count = base::parseCount(word);
        if (count && *count == 0)
          return base::Error{base::Kind::Config, "0 would let no call through"};
        return count;
      });
  budget.requests = fields.integer("requests", {1, kMostRequests});
  const YamlNode* marks = fields.find("warn_at");
  if (marks != nullptr)
    if (auto read = readMarks(*marks, path + ".warn_at", draft.faults))
      budget.warn_at_percent = std::move(*read);
  fields.finish();
  if (draft.faults.list().size() == faults && !budget.usd && !budget.tokens && !budget.requests)
    draft.faults.add(node, path + " names no limit; write usd, tokens or requests");
}

void readExpiry(YamlFields& fields, TermsSpec& terms, Draft& draft) {
  const YamlNode* node = fields.find("expires");
  const std::string name = fields.name("expires");
  const auto word = node == nullptr ? std::nullopt : base::yamlWord(*node, name, draft.faults);
  if (!word) return;
  draft.note(name, node);
  if (const auto after = base::parseDuration(*word)) {
    terms.expires_after = *after;
    if (after->count() == 0) draft.faults.add(*node, name + " is 0; leave it out for no limit");
  } else if (const auto at = base::parseTime(*word)) {
    terms.expires_at = *at;
  } else {
    draft.faults.add(*node, name + ": " + inQuotes(*word) +
                                " is neither a duration after the agent's start, such as 6h, nor "
                                "a point in time, such as 2026-12-24T18:00:00Z");
  }
}

bool isMethod(const std::string& text) {
  return !text.empty() && text.size() <= kLongestMethod &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
}

void readAllowed(const YamlNode& node, const std::string& path, TermsSpec& terms, Draft& draft) {
  YamlFields fields(node, path, draft.faults);
  AllowSpec allow;
  allow.methods = fields.texts("methods").value_or(std::vector<std::string>{});
  const YamlNode* paths = fields.need("paths");
  allow.paths = fields.texts("paths").value_or(std::vector<std::string>{});
  for (const std::string& method : allow.methods)
    if (!isMethod(method))
      draft.faults.add(*fields.find("methods"),
                       path + ".methods: " + inQuotes(method) + " is no method, such as GET");
  for (const std::string& one : allow.paths)
    if (!isPrintable(one, kLongestPath) || one.front() != '/')
      draft.faults.add(*paths, path + ".paths: " + inQuotes(one) +
                                   " is no path; write one that begins with /, such as /v1/*");
  const std::size_t most = std::max(allow.methods.size(), allow.paths.size());
  if (paths != nullptr && (most > kMostAllowedPaths || paths->items.empty()))
    draft.faults.add(node, path + " takes 1 to 64 paths and at most 64 methods");
  fields.finish();
  terms.allow.push_back(std::move(allow));
}

void readAllow(YamlFields& fields, TermsSpec& terms, Draft& draft) {
  const YamlNode* node = fields.find("allow");
  if (node == nullptr) return;
  const std::string name = fields.name("allow");
  draft.note(name, node);
  if (node->kind != YamlNode::Kind::Sequence || node->items.empty() ||
      node->items.size() > kMostAllowed) {
    draft.faults.add(*node,
                     name + " takes a list of 1 to 32 entries {methods: [GET], paths: [/…]}");
    return;
  }
  for (std::size_t i = 0; i < node->items.size(); ++i)
    readAllowed(*node->items[i], name + "[" + std::to_string(i) + "]", terms, draft);
}

void readRefresh(YamlFields& fields, SecretSpec& secret, Draft& draft) {
  secret.refresh = fields.duration("refresh");
  if (!secret.refresh) return;
  const YamlNode& node = *fields.find("refresh");
  const std::string name = fields.name("refresh");
  if (*secret.refresh < kLeastRefresh) draft.faults.add(node, name + " must be at least 10s");
  if (!std::holds_alternative<ExecSource>(secret.from) &&
      !std::holds_alternative<VaultSource>(secret.from))
    draft.faults.add(node, name +
                               " is for exec and vault; a file is read again when it changes, and "
                               "fd and env are read once");
}

}  // namespace

std::optional<std::vector<int>> readMarks(const YamlNode& node, const std::string& path,
                                          base::YamlFaults& faults) {
  if (node.kind != YamlNode::Kind::Sequence || node.items.empty() ||
      node.items.size() > kMostMarks) {
    faults.add(node, path + " takes a list of 1 to 10 marks, such as [70%, 90%]");
    return std::nullopt;
  }
  std::vector<int> marks;
  for (const base::YamlPointer& item : node.items) {
    const auto word = base::yamlWord(*item, path, faults);
    if (!word) continue;
    const auto mark = base::parsePercent(*word);
    if (!mark) {
      faults.add(*item, path + ": " + mark.error().sentence());
    } else if (!marks.empty() && *mark <= marks.back()) {
      faults.add(*item, path + " must rise, such as [70%, 80%, 90%]");
    } else {
      marks.push_back(*mark);
    }
  }
  return marks;
}

void readTerms(YamlFields& fields, SecretSpec& secret, Draft& draft) {
  TermsSpec& terms = secret.terms;
  readModels(fields, terms, draft);
  if (const YamlNode* budget = fields.find("budget"))
    readBudget(*budget, fields.name("budget"), terms.budget, draft);
  terms.concurrency = fields.integer("concurrency", {1, kMostAtATime});
  readExpiry(fields, terms, draft);
  terms.provider_fetch = fields.boolean("provider_fetch").value_or(false);
  readAllow(fields, terms, draft);
  readRefresh(fields, secret, draft);
}

}  // namespace warder::job
