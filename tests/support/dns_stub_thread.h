// A dns::Stub on a thread of its own, and a client that asks it over UDP and TCP.
#pragma once
#include <boost/asio/connect.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "secrets/dns/stub.h"
#include "tests/support/dns_bytes.h"

namespace warder::tests {

namespace asio = boost::asio;

class StubThread {
 public:
  /// Runs on the stub's thread, and waits for the end.
  template <class Work>
  auto onThread(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto done = task.get_future();
    asio::post(context_, [&task] { task(); });
    return done.get();
  }

  /// Allows api.example.org and names below wild.org.
  explicit StubThread(dns::StubLimits limits = {}) : guard_(context_.get_executor()) {
    dns::Stub::Options options{isAllowed, table_,
                               [this](base::Event event) { keep(std::move(event)); }, limits};
    stub_.emplace(context_.get_executor(), std::move(options));
    thread_ = std::thread([this] { context_.run(); });
  }
  StubThread(const StubThread&) = delete;
  StubThread& operator=(const StubThread&) = delete;
  ~StubThread() {
    onThread([this] { stub_.reset(); });
    guard_.reset();  // the thread ends only if nothing of the stub's is left
    thread_.join();
  }

  /// Binds, and serves; port 0 is any. Returns the port; throws where the address is not there.
  std::uint16_t serveUdp(const std::string& address, std::uint16_t port = 0) {
    asio::ip::udp::socket socket(context_);
    const asio::ip::udp::endpoint endpoint(asio::ip::make_address(address), port);
    socket.open(endpoint.protocol());
    if (endpoint.protocol() == asio::ip::udp::v6()) socket.set_option(asio::ip::v6_only(true));
    socket.bind(endpoint);
    const std::uint16_t bound = socket.local_endpoint().port();
    const int fd = socket.release();
    if (!onThread([&] { return stub_->serveUdp(base::UniqueFd(fd)); }))
      throw std::runtime_error("udp");
    return bound;
  }
  std::uint16_t serveTcp(const std::string& address, std::uint16_t port = 0) {
    const asio::ip::tcp::endpoint endpoint(asio::ip::make_address(address), port);
    asio::ip::tcp::acceptor acceptor(context_);
    acceptor.open(endpoint.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    if (endpoint.protocol() == asio::ip::tcp::v6()) acceptor.set_option(asio::ip::v6_only(true));
    acceptor.bind(endpoint);
    acceptor.listen();
    const std::uint16_t bound = acceptor.local_endpoint().port();
    const int fd = acceptor.release();
    if (!onThread([&] { return stub_->serveTcp(base::UniqueFd(fd)); }))
      throw std::runtime_error("tcp");
    return bound;
  }

  dns::Stub& stub() { return *stub_; }
  asio::io_context& context() { return context_; }
  std::vector<base::Event> events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  base::json::object counts() {
    onThread([this] { stub_->tellCounts(); });
    const auto all = events();
    return all.empty() ? base::json::object{} : all.back().data;
  }

 private:
  static bool isAllowed(std::string_view host) {
    return host == "api.example.org" ||
           (host.size() > 9 && host.substr(host.size() - 9) == ".wild.org");
  }
  void keep(base::Event event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> guard_;
  std::shared_ptr<dns::NameTable> table_ = std::make_shared<dns::NameTable>();
  std::mutex mutex_;
  std::vector<base::Event> events_;
  std::optional<dns::Stub> stub_;
  std::thread thread_;
};

/// A UDP socket that takes answers only from the address that it asks.
class UdpAsker {
 public:
  UdpAsker(const std::string& address, std::uint16_t port) : socket_(context_) {
    socket_.connect({asio::ip::make_address(address), port});
  }
  void send(const std::string& query) { socket_.send(asio::buffer(query)); }
  DnsAnswer receive() {
    std::array<char, 65'536> answer;
    const std::size_t size = socket_.receive(asio::buffer(answer));
    size_ = size;
    return readDnsAnswer({answer.data(), size});
  }
  DnsAnswer ask(const std::string& query) {
    send(query);
    return receive();
  }
  std::size_t lastSize() const { return size_; }

 private:
  asio::io_context context_;
  asio::ip::udp::socket socket_;
  std::size_t size_ = 0;
};

inline std::string dnsOverTcp(const std::string& query) {
  return dnsWord(static_cast<unsigned>(query.size())) + query;
}

class TcpAsker {
 public:
  TcpAsker(const std::string& address, std::uint16_t port) : socket_(context_) {
    socket_.connect({asio::ip::make_address(address), port});
  }
  void send(const std::string& bytes) { asio::write(socket_, asio::buffer(bytes)); }
  void endSending() { socket_.shutdown(asio::socket_base::shutdown_send); }
  /// nullopt: the connection was closed.
  std::optional<DnsAnswer> receive() {
    boost::system::error_code failure;
    std::array<unsigned char, 2> length{};
    asio::read(socket_, asio::buffer(length), failure);
    if (failure) return std::nullopt;
    std::string answer(static_cast<std::size_t>(length[0] << 8 | length[1]), '\0');
    asio::read(socket_, asio::buffer(answer), failure);
    if (failure) return std::nullopt;
    return readDnsAnswer(answer);
  }
  std::optional<DnsAnswer> ask(const std::string& query) {
    boost::system::error_code ignored;
    asio::write(socket_, asio::buffer(dnsOverTcp(query)), ignored);
    return receive();
  }
  asio::ip::tcp::socket& socket() { return socket_; }

 private:
  asio::io_context context_;
  asio::ip::tcp::socket socket_;
};

}  // namespace warder::tests
