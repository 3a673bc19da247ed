#include "supervisor/cli/live_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "supervisor/base/log.h"
#include "supervisor/cli/status_view.h"

namespace warder::cli {

namespace {

constexpr const char* kPlain = "";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kGreen = "\x1b[32m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kRed = "\x1b[31m";
constexpr const char* kReset = "\x1b[0m";
constexpr int kNearlyFull = 90;
constexpr int kWidestBar = 32;

int columnsOfByte(unsigned char byte) {
  if (byte < 0x80) return 1;
  return byte >= 0xc0 ? 2 : 0;  // a leading byte counts for its whole character
}

/// One line, put together of pieces and cut at the screen's edge between characters.
class Line {
 public:
  explicit Line(const Screen& screen) : screen_(screen), left_(screen.columns - 1) {}

  Line& add(const std::string& text, const char* style = kPlain) {
    const bool styled = screen_.colour && *style != '\0';
    if (styled) text_ += style;
    for (const char c : text) {
      const int width = columnsOfByte(static_cast<unsigned char>(c));
      if (width > left_) left_ = -1;  // a continuation of what did not fit is left out too
      if (left_ < 0 || (width == 0 && cut_)) {
        cut_ = true;
        continue;
      }
      left_ -= width;
      text_ += c;
    }
    if (styled) text_ += kReset;
    return *this;
  }

  int left() const { return left_; }
  const std::string& text() const { return text_; }

 private:
  const Screen& screen_;
  int left_;
  bool cut_ = false;
  std::string text_;
};

std::string headLine(const init::RunStatus& status, const Screen& screen) {
  Line line(screen);
  line.add(status.phase, kBold).add(" " + shortTime(status.elapsed_ms));
  if (!status.agent.program.empty()) {
    const std::string& path = status.agent.program;
    line.add("  " + base::escapeForTerminal(path.substr(path.rfind('/') + 1)));
    if (status.agent.pid > 0) line.add(" (pid " + std::to_string(status.agent.pid) + ")");
  }
  const auto& llm = status.llm;
  line.add("  llm " + std::to_string(llm.calls) + " calls");
  if (llm.errors > 0) line.add(", ").add(std::to_string(llm.errors) + " failed", kYellow);
  line.add(", " + shortCount(llm.input_tokens) + " in, " + shortCount(llm.output_tokens) +
           " out, " + money(llm.cost_usd));
  line.add("  denied " + std::to_string(status.denied), status.denied > 0 ? kYellow : kPlain);
  if (status.warnings > 0) line.add("  warnings " + std::to_string(status.warnings), kYellow);
  return line.text();
}

std::string memoryLine(const init::RunStatus::Memory& memory, const Screen& screen) {
  Line line(screen);
  if (memory.limit_bytes == 0) return line.add("memory " + shortSize(memory.used_bytes)).text();
  const int percent = percentOf(memory);
  std::string words = " " + shortSize(memory.used_bytes) + " of " + shortSize(memory.limit_bytes) +
                      " (" + std::to_string(percent) + "%)";
  if (memory.next_mark_percent > 0)
    words += ", warns at " + std::to_string(memory.next_mark_percent) + "%";
  const bool passed = memory.next_mark_percent == 0 || percent >= kNearlyFull;
  const char* style = passed ? kRed : percent * 4 > memory.next_mark_percent * 3 ? kYellow : kGreen;
  line.add("memory ");
  const int width = std::min(kWidestBar, line.left() - columnsOf(words));
  if (width >= 6) line.add(memoryBar(memory, width), style);
  return line.add(words).text();
}

}  // namespace

std::optional<Screen> screenOf(int fd) {
  const char* terminal = std::getenv("TERM");
  if (terminal == nullptr || *terminal == '\0' || std::string_view(terminal) == "dumb")
    return std::nullopt;
  winsize size{};
  if (::isatty(fd) != 1 || ::ioctl(fd, TIOCGWINSZ, &size) != 0) return std::nullopt;
  const char* no_colour = std::getenv("NO_COLOR");
  Screen screen;
  if (size.ws_col > 0) screen.columns = size.ws_col;  // 0: the terminal does not know
  screen.colour = no_colour == nullptr || *no_colour == '\0';
  if (screen.columns < kLeastColumns) return std::nullopt;
  return screen;
}

std::string memoryBar(const init::RunStatus::Memory& memory, int width) {
  const int cells = width - 2;
  if (cells < 1) return "";
  const auto cellOf = [&](int percent) { return std::clamp(percent * cells / 100, 0, cells); };
  std::string bar(static_cast<std::size_t>(cells), '-');
  const auto used = static_cast<std::size_t>(cellOf(percentOf(memory)));
  std::fill(bar.begin(), bar.begin() + static_cast<std::ptrdiff_t>(used), '#');
  const int mark = memory.next_mark_percent;
  if (mark > 0) bar[static_cast<std::size_t>(std::min(cellOf(mark), cells - 1))] = '|';
  return "[" + bar + "]";
}

int columnsOf(std::string_view text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      while (at < text.size() && text[at] != 'm') ++at;
      continue;
    }
    columns += columnsOfByte(static_cast<unsigned char>(text[at]));
  }
  return columns;
}

std::vector<std::string> liveLines(const LiveState& state, const Screen& screen) {
  if (!state.status) return {};
  std::vector<std::string> lines = {headLine(*state.status, screen)};
  const auto& memory = state.status->memory;
  if (memory.used_bytes > 0 || memory.limit_bytes > 0) lines.push_back(memoryLine(memory, screen));
  if (!state.last_line.empty())
    lines.push_back(Line(screen).add("> " + base::escapeForTerminal(state.last_line)).text());
  return lines;
}

std::string LiveView::erase(const Screen& screen) {
  if (drawn_.empty()) return "";
  // A terminal that became narrower has wrapped the lines that stand there.
  int rows = 0;
  for (const int columns : drawn_)
    rows += std::max(1, (columns + screen.columns - 1) / screen.columns);
  drawn_.clear();
  std::string bytes = "\r";
  for (int row = 1; row < rows; ++row) bytes += "\x1b[A";
  return bytes + "\x1b[J";
}

std::string LiveView::redraw(const std::string& plain, const LiveState& state,
                             const Screen& screen) {
  std::string bytes = erase(screen) + plain;
  const auto lines = liveLines(state, screen);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    bytes += (i == 0 ? "" : "\n") + lines[i];
    drawn_.push_back(columnsOf(lines[i]));
  }
  return bytes;
}

}  // namespace warder::cli
