#include "supervisor/cli/run_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/base/log.h"
#include "supervisor/base/units.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::cli {

using base::Event;
namespace json = base::json;

namespace {

// Of a line of the agent's that is longer, the beginning is shown.
constexpr std::size_t kMaxShownLine = 400;
// Bytes that may wait for a reader; no more of the agent's output is read meanwhile.
constexpr int kLastBursts = 16;  // of a mebibyte: what is shown of a flood after its end
constexpr std::size_t kMostWaiting = 256 * 1024;

std::string text(const json::object& data, std::string_view key) {
  const auto* value = data.if_contains(key);
  if (value == nullptr || value->is_null()) return "";
  return value->is_string() ? std::string(value->as_string()) : json::serialize(*value);
}

std::string size(const json::object& data, std::string_view key) {
  const auto* value = data.if_contains(key);
  if (value == nullptr || !value->is_number()) return "?";
  return base::printSize(value->to_number<std::uint64_t>());
}

std::string describeCall(const json::object& data) {
  std::string line = "llm call " + text(data, "model") + ": " + text(data, "status") + ", " +
                     text(data, "input_tokens") + " tokens in, " + text(data, "output_tokens") +
                     " out";
  const auto* cost = data.if_contains("cost_usd");
  const auto* priced = data.if_contains("priced");
  if (priced != nullptr && priced->is_bool() && priced->get_bool() && cost != nullptr) {
    char money[32];
    std::snprintf(money, sizeof money, ", $%.4f", cost->to_number<double>());
    line += money;
  }
  return line;
}

/// Of a request, of a connection (without method and path), or of a name that was asked for.
std::string describeDenial(const json::object& data) {
  if (data.contains("name"))
    return "denied: " + text(data, "type") + " " + text(data, "name") + " (" +
           text(data, "sentence") + ")";
  return "denied: " + text(data, "method") + " " + text(data, "host") + text(data, "path") + " (" +
         text(data, "reason") + ")";
}

std::string describeDoors(const json::object& data) {
  std::string line = "the box is ready (network: " + text(data, "mechanism") + ")";
  if (const auto* doors = data.if_contains("doors"))
    for (const auto& door : doors->as_array())
      line += ", " + text(door.as_object(), "grant") + " at " + text(door.as_object(), "url");
  return line;
}

}  // namespace

std::string describe(const Event& event) {
  const auto& data = event.data;
  if (event.type == "run.started") return "run " + text(data, "run_id") + " started";
  if (event.type == "box.ready") return describeDoors(data);
  if (event.type == "agent.started") return "the agent runs (pid " + text(data, "pid") + ")";
  if (event.type == "llm.call") return describeCall(data);
  if (event.type == "broker.denied" || event.type == "dns.denied") return describeDenial(data);
  if (event.type == "broker.upstream_failed" || event.type == "broker.bad_request" ||
      event.type == "preflight.warning" || event.type == "disk.full" ||
      event.type == "delivery.down" || event.type == "delivery.up" || event.type == "spool.trouble")
    return event.type + ": " + text(data, "sentence");
  const auto* changed = data.if_contains("changed");
  if (event.type == "agent.waiting_for_input" ||
      (event.type == "agent.program" && changed != nullptr && *changed == true))
    return event.type + ": " + text(data, "sentence");
  // Why is the outcome's to say, which follows: once is enough.
  if (event.type == "setup.failed")
    return "the run cannot start: " + text(data, "step") + " failed";
  if (event.type == "memory.warning")
    return "memory passed " + text(data, "mark_percent") + "%: " + size(data, "used_bytes") +
           " of " + size(data, "limit_bytes");
  if (event.type == "memory.oom")
    return "the kernel killed " + text(data, "kills") + " process(es) for memory";
  if (event.type == "limit.reached") return "limit reached: " + text(data, "limit");
  if (event.type == "stop.requested") return "stopping the agent (" + text(data, "by") + ")";
  if (event.type == "agent.exited")
    return "the agent ended (" +
           (data.contains("signal") ? text(data, "signal") : "exit code " + text(data, "code")) +
           ")";
  if (event.type == "agent.leftovers")
    return "it left processes running: " + text(data, "terminated") + " asked to end, " +
           text(data, "killed") + " killed";
  if (event.type == "artifact.stored")
    return "collected " + text(data, "path") + " (" + size(data, "bytes") + ")";
  if (event.type == "artifact.skipped")
    return "not collected: " + text(data, "path") + " (" + text(data, "reason") + ")";
  if (event.type == "patch.stored") return "collected the patch (" + size(data, "bytes") + ")";
  if (event.type == "patch.skipped") return "no patch: " + text(data, "reason");
  if (event.type == "stage.lost") return "lost the " + text(data, "stage");
  return "";
}

RunView::RunView(std::string run_dir, bool quiet)
    : run_dir_(std::move(run_dir)), quiet_(quiet), writer_(STDERR_FILENO) {
  streams_[0].name = "stdout";
  streams_[1].name = "stderr";
}

RunView::~RunView() {
  may_live_ = false;
  refresh();
}

void RunView::show(const Event& event) {
  const std::string words = describe(event);
  if (!words.empty()) line(words);
  refresh();
}

void RunView::showStatus(const json::object& status) {
  auto read = init::runStatusFromJson(status);
  if (!read) return;
  state_.status = std::move(*read);
  status_changed_ = true;
  refresh();
}

void RunView::line(const std::string& words) {
  if (quiet_) return;
  const auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - started_);
  char time[32];
  std::snprintf(time, sizeof time, "%7.1fs  ", static_cast<double>(elapsed.count()) / 1000.0);
  lines_ += time + base::escapeForTerminal(words) + "\n";
}

/// Hands lines and view to the writer. While its reader has not taken the last ones, the view
/// waits: an old one is worth nothing, and lines come first.
void RunView::refresh() {
  if (quiet_) return;
  const auto screen = may_live_ ? screenOf(writer_.fd()) : std::nullopt;
  const bool draws = screen && writer_.idle() && (status_changed_ || !lines_.empty());
  if (draws) {
    writer_.add(live_.redraw(lines_, state_, *screen));
    status_changed_ = false;
    lines_.clear();
  } else if (!lines_.empty() || !may_live_) {
    writer_.add(live_.erase(screenOf(writer_.fd()).value_or(Screen())) + lines_);
    lines_.clear();
  }
  writer_.flush();
}

void RunView::showOutput() {
  writer_.flush();
  // What its reader has not taken lies in the run's files; there is time.
  if (!quiet_ && writer_.waiting() < kMostWaiting)
    for (auto& stream : streams_) readStream(stream);
  refresh();
}

bool RunView::finish(int interrupt) {
  may_live_ = false;
  if (quiet_) return true;
  bool more = true;
  for (int bursts = 0; more && bursts < kLastBursts && !writer_.closed(); ++bursts) {
    more = false;
    for (auto& stream : streams_) more = readStream(stream) || more;
    refresh();
    writer_.drain(interrupt);
    if (!writer_.idle()) return false;
  }
  if (more) line("agent | … (there is more of it; the results or the spool have all)");
  for (auto& stream : streams_) showEnd(stream);
  refresh();
  writer_.drain(interrupt);
  return writer_.idle();
}

/// Bounded, so that a flood of output cannot keep the run from its other duties; true when there
/// may be more.
bool RunView::readStream(Stream& stream) {
  if (!stream.file) {
    auto opened = base::openFile(run_dir_ + "/" + journal::kOutputFolder + "/" + stream.name,
                                 O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    if (!opened) return false;  // the agent has not started yet
    struct stat facts {};
    if (::fstat(opened->get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    stream.file = std::move(*opened);
  }
  char buffer[16384];
  for (int burst = 0; burst < 64; ++burst) {
    const ssize_t count = ::read(stream.file.get(), buffer, sizeof buffer);
    if (count <= 0) return false;
    std::string_view piece(buffer, static_cast<std::size_t>(count));
    for (std::size_t end; (end = piece.find('\n')) != piece.npos; piece.remove_prefix(end + 1)) {
      add(stream, piece.substr(0, end));
      showOutputLine(stream);
    }
    add(stream, piece);
  }
  return true;
}

void RunView::showEnd(Stream& stream) {
  if (stream.length > 0) showOutputLine(stream);
}

void RunView::showOutputLine(Stream& stream) {
  const std::string shown = shorten(stream.pending, stream.length);
  line("agent | " + shown);
  if (shown.find_first_not_of(" \t\r") != std::string::npos) state_.last_line = shown;
  stream.pending.clear();
  stream.length = 0;
}

void RunView::add(Stream& stream, std::string_view piece) {
  stream.length += piece.size();
  stream.pending += piece.substr(0, kMaxShownLine - std::min(kMaxShownLine, stream.pending.size()));
}

std::string shorten(const std::string& start, std::size_t length) {
  if (length <= start.size()) return start;
  return start + "… (" + std::to_string(length) + " bytes; the results have all of it)";
}

}  // namespace warder::cli
