#include "supervisor/init/secret_sources.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <map>

#include "supervisor/job/helper_program.h"

namespace warder::init {

using base::Error;
using base::Kind;
using base::Status;
namespace json = base::json;

namespace {

/// The file whose changes count for this secret: its own, or the one of its Vault's token.
std::string fileOf(const job::SecretSource& from) {
  const auto handed = job::handedOf(from);
  const auto* file = handed ? std::get_if<job::FileSource>(&*handed) : nullptr;
  return file != nullptr ? file->path : "";
}

bool same(const timespec& left, const timespec& right) {
  return left.tv_sec == right.tv_sec && left.tv_nsec == right.tv_nsec;
}

/// What the job says goes over what every program gets.
json::value environmentOf(const job::ExecSource& exec, const std::string& home) {
  std::map<std::string, std::string> variables = {
      {"PATH", job::kHelperPath}, {"HOME", home}, {"LANG", "C.UTF-8"}};
  for (const auto& [name, value] : exec.env) variables[name] = value;
  std::vector<std::string> words;
  for (const auto& [name, value] : variables) words.push_back(name + "=" + value);
  return json::value_from(words);
}

}  // namespace

bool SecretSources::Facts::operator==(const Facts& other) const {
  return device == other.device && number == other.number && size == other.size &&
         same(modified, other.modified) && same(changed, other.changed);
}

SecretSources::Facts SecretSources::factsOf(const struct stat& file) {
  return {file.st_dev, file.st_ino, file.st_size, file.st_mtim, file.st_ctim};
}

SecretSources::SecretSources(boost::asio::io_context& context, const job::JobSpec& job,
                             const std::vector<int>& fds, HelperUser user)
    : context_(context), user_(std::move(user)), timer_(context) {
  for (std::size_t i = 0; i < job.secrets.size(); ++i) {
    Source& source = sources_.emplace_back();
    source.secret = &job.secrets[i];
    source.file = fileOf(job.secrets[i].from);
    struct stat file {};
    if (i < fds.size() && ::fstat(fds[i], &file) == 0) source.handed = source.seen = factsOf(file);
  }
}

SecretSources::~SecretSources() {
  *alive_ = false;
}

void SecretSources::gather(std::function<void(Gathered)> done) {
  gathered_.resize(sources_.size());
  done_ = std::move(done);
  for (Source& source : sources_) {
    if (!std::holds_alternative<job::ExecSource>(source.secret->from)) continue;
    const Status started = startHelper(source);
    if (!started) return finishGathering(started);
  }
  const bool none = std::all_of(sources_.begin(), sources_.end(),
                                [](const Source& source) { return source.stage < 0; });
  if (none) finishGathering({});
}

void SecretSources::finishGathering(const Status& how) {
  const auto done = std::exchange(done_, nullptr);
  if (how)
    done(std::move(gathered_));
  else
    done(how.error());
}

/// The stage runs beside the services, under an id of its own where there is one.
Status SecretSources::startHelper(Source& source) {
  const auto& exec = std::get<job::ExecSource>(source.secret->from);
  auto program = job::findHelper(exec.command.front());
  if (!program) return program.error().during("secret " + source.secret->name);
  auto output = base::makePipe();
  if (!output) return output.error();
  // A reader never waits: what holds the other end when the program is over does so for no good.
  if (auto set = base::setNonBlocking(output->read.get(), true); !set) return set;
  std::vector<std::string> argv = exec.command;
  argv.front() = *program;
  launch::StageStart start;
  start.stage = "source";
  start.config = {{"argv", json::value_from(argv)},
                  {"env", environmentOf(exec, user_.home)},
                  {"timeout_ms", exec.timeout.count()}};
  start.extra_fds = {output->write.get()};
  start.uid = user_.uid;
  start.gid = user_.gid;
  auto stage = user_.start(start);
  if (!stage) return stage.error();
  source.stage = stage->pid;
  source.output = std::move(output->read);
  source.said = false;
  StageLink::Handlers handlers;
  handlers.message = [this, at = &source](const json::object& message) { heard(*at, message); };
  handlers.closed = [this, at = &source] { closed(*at); };
  source.link = std::make_unique<StageLink>(context_, std::move(stage->control), handlers);
  return {};
}

void SecretSources::heard(Source& source, const json::object& message) {
  if (std::exchange(source.said, true)) return;
  if (message.contains("ready")) return over(source, {});
  over(source, launch::saidFailure(message));
}

void SecretSources::closed(Source& source) {
  if (!std::exchange(source.said, true))
    over(source, Error{Kind::Peer, "its program could not be run: the stage ended without a word"});
}

/// The link must not go while it calls us.
void SecretSources::over(Source& source, const Status& how) {
  boost::asio::post(context_, [this, alive = alive_, at = &source, how] {
    if (!*alive || stopped_) return;
    at->link.reset();
    at->stage = -1;
    const auto index = static_cast<std::size_t>(at - sources_.data());
    const std::string& name = at->secret->name;
    base::UniqueFd output = std::move(at->output);
    if (!gathering()) {
      if (how && handlers_.renewed) handlers_.renewed(name, output.get());
      if (!how && handlers_.failed) handlers_.failed(name, how.error().sentence());
      return;
    }
    if (!how) return finishGathering(how.error().during("secret " + name));
    gathered_[index] = std::move(output);
    const bool more = std::any_of(sources_.begin(), sources_.end(),
                                  [](const Source& one) { return one.stage > 0; });
    if (!more) finishGathering({});
  });
}

void SecretSources::watch(Handlers handlers) {
  handlers_ = std::move(handlers);
  const bool any = std::any_of(sources_.begin(), sources_.end(),
                               [](const Source& source) { return !source.file.empty(); });
  if (any && !stopped_) look();
}

void SecretSources::look() {
  for (Source& source : sources_) lookAt(source, true);
  timer_.expires_after(kLookAtFiles);
  timer_.async_wait([this, alive = alive_](const boost::system::error_code& failure) {
    if (!failure && *alive && !stopped_) look();
  });
}

/// By its path, so that a link that leads elsewhere by now counts (Kubernetes swaps ..data). A file
/// that is away for a moment is no news.
void SecretSources::lookAt(Source& source, bool settled) {
  struct stat file {};
  if (source.file.empty() || ::stat(source.file.c_str(), &file) != 0) return;
  const Facts facts = factsOf(file);
  if (facts == source.handed) return;
  const bool stands = !settled || facts == source.seen;
  source.seen = facts;
  if (stands) handFile(source, facts);
}

void SecretSources::handFile(Source& source, const Facts& facts) {
  source.handed = facts;
  const std::string& name = source.secret->name;
  const auto file = base::openFile(source.file, O_RDONLY | O_NOCTTY | O_NONBLOCK);
  struct stat opened {};
  if (!file) return handlers_.failed(name, file.error().sentence());
  if (::fstat(file->get(), &opened) != 0 || !S_ISREG(opened.st_mode))
    return handlers_.failed(name, source.file + " is no regular file any more");
  source.handed = factsOf(opened);
  handlers_.renewed(name, file->get());
}

void SecretSources::renew(const std::string& secret) {
  if (stopped_) return;
  for (Source& source : sources_) {
    if (source.secret->name != secret) continue;
    if (!std::holds_alternative<job::ExecSource>(source.secret->from)) return lookAt(source, false);
    if (source.stage > 0) return;
    if (auto started = startHelper(source); !started && handlers_.failed)
      handlers_.failed(secret, started.error().sentence());
  }
}

void SecretSources::stop() {
  stopped_ = true;
  done_ = nullptr;
  timer_.cancel();
  for (Source& source : sources_) source.link.reset();  // a stage whose link is gone ends
}

std::vector<pid_t> SecretSources::stages() const {
  std::vector<pid_t> pids;
  for (const Source& source : sources_)
    if (source.stage > 0) pids.push_back(source.stage);
  return pids;
}

}  // namespace warder::init
