// A Broker on a thread of its own, with one door to an upstream of the test's.
#pragma once
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "secrets/broker.h"
#include "secrets/grant_plan.h"
#include "tests/support/door_client.h"

namespace warder::tests {

/// A listening socket on 127.0.0.1 and its port.
inline std::pair<int, std::uint16_t> listenOnLoopback() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  ::listen(fd, 512);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return {fd, ntohs(address.sin_port)};
}

inline constexpr std::string_view kRealKey = "sk-ant-api03-REALKEY-REALKEY-REALKEY-0123456789";

struct BrokerSetup {
  std::string base_url;
  std::string ca_file{};
  bool allowed = true;  // the policy allows the upstream
  secrets::BrokerLimits limits{};
  std::string rule_host{};  // of the policy's rule; empty: the upstream's
  secrets::GrantTerms terms{};
  secrets::GrantSource source{};
};

class BrokerThread {
 public:
  explicit BrokerThread(const BrokerSetup& setup) : guard_(context_.get_executor()) {
    secrets::Grant grant =
        secrets::planGrants({{"anthropic", "anthropic", setup.base_url, setup.ca_file}})->at(0);
    const auto [listener, port] = listenOnLoopback();
    port_ = port;
    grant.listener_fds = {listener};
    grant.terms = setup.terms;
    grant.source = setup.source;
    placeholder_ = grant.placeholder;
    policies::Policy policy;
    if (setup.allowed)
      policy.allow.push_back({setup.rule_host.empty() ? grant.upstream.host : setup.rule_host,
                              grant.upstream.port,
                              {},
                              {},
                              "test:1"});
    auto emit = [this](base::Event event) {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
      changed_.notify_all();
    };
    secrets::Broker::Options options{std::move(policy), setup.limits, emit};
    options.ask_source = [this](const std::string& name) {
      const std::lock_guard lock(mutex_);
      asked_.push_back(name);
      changed_.notify_all();
    };
    broker_.emplace(context_.get_executor(), std::move(options));
    const auto key = base::sealedText("key", kRealKey);
    auto secret = vault::SecretBytes::read(key->get(), "anthropic");
    if (!broker_->addGrant(std::move(grant), std::move(*secret))) std::abort();
    thread_ = std::thread([this] { context_.run(); });
  }
  BrokerThread(const BrokerThread&) = delete;
  BrokerThread& operator=(const BrokerThread&) = delete;
  ~BrokerThread() {
    context_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return port_; }
  const std::string& placeholder() const { return placeholder_; }

  /// A request with the placeholder; `headers` are added.
  std::string request(const std::string& body, const std::string& headers = "") const {
    return "POST /v1/messages?beta=true HTTP/1.1\r\nHost: 127.0.0.1\r\nx-api-key: " + placeholder_ +
           "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  /// Waits for the first event of this type and takes it (the test's own time limit bounds it).
  base::json::object event(const std::string& type) {
    std::unique_lock lock(mutex_);
    for (;;) {
      for (auto at = events_.begin(); at != events_.end(); ++at) {
        if (at->type != type) continue;
        base::json::object data = std::move(at->data);
        events_.erase(at);
        return data;
      }
      changed_.wait(lock);
    }
  }
  /// Waits until the broker asks for a source to be read again; which grant's.
  std::string askedSource() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !asked_.empty(); });
    std::string name = asked_.front();
    asked_.erase(asked_.begin());
    return name;
  }
  /// Does something with the broker on its own thread, and waits until it is done.
  void with(const std::function<void(secrets::Broker&)>& action) {
    std::promise<void> done;
    boost::asio::post(context_, [&] {
      action(*broker_);
      done.set_value();
    });
    done.get_future().wait();
  }
  /// As when init hands over what it read anew.
  void hand(const std::string& secret) {
    with([&](secrets::Broker& broker) {
      auto fd = base::sealedText("secret", secret);
      broker.renewals().handed("anthropic", std::move(*fd));
    });
  }
  std::string allEvents() {
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& event : events_) text += base::json::serialize(base::toMessage(event)) + "\n";
    return text;
  }

 private:
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<base::Event> events_;
  std::vector<std::string> asked_;
  std::optional<secrets::Broker> broker_;
  std::string placeholder_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

}  // namespace warder::tests
