#include "supervisor/init/start_watch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "supervisor/base/fd.h"
#include "supervisor/journal/clean_text.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::init {

using std::chrono::milliseconds;
namespace json = base::json;

namespace {

constexpr std::size_t kMaxStat = 4096;
constexpr off_t kTail = 4096;  // where the last line is looked for

std::string outputPath(const std::string& run_dir, const char* stream) {
  return run_dir + "/" + journal::kOutputFolder + "/" + stream;
}

/// utime, stime, cutime and cstime of a process. Source: proc(5), /proc/PID/stat, fields 14 to 17;
/// the name in field 2 may hold anything, so counting begins behind its last ')'.
milliseconds cpuOf(pid_t pid) {
  auto text = base::readFile("/proc/" + std::to_string(pid) + "/stat", kMaxStat);
  const auto end = text ? text->rfind(')') : std::string::npos;
  if (end == std::string::npos) return milliseconds(0);
  std::istringstream fields(text->substr(end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  long long ticks = 0, sum = 0;
  for (int field = 14; field <= 17 && fields >> ticks; ++field) sum += ticks;
  const long second = ::sysconf(_SC_CLK_TCK);
  return milliseconds(sum * 1000 / (second > 0 ? second : 100));
}

std::string lastLineOf(std::string text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return {};
  text.resize(end + 1);
  const std::size_t begin = text.rfind('\n');
  return begin == std::string::npos ? text : text.substr(begin + 1);
}

}  // namespace

bool StallClock::step(Time now, const AgentSigns& signs) {
  const auto used = signs.cpu - then_.cpu;
  const bool sign = !begun_ || signs.output_bytes != then_.output_bytes ||
                    signs.processes != then_.processes || used > kIdleCpu || used < -kIdleCpu;
  if (sign) {
    begun_ = true;
    last_sign_ = now;
    then_ = signs;
  }
  if (told_ || now - last_sign_ < patience_) return false;
  told_ = true;
  return true;
}

StartWatch::StartWatch(boost::asio::io_context& context, Eyes eyes, milliseconds patience)
    : timer_(context), eyes_(std::move(eyes)), patience_(patience), clock_(patience) {}

void StartWatch::start() {
  look();
}

void StartWatch::stop() {
  timer_.cancel();
}

void StartWatch::look() {
  if (clock_.step(std::chrono::steady_clock::now(), eyes_.signs())) {
    const std::string line = eyes_.last_line();
    std::string sentence = "the agent has done nothing for " +
                           std::to_string(patience_.count() / 1000) +
                           " s since its start: no output, no call to its provider, no work; it "
                           "may wait for an answer that nobody gives";
    base::Event event;
    event.type = "agent.waiting_for_input";
    event.data = {{"after_ms", patience_.count()}, {"last_line", line}};
    event.data["sentence"] = sentence + (line.empty() ? "" : " (its last line: " + line + ")");
    return eyes_.emit(std::move(event));
  }
  timer_.expires_after(patience_ / 12);
  timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) look();
  });
}

AgentSigns signsOf(const std::string& run_dir, const std::vector<pid_t>& processes) {
  AgentSigns signs;
  for (const char* stream : {"stdout", "stderr"}) {
    struct stat facts {};
    if (::stat(outputPath(run_dir, stream).c_str(), &facts) == 0)
      signs.output_bytes += static_cast<std::uint64_t>(facts.st_size);
  }
  for (const pid_t pid : processes) signs.cpu += cpuOf(pid);
  signs.processes = processes.size();
  return signs;
}

std::string lastOutputLine(const std::string& run_dir) {
  std::string line;
  timespec newest{};
  for (const char* stream : {"stdout", "stderr"}) {
    auto file = base::openFile(outputPath(run_dir, stream), O_RDONLY | O_NONBLOCK | O_NOFOLLOW);
    struct stat facts {};
    if (!file || ::fstat(file->get(), &facts) != 0 || facts.st_size == 0) continue;
    std::string tail(static_cast<std::size_t>(std::min(kTail, facts.st_size)), '\0');
    const ssize_t count = ::pread(file->get(), tail.data(), tail.size(),
                                  facts.st_size - static_cast<off_t>(tail.size()));
    tail.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    const bool newer =
        facts.st_mtim.tv_sec > newest.tv_sec ||
        (facts.st_mtim.tv_sec == newest.tv_sec && facts.st_mtim.tv_nsec >= newest.tv_nsec);
    const std::string last = lastLineOf(std::move(tail));
    if (!newer || last.empty()) continue;
    newest = facts.st_mtim;
    line = last;
  }
  json::value clean(line);
  journal::makeValidUtf8(clean);
  return std::string(journal::cutUtf8(clean.as_string(), kMaxStallLine));
}

}  // namespace warder::init
