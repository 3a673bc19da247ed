#include "supervisor/init/program_watch.h"

#include <fcntl.h>
#include <signal.h>

#include <boost/asio/post.hpp>
#include <filesystem>

#include "supervisor/job/box_view.h"

namespace warder::init {

using base::Error;
using base::Result;
using base::UniqueFd;
namespace fs = std::filesystem;
namespace json = base::json;

namespace {

constexpr int kFoldersUp = 4;  // from a program to its package.json
constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

/// The package.json of the npm package that the file lies in, or /dev/null.
Result<UniqueFd> openPackageFile(const std::string& program) {
  fs::path folder = fs::path(program).parent_path();
  for (int up = 0; up < kFoldersUp && folder != folder.root_path(); ++up) {
    if (folder.filename() == "node_modules") break;
    auto file = base::openFile((folder / "package.json").string(), kFlags);
    struct stat facts {};
    if (file && ::fstat(file->get(), &facts) == 0 && S_ISREG(facts.st_mode)) return file;
    folder = folder.parent_path();
  }
  return base::openFile("/dev/null", O_RDONLY);
}

bool sameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec &&
         a.st_ctim.tv_sec == b.st_ctim.tv_sec && a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

std::string named(const report::ProgramFacts& facts) {
  const std::string digest = "sha256:" + facts.sha256.substr(0, 12);
  return facts.version.empty() ? digest : facts.version + " (" + digest + ")";
}

}  // namespace

ProgramWatch::ProgramWatch(boost::asio::io_context& context, const job::JobSpec& job,
                           base::Emit emit, StartReader start_reader)
    : context_(context),
      job_(job),
      emit_(std::move(emit)),
      start_reader_(std::move(start_reader)),
      timer_(context) {}

ProgramWatch::~ProgramWatch() = default;

ProgramWatch::Look ProgramWatch::look() const {
  Look look;
  auto found = job::BoxView(job_).follow(executable_, "the agent's program");
  if (!found) {
    look.sentence = found.error().sentence();
    return look;
  }
  look.real_path = found->in_box;
  auto file = base::openFile(found->here, kFlags);
  if (!file) {
    look.sentence = file.error().sentence();
  } else if (::fstat(file->get(), &look.facts) != 0 || !S_ISREG(look.facts.st_mode)) {
    look.sentence = look.real_path + " is no regular file";
  } else if ((look.facts.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) {
    // A name that was led to somebody else's secret must not put its digest into a report.
    look.sentence = look.real_path + " is not executable";
  } else {
    look.file = std::move(*file);
  }
  return look;
}

void ProgramWatch::start(const std::string& executable) {
  executable_ = executable;
  start_ = look();
  step_ = Step::ReadingStart;
  read(start_);
}

void ProgramWatch::read(Look& look) {
  heard_ = false;
  if (look.file) {
    auto found = job::BoxView(job_).follow(executable_, "the agent's program");
    auto package = openPackageFile(found ? found->here : std::string());
    auto stage = package ? start_reader_(look.file.get(), package->get())
                         : Result<launch::StartedStage>(package.error());
    if (stage) {
      stage_ = stage->pid;
      StageLink::Handlers handlers;
      handlers.message = [this](const json::object& message) { heard(message); };
      // The link calls this last and must live until it returns.
      handlers.closed = [this, alive = std::weak_ptr<bool>(alive_)] {
        boost::asio::post(context_, [this, alive] {
          if (!alive.expired()) readerEnded();
        });
      };
      link_ = std::make_unique<StageLink>(context_, std::move(stage->control), handlers);
      return;
    }
    look.sentence = stage.error().sentence();
  }
  boost::asio::post(context_, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) readerEnded();
  });
}

void ProgramWatch::heard(const json::object& message) {
  Look& look = step_ == Step::ReadingStart ? start_ : end_;
  if (message.contains("failed")) look.sentence = launch::saidFailure(message).sentence();
  if (auto facts = report::programFactsFrom(message)) look.read = std::move(facts);
  heard_ = true;
}

void ProgramWatch::readerEnded() {
  link_.reset();
  stage_ = -1;
  Look& look = step_ == Step::ReadingStart ? start_ : end_;
  if (step_ == Step::Done) return;
  if (look.file && !heard_ && look.sentence.empty())
    look.sentence = "the stage that reads it ended without a word";
  struct stat now {};
  if (look.read && (::fstat(look.file.get(), &now) != 0 || now.st_size != look.facts.st_size ||
                    now.st_mtim.tv_nsec != look.facts.st_mtim.tv_nsec ||
                    now.st_mtim.tv_sec != look.facts.st_mtim.tv_sec)) {
    look.read.reset();
    look.sentence = look.real_path + " was written to while it was read";
  }
  if (step_ == Step::ReadingEnd) return conclude();
  tell(start_, "start", {});
  step_ = Step::Watching;
  if (done_) compare();
}

void ProgramWatch::finish(std::function<void()> done, std::chrono::milliseconds limit) {
  done_ = std::move(done);
  if (step_ == Step::Idle) {
    step_ = Step::Done;
    boost::asio::post(context_, [this, alive = std::weak_ptr<bool>(alive_)] {
      if (!alive.expired()) done_();
    });
    return;
  }
  timer_.expires_after(limit);
  timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure) giveUp();
  });
  if (step_ == Step::Watching) compare();
}

void ProgramWatch::compare() {
  end_ = look();
  step_ = Step::ReadingEnd;
  const bool same = start_.file && end_.file && start_.real_path == end_.real_path &&
                    sameFile(start_.facts, end_.facts);
  if (!same) return read(end_);
  end_.read = start_.read;
  end_.sentence = start_.sentence;
  boost::asio::post(context_, [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired() && step_ == Step::ReadingEnd) conclude();
  });
}

bool ProgramWatch::changed() const {
  if (!start_.file || !end_.file) return bool(start_.file) != bool(end_.file);
  if (start_.read && end_.read)
    return start_.read->sha256 != end_.read->sha256 || start_.real_path != end_.real_path ||
           start_.read->version != end_.read->version;
  return !sameFile(start_.facts, end_.facts) || start_.real_path != end_.real_path;
}

std::string ProgramWatch::sentence() const {
  std::string text = "the agent's program " + executable_ + " changed while it ran";
  if (start_.read && end_.read)
    text += ": " + named(*start_.read) + " became " + named(*end_.read);
  else if (!end_.sentence.empty())
    text += ": " + end_.sentence;
  return text + "; turn its updates off, or show it from a read-only folder";
}

void ProgramWatch::conclude() {
  json::object more = {{"changed", changed()}};
  if (changed()) more["sentence"] = sentence();
  tell(end_, "end", std::move(more));
  step_ = Step::Done;
  timer_.cancel();
  if (done_) done_();
}

void ProgramWatch::giveUp() {
  if (step_ == Step::Done) return;
  if (stage_ > 0) ::kill(stage_, SIGKILL);
  Look& look = step_ == Step::ReadingStart ? start_ : end_;
  look.sentence = "it could not be read in time";
  if (step_ == Step::ReadingStart) {
    tell(start_, "start", {});
    end_ = this->look();
    end_.sentence = look.sentence;
  }
  conclude();
}

void ProgramWatch::tell(const Look& look, const std::string& at, json::object more) {
  json::object data = {{"at", at}, {"path", executable_}};
  if (!look.real_path.empty()) data["real_path"] = look.real_path;
  if (look.read) {
    data["sha256"] = "sha256:" + look.read->sha256;
    data["bytes"] = look.read->bytes;
    if (!look.read->version.empty()) data["version"] = look.read->version;
  } else {
    data["unread"] = look.sentence;
  }
  for (auto& item : more) data[item.key()] = std::move(item.value());
  base::Event event;
  event.type = "agent.program";
  event.data = std::move(data);
  emit_(std::move(event));
}

ProgramWatch::StartReader programReader(uid_t uid, gid_t gid) {
  return [uid, gid](int program, int package) {
    launch::StageStart start;
    start.stage = "program";
    start.extra_fds = {program, package};
    start.uid = uid;
    start.gid = gid;
    return launch::startStage(start);
  };
}

}  // namespace warder::init
