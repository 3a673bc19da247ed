// One request and its answer, over a connection that is kept for the next.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <string>
#include <utility>
#include <vector>

#include "supervisor/courier/answer.h"
#include "supervisor/courier/sink.h"
#include "supervisor/courier/token.h"
#include "supervisor/net/connection.h"

namespace warder::courier {

struct Outgoing {
  std::string method;
  std::string path;  // below the sink's base path
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  base::UniqueFd file;  // sent instead of `body`, from its start
  std::uint64_t file_bytes = 0;
};

class Exchange {
 public:
  Exchange(Sink sink, WipedText token);

  /// Sends and waits for the whole answer. A kept connection that turns out to be dead is replaced
  /// once without a word. Errors: Peer, Timeout, Denied, Config; the sentence names the collector.
  boost::asio::awaitable<base::Result<HttpAnswer>> ask(std::shared_ptr<Outgoing> request);
  /// Connecting may take this long at most, if that is less than the usual 10 s.
  void hurry(std::chrono::milliseconds left);
  /// Lets the kept connection go. Not while ask() is pending.
  void hangUp() { connection_.reset(); }
  /// Makes a pending ask() fail soon, and closes.
  void abort();
  const Sink& sink() const { return sink_; }

 private:
  boost::asio::awaitable<base::Status> connect();
  boost::asio::awaitable<bool> send(std::shared_ptr<Outgoing> request);
  boost::asio::awaitable<bool> sendBody(std::shared_ptr<Outgoing> request);
  boost::asio::awaitable<base::Status> receive(AnswerReader* reader);
  base::Error failure(std::string_view what) const;

  Sink sink_;
  WipedText token_;
  net::DialRules rules_;
  std::unique_ptr<net::Connection> connection_;
  std::string received_;
};

}  // namespace warder::courier
