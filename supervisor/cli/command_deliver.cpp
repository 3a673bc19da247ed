#include "supervisor/cli/command_deliver.h"

#include <fcntl.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "supervisor/base/log.h"
#include "supervisor/base/units.h"
#include "supervisor/base/wire.h"
#include "supervisor/cli/cli.h"
#include "supervisor/courier/delivery.h"
#include "supervisor/journal/digest.h"
#include "supervisor/journal/run_files.h"
#include "supervisor/journal/scribe_protocol.h"
#include "supervisor/report/close_interrupted.h"

namespace warder::cli {

namespace fs = std::filesystem;
namespace json = boost::json;
using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr int kUndelivered = 64;
constexpr std::size_t kMaxReport = 4 << 20;

struct Options {
  std::string path;
  std::string collector;
  std::string token_file;
  std::string ca_file;
  std::string within = "10m";
  bool as_json = false;
  std::chrono::milliseconds deadline{};
};

bool isRun(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path / journal::kIdentityFile, ignored);
}

/// The run itself, or the runs of a spool in the order of their names.
Result<std::vector<std::string>> findRuns(const std::string& path) {
  if (isRun(path)) return std::vector<std::string>{path};
  std::error_code failure;
  std::vector<std::string> runs;
  for (const auto& entry : fs::directory_iterator(path, failure))
    if (isRun(entry.path())) runs.push_back(entry.path());
  if (failure) return base::kernelError("cannot read " + path, failure.value());
  if (runs.empty())
    return Error{Kind::Config, path + " is neither a run's folder nor a spool with runs"};
  std::sort(runs.begin(), runs.end());
  return runs;
}

/// The sink of delivery.json, or the one that the options name.
Result<courier::Sink> sinkFor(const std::string& run_dir, const Options& options) {
  std::string url = options.collector, ca_file = options.ca_file;
  const std::string path = run_dir + "/" + journal::kDeliveryFile;
  const auto text = base::readFile(path, 1 << 20);
  const auto value = text ? base::parseJson(*text) : Result<json::value>(text.error());
  std::size_t named = 0;
  try {
    if (value) {
      for (const auto& sink : value->at("sinks").as_array()) {
        const std::string its_url(sink.at("collector").as_string());
        ++named;
        if (options.collector.empty()) url = its_url;
        if (url == its_url && options.ca_file.empty())
          ca_file = std::string(sink.at("ca_file").as_string());
      }
    }
  } catch (const std::exception&) {
    return Error{Kind::Config, path + " is not what warder run writes: give --collector"};
  }
  if (url.empty()) return Error{Kind::Config, "its job names no collector: give --collector"};
  // One token must not reach another collector.
  if (options.collector.empty() && named > 1)
    return Error{Kind::Config, "its job names several collectors: choose one with --collector"};
  return courier::parseSink(url, ca_file);
}

Result<courier::WipedText> tokenOf(const Options& options) {
  auto file = base::openFile(options.token_file, O_RDONLY | O_NOCTTY);
  if (!file) return file.error();
  auto token = courier::readToken(std::move(*file));
  if (!token) return token.error().during(options.token_file);
  return token;
}

/// receipt.json speaks of this report and this collector.
bool isAcknowledged(const std::string& run_dir, const courier::Sink& sink) {
  const auto text = base::readFile(run_dir + "/" + journal::kReceiptFile, 1 << 20);
  const auto report = base::readFile(run_dir + "/" + journal::kReportFile, kMaxReport);
  const auto receipt = text ? base::parseJson(*text) : Result<json::value>(text.error());
  if (!receipt || !report || !receipt->is_object()) return false;
  const auto* digest = receipt->get_object().if_contains("report_sha256");
  const auto* url = receipt->get_object().if_contains("collector");
  return digest != nullptr && url != nullptr && *url == json::value(sink.url) &&
         *digest == json::value("sha256:" + journal::sha256Hex(*report));
}

class Deliverer {
 public:
  explicit Deliverer(const Options& options) : options_(options) {}

  int deliverAll(const std::vector<std::string>& runs) {
    std::size_t undelivered = 0;
    json::array told;
    for (const auto& run : runs) {
      const Status delivered = deliver(run);
      if (!delivered) {
        ++undelivered;
        say("not delivered: " + delivered.error().sentence());
      }
      json::object item{{"run_dir", run}, {"delivered", bool(delivered)}};
      if (!delivered) item["sentence"] = delivered.error().sentence();
      told.push_back(std::move(item));
    }
    if (options_.as_json)
      std::printf("%s\n", json::serialize(json::object{{"runs", std::move(told)}}).c_str());
    else if (runs.size() > 1)
      std::printf("%zu of %zu runs are acknowledged\n", runs.size() - undelivered, runs.size());
    return undelivered == 0 ? 0 : kUndelivered;
  }

 private:
  Status deliver(const std::string& run_dir) {
    name_ = fs::path(run_dir).filename().empty() ? fs::path(run_dir).parent_path().filename()
                                                 : fs::path(run_dir).filename();
    auto sink = sinkFor(run_dir, options_);
    if (!sink) return sink.error();
    if (isAcknowledged(run_dir, *sink)) {
      say("was acknowledged before by " + sink->url);
      return {};
    }
    auto order = orderFor(run_dir, std::move(*sink));
    if (!order) return order.error();
    // A journal without an end gets one: the supervisor did not live to write it.
    if (auto closed = report::closeInterrupted(run_dir); !closed) return closed.error();
    auto token = tokenOf(options_);
    if (!token) return token.error();
    return send(std::move(*order), std::move(*token));
  }

  static Result<courier::DeliveryOrder> orderFor(const std::string& run_dir, courier::Sink sink) {
    auto identity = journal::readIdentity(run_dir);
    if (!identity) return identity.error();
    courier::DeliveryOrder order;
    order.run_dir = run_dir;
    order.sink = std::move(sink);
    try {
      order.run_id = std::string(identity->at("run_id").as_string());
      order.attempt = identity->at("attempt").to_number<std::uint32_t>();
    } catch (const std::exception&) {
      return Error{Kind::Config, run_dir + "/run.json names no run_id or no attempt"};
    }
    return order;
  }

  Status send(courier::DeliveryOrder order, courier::WipedText token) {
    boost::asio::io_context io(1);
    courier::DeliveryNews news;
    news.progress = [this](const std::string& sentence) { say(sentence); };
    news.reachable = [this](bool, const std::string& sentence) { say(sentence); };
    news.acked = [this](std::uint64_t seq) {
      say("events up to " + std::to_string(seq) + " are acknowledged");
    };
    const std::string run_dir = order.run_dir, url = order.sink.url;
    courier::Delivery delivery(io.get_executor(), std::move(order), std::move(token),
                               std::move(news));
    delivery.finish(options_.deadline);
    Result<json::object> result = Error{Kind::Internal, "the delivery ended without a result"};
    auto running = delivery.run();
    auto ended = [&result](std::exception_ptr failure, Result<json::object> receipt) {
      if (!failure) result = std::move(receipt);
    };
    boost::asio::co_spawn(io, std::move(running), std::move(ended));
    io.run();
    if (!result) return result.error();
    (*result)["collector"] = url;
    if (auto kept = journal::writeJsonFile(run_dir, journal::kReceiptFile, *result); !kept)
      return kept.error();
    say("complete, acknowledged by " + url);
    return {};
  }

  /// Progress goes to standard error, so that --json stays clean.
  void say(const std::string& sentence) const {
    std::fprintf(stderr, "%s: %s\n", base::escapeForTerminal(name_).c_str(),
                 base::escapeForTerminal(sentence).c_str());
  }

  const Options& options_;
  std::string name_;
};

int runDeliver(Options& options) {
  ::signal(SIGPIPE, SIG_IGN);
  const auto within = base::parseDuration(options.within);
  if (!within) {
    base::log(base::Level::Error, "--within: " + within.error().sentence());
    return kBadArguments;
  }
  options.deadline = *within;
  const auto runs = findRuns(options.path);
  if (!runs) {
    base::log(base::Level::Error, runs.error().sentence());
    return kBadInput;
  }
  if (auto token = tokenOf(options); !token) {
    base::log(base::Level::Error, token.error().sentence());
    return kBadInput;
  }
  return Deliverer(options).deliverAll(*runs);
}

}  // namespace

void addDeliverCommand(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<Options>();
  auto* deliver =
      app.add_subcommand("deliver", "Sends what a dead box left behind to its collector");
  deliver->add_option("path", options->path, "a run's folder, or a spool with many")->required();
  deliver->add_option("--token-file", options->token_file, "token of the collector")->required();
  deliver->add_option("--collector", options->collector,
                      "address of the collector; the one that the job named unless given");
  deliver->add_option("--ca-file", options->ca_file, "PEM file of extra roots for the collector");
  deliver->add_option("--within", options->within, "time for each run, such as 30s or 10m")
      ->capture_default_str();
  deliver->add_flag("--json", options->as_json, "print the result as JSON on standard output");
  deliver->footer(
      "Safe to repeat: what the collector has is not sent again. A run whose supervisor died is\n"
      "closed first, as internal (supervisor_lost). A run that is still at work is left alone.\n\n"
      "Exit codes: 0 everything is acknowledged; 64 something is not, the spool keeps it; 14 the\n"
      "path or the token cannot be used; 2 wrong arguments.");
  deliver->callback([options, &exit_code] { exit_code = runDeliver(*options); });
}

}  // namespace warder::cli
