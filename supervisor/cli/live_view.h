// The few lines at the foot of a terminal that say how a run stands, redrawn in place under the
// plain lines that scroll. Nothing here asks a terminal anything: it makes the bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/init/run_status.h"

namespace warder::cli {

struct Screen {
  int columns = 80;
  bool colour = false;
};

struct LiveState {
  std::optional<init::RunStatus> status;
  std::string last_line;  // of the agent's output, as it wrote it
};

/// Below this width there is no live view.
inline constexpr int kLeastColumns = 20;

/// What `fd` is and what the environment asks for: nullopt where plain lines are right (no
/// terminal, TERM unset or "dumb", too narrow). NO_COLOR (set and not empty) takes the colours
/// away. Sources: no-color.org, ioctl_tty(2) TIOCGWINSZ.
std::optional<Screen> screenOf(int fd);

/// The lines, each at most `columns - 1` wide, escaped. Empty before the first status.
std::vector<std::string> liveLines(const LiveState& state, const Screen& screen);

/// "[#####----|---]": used and the next mark, `width` columns with its ends.
std::string memoryBar(const init::RunStatus::Memory& memory, int width);

/// Columns that a text takes at most, escape sequences for colours left out: one for ASCII, two for
/// anything else, because terminals do not agree about it.
int columnsOf(std::string_view text);

/// The lines that stand at the foot of the terminal now.
class LiveView {
 public:
  /// Bytes that put `plain` (whole lines) above the view and draw the view anew.
  std::string redraw(const std::string& plain, const LiveState& state, const Screen& screen);
  /// Bytes that take the view away; the cursor is where it was before the first.
  std::string erase(const Screen& screen);

 private:
  std::vector<int> drawn_;  // columns of each line that stands there
};

}  // namespace warder::cli
