#include "supervisor/cli/status_view.h"

#include <array>
#include <cstdio>

#include "supervisor/base/log.h"

namespace warder::cli {

namespace {

constexpr std::size_t kNameWidth = 10;
constexpr double kReadableUsd = 1e9;

std::string withOneDigit(double number, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, "%.1f%s", number, unit);
  return text;
}

void add(std::string& text, const std::string& name, const std::string& value) {
  text += name + std::string(name.size() < kNameWidth ? kNameWidth - name.size() : 1, ' ') +
          base::escapeForTerminal(value) + "\n";
}

std::string memoryText(const init::RunStatus::Memory& memory) {
  std::string text = shortSize(memory.used_bytes);
  if (memory.limit_bytes == 0) return text + ", no limit is known";
  text += " of " + shortSize(memory.limit_bytes) + " (" + std::to_string(percentOf(memory)) + "%)";
  if (memory.next_mark_percent > 0)
    text += ", warns at " + std::to_string(memory.next_mark_percent) + "%";
  return text;
}

}  // namespace

std::string shortSize(std::uint64_t bytes) {
  constexpr std::array kUnits = {" KiB", " MiB", " GiB", " TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double number = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; number >= 1023.95 && unit + 1 < kUnits.size(); ++unit) number /= 1024;
  return withOneDigit(number, kUnits[unit]);
}

std::string shortCount(std::uint64_t count) {
  if (count < 1000) return std::to_string(count);
  if (count < 999'950) return withOneDigit(static_cast<double>(count) / 1000, "k");
  return withOneDigit(static_cast<double>(count) / 1'000'000, "M");
}

std::string shortTime(std::int64_t elapsed_ms) {
  const std::int64_t seconds = elapsed_ms / 1000;
  char text[48];
  if (seconds < 60)
    std::snprintf(text, sizeof text, "%.1fs", static_cast<double>(elapsed_ms / 100) / 10);
  else if (seconds < 3600)
    std::snprintf(text, sizeof text, "%dm%02ds", static_cast<int>(seconds / 60),
                  static_cast<int>(seconds % 60));
  else
    std::snprintf(text, sizeof text, "%lldh%02dm", static_cast<long long>(seconds / 3600),
                  static_cast<int>(seconds / 60 % 60));
  return text;
}

std::string money(double usd) {
  char text[48];
  // No run costs that much: a number that nobody can read says so in its form.
  const bool readable = usd > -kReadableUsd && usd < kReadableUsd;
  std::snprintf(text, sizeof text, readable ? "$%.4f" : "$%.3g", usd);
  return text;
}

int percentOf(const init::RunStatus::Memory& memory) {
  if (memory.limit_bytes == 0) return 0;
  return static_cast<int>(static_cast<double>(memory.used_bytes) * 100 /
                          static_cast<double>(memory.limit_bytes));
}

std::string statusText(const init::RunStatus& status) {
  std::string text;
  add(text, "run", status.run_id);
  add(text, "phase", status.phase + ", for " + shortTime(status.elapsed_ms));
  if (!status.agent.program.empty())
    add(text, "agent",
        status.agent.program + (status.agent.pid > 0
                                    ? " (pid " + std::to_string(status.agent.pid) + ")"
                                    : std::string(" (ended)")));
  if (status.memory.used_bytes > 0 || status.memory.limit_bytes > 0)
    add(text, "memory", memoryText(status.memory));
  const auto& llm = status.llm;
  add(text, "llm",
      std::to_string(llm.calls) + " calls, " + std::to_string(llm.errors) + " failed, " +
          std::to_string(llm.input_tokens) + " tokens in, " + std::to_string(llm.output_tokens) +
          " out, " + money(llm.cost_usd));
  add(text, "denied", std::to_string(status.denied));
  add(text, "warnings", std::to_string(status.warnings));
  if (status.outcome)
    add(text, "outcome",
        status.outcome->cls + " (" + status.outcome->reason + "): " + status.outcome->sentence);
  return text;
}

}  // namespace warder::cli
