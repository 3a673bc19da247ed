#include "supervisor/base/log.h"

#include <fcntl.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cstdio>

#include "supervisor/base/fd.h"
#include "supervisor/base/utf8.h"

namespace warder::base {

namespace {

/// Writes whole lines to a description of its own, so that O_NONBLOCK does not reach the agent's
/// standard error, which may share the pipe. Where /proc cannot reopen it (a socket), the shared
/// one is used as it is.
class StderrSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  StderrSink() {
    if (auto own = openFile("/proc/self/fd/2", O_WRONLY | O_APPEND | O_NONBLOCK))
      own_ = std::move(*own);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    if (lost_ > 0) {
      const std::string note = "warder: " + std::to_string(lost_) + " log lines were lost\n";
      if (::write(fd(), note.data(), note.size()) > 0) lost_ = 0;
    }
    if (::write(fd(), line.data(), line.size()) < 0) ++lost_;
  }
  void flush_() override {}

 private:
  int fd() const { return own_ ? own_.get() : STDERR_FILENO; }
  UniqueFd own_;
  std::size_t lost_ = 0;
};

spdlog::logger& logger() {
  static auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("warder", std::make_shared<StderrSink>());
    made->set_pattern("warder[%n] %l: %v");
    return made;
  }();
  return *instance;
}

std::shared_ptr<spdlog::logger>& named() {
  static std::shared_ptr<spdlog::logger> instance;
  return instance;
}

spdlog::level::level_enum levelOf(Level level) {
  switch (level) {
    case Level::Debug:
      return spdlog::level::debug;
    case Level::Info:
      return spdlog::level::info;
    case Level::Warn:
      return spdlog::level::warn;
    case Level::Error:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void setUpLog(std::string_view stage, Level least) {
  named() = logger().clone(std::string(stage));
  named()->set_level(levelOf(least));
}

void log(Level level, std::string_view message) {
  auto& out = named() ? *named() : logger();
  const std::string safe = escapeForTerminal(message);
  out.log(levelOf(level), spdlog::string_view_t(safe.data(), safe.size()));
}

/// Marks and separators that change the direction or the line of what follows without being seen:
/// U+061C, U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069. Source: Unicode UAX #9.
static bool reordersText(std::string_view sequence) {
  if (sequence == "\xd8\x9c") return true;
  if (sequence.size() != 3 || sequence[0] != '\xe2') return false;
  const auto middle = static_cast<unsigned char>(sequence[1]);
  const auto last = static_cast<unsigned char>(sequence[2]);
  if (middle == 0x80) return last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae);
  return middle == 0x81 && last >= 0xa6 && last <= 0xa9;
}

std::string escapeForTerminal(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  const auto escape = [&safe](unsigned char byte) {
    char hex[8];
    std::snprintf(hex, sizeof hex, "\\x%02x", byte);
    safe += hex;
  };
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    if (reordersText(text.substr(0, length))) {
      for (const char byte : text.substr(0, length)) escape(static_cast<unsigned char>(byte));
      text.remove_prefix(length);
      continue;
    }
    const auto first = static_cast<unsigned char>(text[0]);
    const bool control =
        (length == 1 && (first < 0x20 || first == 0x7f) && first != '\t') ||
        (length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0);
    if (length == 0 || control) {
      for (std::size_t i = 0; i < std::max<std::size_t>(length, 1); ++i)
        escape(static_cast<unsigned char>(text[i]));
    } else {
      safe.append(text.substr(0, length));
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return safe;
}

}  // namespace warder::base
