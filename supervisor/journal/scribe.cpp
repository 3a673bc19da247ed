// The scribe: one loop over the control socket, the agent's output pipes and the harvest stream.
// It may block on the disk; that is why it is a process of its own.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "supervisor/base/log.h"
#include "supervisor/base/wire.h"
#include "supervisor/journal/harvest_store.h"
#include "supervisor/journal/output_log.h"
#include "supervisor/journal/run_files.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/journal/writer.h"

namespace warder::journal {

using base::Error;
using base::Event;
using base::Result;
using base::Status;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kCommitWithin = std::chrono::milliseconds(100);
constexpr std::size_t kCommitBytes = 256 * 1024;
constexpr std::size_t kMaxHeld = 512 * 1024;  // bytes of events; half of what the writer reserves
constexpr std::size_t kTurn = 1 << 20;        // bytes of one pipe before the others have their turn
constexpr std::size_t kLastHarvest = 64 << 20;  // taken from a stream that nobody waits for

class Scribe {
 public:
  Scribe(std::string run_dir, Writer writer)
      : run_dir_(std::move(run_dir)), writer_(std::move(writer)) {}
  int run();

 private:
  struct Harvest {
    base::UniqueFd stream;
    HarvestStore store;
  };
  struct Pending {
    std::int64_t token;
    std::uint64_t seq;
  };

  /// An event of init's that the disk did not take yet.
  struct Held {
    Event event;
    std::optional<std::int64_t> token;
  };

  int waitTime() const;
  void serveControl();
  void serve(base::Message message);
  void append(const json::object& message);
  Result<bool> store(const Held& told);
  void hold(Held told, std::size_t bytes);
  void storeHeld();
  void author(Event event);
  void openOutput(std::string stream, std::vector<base::UniqueFd> fds);
  void closeOutput(std::size_t index);
  void openHarvest(std::uint64_t max_size, std::vector<base::UniqueFd> fds);
  bool drainHarvest(std::size_t limit);
  void closeHarvest();
  void storeFile(const char* name, const json::object& content);
  void commit();
  void finish();
  void say(const json::object& body);
  void trouble(const Error& error, std::optional<std::int64_t> token = {});

  std::string run_dir_;
  Writer writer_;
  std::vector<OutputLog> outputs_;
  std::optional<Harvest> harvest_;
  std::vector<Pending> pending_;
  std::deque<Held> held_;
  std::size_t held_bytes_ = 0;
  bool over_ = false;  // too much had to be held: the journal takes nothing more
  std::optional<Clock::time_point> oldest_;  // of what is not yet synced
  bool init_lives_ = true;
};

int Scribe::waitTime() const {
  if (!oldest_) return held_.empty() ? -1 : static_cast<int>(kCommitWithin.count());
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*oldest_ + kCommitWithin - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

int Scribe::run() {
  while (init_lives_) {
    std::vector<pollfd> fds{{base::kControlFd, POLLIN, 0}};
    for (const auto& output : outputs_) fds.push_back({output.pipe(), POLLIN, 0});
    if (harvest_) fds.push_back({harvest_->stream.get(), POLLIN, 0});
    if (::poll(fds.data(), fds.size(), waitTime()) < 0 && errno != EINTR) break;
    const std::size_t outputs = outputs_.size();
    for (std::size_t i = outputs; i > 0; --i) {
      if (fds[i].revents == 0) continue;
      const auto state = outputs_[i - 1].drain(kTurn);
      if (auto failure = outputs_[i - 1].takeFailure()) trouble(*failure);
      if (state == OutputLog::State::Ended) closeOutput(i - 1);
    }
    if (harvest_ && fds.back().revents != 0 && drainHarvest(kTurn)) closeHarvest();
    if (fds[0].revents != 0) serveControl();
    storeHeld();
    if (writer_.unsyncedBytes() > 0 && !oldest_) oldest_ = Clock::now();
    if (writer_.unsyncedBytes() >= kCommitBytes || (oldest_ && waitTime() == 0)) commit();
  }
  finish();  // init is gone: keep what can still be read
  return 0;
}

void Scribe::serveControl() {
  auto message = base::receiveMessage(base::kControlFd);
  if (!message && message.error().kind == base::Kind::Peer) {
    trouble(message.error());
  } else if (!message || !*message) {
    init_lives_ = false;
  } else {
    try {
      serve(std::move(**message));
    } catch (const std::exception& error) {  // Boost.JSON: a field is missing or of another type
      trouble(Error{base::Kind::Peer, std::string("init sent a wrong message: ") + error.what()});
    }
  }
}

void Scribe::serve(base::Message message) {
  const json::object& body = message.body;
  if (body.contains("event")) {
    append(body);
  } else if (const auto* stream = body.if_contains("output")) {
    openOutput(std::string(stream->as_string()), std::move(message.fds));
  } else if (body.contains("close_output")) {
    while (!outputs_.empty()) closeOutput(outputs_.size() - 1);
    say({{"outputs_closed", true}});
  } else if (body.contains("harvest")) {
    openHarvest(body.at("max_size").to_number<std::uint64_t>(), std::move(message.fds));
  } else if (const auto* report = body.if_contains("report")) {
    storeFile(kReportFile, report->as_object());
  } else if (const auto* receipt = body.if_contains("receipt")) {
    storeFile(kReceiptFile, receipt->as_object());
  } else if (body.contains("finish")) {
    finish();
    say({{"finished", {{"seq", writer_.lastSeq()}, {"head", writer_.head()}}}});
  } else {
    trouble(Error{base::Kind::Peer, "init sent an unknown message"});
  }
}

/// What init says comes into the journal as a whole and in its order, up to some event: a report
/// that init makes of all it said is then the one that the journal gives. So an event that the disk
/// does not take is held, and everything after it too.
void Scribe::append(const json::object& message) {
  Held told{base::eventFromMessage(message.at("event").as_object()), {}};
  if (const auto* field = message.if_contains("token"))
    told.token = field->to_number<std::int64_t>();
  if (held_.empty() && !over_) {
    auto stored = store(told);
    if (stored) return;
    trouble(stored.error(), told.token);
    if (stored.error().kind != base::Kind::Kernel) return;  // it will never fit
  }
  const bool grave = isOutcomeGrade(told.event);
  hold(std::move(told), json::serialize(message).size());
  if (grave) writer_.giveUpReserve();
  storeHeld();
}

/// True when it is on disk, and not only written.
Result<bool> Scribe::store(const Held& told) {
  auto appended = writer_.append(told.event);
  if (!appended) return appended.error();
  if (told.token) pending_.push_back({*told.token, appended->seq});
  if (appended->on_disk) commit();
  return appended->on_disk;
}

void Scribe::hold(Held told, std::size_t bytes) {
  over_ = over_ || held_bytes_ + bytes > kMaxHeld;
  if (over_) return;
  held_bytes_ += bytes;
  held_.push_back(std::move(told));
}

void Scribe::storeHeld() {
  while (!held_.empty()) {
    auto stored = store(held_.front());
    if (!stored && stored.error().kind == base::Kind::Kernel) return;
    held_.pop_front();
  }
  held_bytes_ = 0;
}

/// An event of the scribe's own is told to init only when it is in the journal.
void Scribe::author(Event event) {
  storeHeld();
  if (!held_.empty() || over_)
    return trouble(Error{base::Kind::Kernel, "cannot store " + event.type, ENOSPC});
  auto appended = writer_.append(event);
  if (!appended) return trouble(appended.error());
  say({{"authored", base::toMessage(event)}});
}

void Scribe::openOutput(std::string stream, std::vector<base::UniqueFd> fds) {
  if (fds.size() != 1 || (stream != "stdout" && stream != "stderr"))
    return trouble(Error{base::Kind::Peer, "init sent a wrong output message"});
  auto output = OutputLog::open(run_dir_, std::move(stream), std::move(fds[0]));
  if (!output) return trouble(output.error());
  outputs_.push_back(std::move(*output));
}

void Scribe::closeOutput(std::size_t index) {
  OutputLog output = std::move(outputs_[index]);
  outputs_.erase(outputs_.begin() + static_cast<std::ptrdiff_t>(index));
  json::object data = output.close();
  if (auto failure = output.takeFailure()) trouble(*failure);
  author(Event{"output.closed", std::move(data)});
}

void Scribe::openHarvest(std::uint64_t max_size, std::vector<base::UniqueFd> fds) {
  if (fds.size() != 1 || harvest_)
    return trouble(Error{base::Kind::Peer, "init sent a wrong harvest message"});
  if (auto set = base::setNonBlocking(fds[0].get(), true); !set) return trouble(set.error());
  HarvestStore store(run_dir_, {max_size}, [this](Event event) { author(std::move(event)); });
  harvest_.emplace(Harvest{std::move(fds[0]), std::move(store)});
}

/// True when the stream has ended.
bool Scribe::drainHarvest(std::size_t limit) {
  std::vector<char> buffer(256 * 1024);
  for (std::size_t moved = 0; moved < limit;) {
    const ssize_t count = ::read(harvest_->stream.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) return true;
    moved += static_cast<std::size_t>(count);
    auto taken = harvest_->store.take({buffer.data(), static_cast<std::size_t>(count)});
    if (taken) continue;
    trouble(taken.error());
    return true;
  }
  return false;
}

void Scribe::closeHarvest() {
  if (auto finished = harvest_->store.finish(); !finished) trouble(finished.error());
  harvest_.reset();
  commit();
  say({{"harvested", true}});
}

void Scribe::storeFile(const char* name, const json::object& content) {
  const bool report = std::string_view(name) == kReportFile;
  auto stored = writeJsonFile(run_dir_, name, content);
  if (!stored) return trouble(stored.error());
  if (report)
    say({{"report_stored", *stored}});
  else
    say({{"receipt_stored", true}});
}

/// Makes durable what was appended, and says so to whoever waits for it.
void Scribe::commit() {
  if (auto synced = writer_.sync(); !synced) {
    for (const auto& event : std::exchange(pending_, {})) trouble(synced.error(), event.token);
    if (oldest_) trouble(synced.error());
    oldest_.reset();
    return;
  }
  oldest_.reset();
  for (const auto& event : std::exchange(pending_, {}))
    say({{"stored", event.token}, {"seq", event.seq}});
}

void Scribe::finish() {
  while (!outputs_.empty()) closeOutput(outputs_.size() - 1);
  if (harvest_) {
    drainHarvest(kLastHarvest);
    closeHarvest();
  }
  storeHeld();
  commit();
}

void Scribe::say(const json::object& body) {
  if (init_lives_ && !base::sendMessage(base::kControlFd, body)) init_lives_ = false;
}

void Scribe::trouble(const Error& error, std::optional<std::int64_t> token) {
  base::log(base::Level::Error, error.sentence());
  json::object told{{"sentence", error.sentence()}, {"errno", error.system_errno}};
  if (token) told["token"] = *token;
  say({{"trouble", told}});
}

Result<Scribe> openScribe() {
  auto config = base::readStageConfig();
  if (!config) return config.error();
  try {
    WriterOptions options;
    options.run_dir = std::string(config->at("run_dir").as_string());
    options.run_id = std::string(config->at("run_id").as_string());
    options.attempt = config->at("attempt").to_number<std::int64_t>();
    const std::string run_dir = options.run_dir;
    if (auto made = makeRunFolders(run_dir); !made) return made.error();
    auto writer = Writer::open(std::move(options));
    if (!writer) return writer.error();
    return Scribe(run_dir, std::move(*writer));
  } catch (const std::exception& error) {
    return Error{base::Kind::Internal,
                 std::string("the scribe's configuration is wrong: ") + error.what()};
  }
}

/// A scribe outlives init by the moment it takes to keep what the pipes still hold, and no signal
/// of the terminal ends it: it ends when its control socket does.
Status settle() {
  if (auto hard = base::hardenStage(); !hard) return hard;
  if (::prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) != 0)
    return base::kernelError("cannot outlive the parent");
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
  ::umask(027);
  return {};
}

}  // namespace

int scribeMain() {
  base::setUpLog("scribe");
  if (auto settled = settle(); !settled) {
    (void)base::sayFailed(base::kControlFd, "harden", settled.error());
    return 1;
  }
  auto scribe = openScribe();
  if (!scribe) {
    (void)base::sayFailed(base::kControlFd, "journal", scribe.error());
    return 1;
  }
  if (!base::sayReady(base::kControlFd)) return 1;
  return scribe->run();
}

}  // namespace warder::journal
