// A delivery with its loop, for tests.
#pragma once
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include "supervisor/courier/delivery.h"
#include "tests/support/collector_process.h"
#include "tests/support/finished_run.h"

namespace warder::courier {

using support::CollectorProcess;
using support::FinishedRun;

inline WipedText tokenOf(std::string_view text) {
  WipedText token(text.size());
  token.append(text);
  return token;
}

/// A delivery with its loop; what it tells is kept.
class Delivering {
 public:
  Delivering(const FinishedRun& run, const std::string& url, const std::string& ca_file = {},
             std::string_view token = CollectorProcess::kToken) {
    DeliveryOrder order;
    order.run_dir = run.folder.path;
    order.run_id = run.folder.run_id;
    order.sink = *parseSink(url, ca_file);
    DeliveryNews news;
    news.acked = [this](std::uint64_t seq) {
      acked.push_back(seq);
      if (on_acked) on_acked(seq);
    };
    news.reachable = [this](bool up, const std::string& sentence) {
      changes.push_back((up ? "up: " : "down: ") + sentence);
      if (on_change) on_change(up);
    };
    delivery = std::make_unique<Delivery>(io.get_executor(), std::move(order), tokenOf(token),
                                          std::move(news));
  }

  base::Result<json::object> run() {
    base::Result<json::object> result = base::Error{base::Kind::Internal, "nothing"};
    auto running = delivery->run();
    auto ended = [&result](std::exception_ptr failure, base::Result<json::object> receipt) {
      if (!failure) result = std::move(receipt);
    };
    boost::asio::co_spawn(io, std::move(running), std::move(ended));
    io.run();
    return result;
  }
  base::Result<json::object> runWithin(std::chrono::milliseconds time) {
    delivery->finish(time);
    return run();
  }

  boost::asio::io_context io{1};
  std::vector<std::uint64_t> acked;
  std::vector<std::string> changes;
  std::function<void(std::uint64_t)> on_acked;
  std::function<void(bool)> on_change;
  std::unique_ptr<Delivery> delivery;
};

inline std::string attemptOf(const FinishedRun& run) {
  return "/v1/runs/" + run.folder.run_id + "/attempts/1";
}

}  // namespace warder::courier
