// The stage as init sees it: a process with a configuration and a control socket.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>

#include "supervisor/base/wire.h"
#include "supervisor/courier/courier.h"
#include "tests/support/collector_process.h"
#include "tests/support/finished_run.h"

namespace warder::courier {
namespace {

using base::json::object;
using support::CollectorProcess;
using support::FinishedRun;
namespace json = boost::json;

class Stage {
 public:
  Stage(const FinishedRun& run, const std::vector<std::string>& urls,
        const std::string& token = CollectorProcess::kToken) {
    json::array sinks;
    std::vector<base::UniqueFd> tokens;
    for (const auto& url : urls) {
      sinks.push_back({{"collector", url},
                       {"token_fd", base::kFirstExtraFd + static_cast<int>(tokens.size())},
                       {"ca_file", ""}});
      tokens.push_back(std::move(*base::sealedText("token", token)));
    }
    auto pair = base::makeMessagePair();
    auto config = base::sealedText("config", json::serialize(object{{"run_dir", run.folder.path},
                                                                    {"run_id", run.folder.run_id},
                                                                    {"attempt", 1},
                                                                    {"sinks", std::move(sinks)}}));
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(config->get(), 200);
      ::dup2(pair->theirs.get(), 201);
      for (std::size_t i = 0; i < tokens.size(); ++i) ::dup2(tokens[i].get(), 202 + int(i));
      ::dup2(200, base::kConfigFd);
      ::dup2(201, base::kControlFd);
      for (std::size_t i = 0; i < tokens.size(); ++i)
        ::dup2(202 + int(i), base::kFirstExtraFd + int(i));
      ::close_range(static_cast<unsigned>(base::kFirstExtraFd + tokens.size()), ~0u, 0);
      ::_exit(courierMain());
    }
    control_ = std::move(pair->ours);
  }
  ~Stage() {
    control_.reset();
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  object next() {
    pollfd readable{control_.get(), POLLIN, 0};
    if (::poll(&readable, 1, 30'000) != 1) return {};
    auto message = base::receiveMessage(control_.get());
    return message && *message ? (*message)->body : object();
  }
  /// The next message of this kind; what came before it is kept in `told`.
  object until(std::string_view kind) {
    for (;;) {
      object message = next();
      if (message.empty() || message.contains(kind)) return message;
      told.push_back(std::move(message));
    }
  }
  void finish(int deadline_ms) {
    (void)base::sendMessage(control_.get(), {{"finishing", {{"deadline_ms", deadline_ms}}}});
  }
  void hangUp() { control_.reset(); }
  int exitCode() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::vector<object> told;

 private:
  base::UniqueFd control_;
  pid_t pid_ = -1;
};

TEST(CourierStage, DeliversAndEnds) {
  CollectorProcess collector;
  FinishedRun run;
  Stage stage(run, {"http://" + collector.address});
  ASSERT_TRUE(stage.next().contains("ready"));
  EXPECT_EQ(stage.until("acked").at("acked").to_number<std::uint64_t>(), run.writer->lastSeq());
  run.addArtifact("out/a", "artifact");
  run.addOutput("stdout", "words\n");
  const std::string report = run.finish();
  stage.finish(60'000);
  const object delivered = stage.until("delivered");
  const auto& receipt = delivered.at("delivered").as_object();
  EXPECT_EQ(receipt.at("report_sha256"), json::value("sha256:" + journal::sha256Hex(report)));
  EXPECT_EQ(receipt.at("collector"), json::value("http://" + collector.address));
  EXPECT_EQ(stage.exitCode(), 0);
}

TEST(CourierStage, TellsOnceThatTheCollectorIsDownAndOnceThatItIsUp) {
  CollectorProcess collector;
  collector.end(SIGKILL);
  FinishedRun run;
  Stage stage(run, {"http://" + collector.address});
  ASSERT_TRUE(stage.next().contains("ready"));
  const auto down = base::eventFromMessage(stage.until("event").at("event").as_object());
  EXPECT_EQ(down.type, "delivery.down");
  EXPECT_EQ(down.data.at("sink"), json::value("http://" + collector.address));
  EXPECT_FALSE(down.data.at("sentence").as_string().empty());
  collector.startAgain();
  const auto up = base::eventFromMessage(stage.until("event").at("event").as_object());
  EXPECT_EQ(up.type, "delivery.up");
}

TEST(CourierStage, GivesUpAtTheDeadlineWithASentence) {
  CollectorProcess collector;
  collector.end(SIGKILL);
  FinishedRun run;
  run.finish();
  Stage stage(run, {"http://" + collector.address});
  ASSERT_TRUE(stage.next().contains("ready"));
  stage.finish(200);
  const object gave_up = stage.until("gave_up");
  EXPECT_NE(gave_up.at("gave_up").at("sentence").as_string().find("in time"), json::string::npos);
  EXPECT_EQ(stage.exitCode(), 0);
}

TEST(CourierStage, ServesSeveralCollectorsAndNeedsThemAll) {
  CollectorProcess first, second;
  FinishedRun run;
  run.finish();
  Stage stage(run, {"http://" + first.address, "http://" + second.address});
  ASSERT_TRUE(stage.next().contains("ready"));
  stage.finish(60'000);
  const object delivered = stage.until("delivered");
  EXPECT_EQ(delivered.at("delivered").at("collector"), json::value("http://" + first.address));
  EXPECT_EQ(delivered.at("delivered").at("also").at(0).at("collector"),
            json::value("http://" + second.address));
  EXPECT_EQ(stage.exitCode(), 0);
}

TEST(CourierStage, SaysWhyItCannotStart) {
  FinishedRun run;
  Stage insecure(run, {"http://results.example"});
  EXPECT_NE(insecure.next().at("failed").at("sentence").as_string().find("https://"),
            json::string::npos);
  EXPECT_EQ(insecure.exitCode(), 1);
  Stage tokenless(run, {"http://127.0.0.1:1"}, "");
  EXPECT_EQ(tokenless.next().at("failed").at("step"), "sinks");
  EXPECT_EQ(tokenless.exitCode(), 1);
}

TEST(CourierStage, EndsWithInit) {
  FinishedRun run;
  Stage stage(run, {"http://127.0.0.1:1"});
  ASSERT_TRUE(stage.next().contains("ready"));
  stage.hangUp();
  EXPECT_EQ(stage.exitCode(), 0);
}

}  // namespace
}  // namespace warder::courier
