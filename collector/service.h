// What the collector answers: rights, routes, handlers. Knows nothing of sockets.
#pragma once
#include <boost/asio/awaitable.hpp>
#include <boost/asio/thread_pool.hpp>

#include "collector/access.h"
#include "collector/answer.h"
#include "collector/request.h"
#include "collector/store.h"
#include "collector/target.h"

namespace warder::collector {

/// The body of the request at hand.
class Body {
 public:
  virtual ~Body() = default;
  /// Bytes that are still to come.
  virtual std::uint64_t remaining() const = 0;
  /// The next bytes, at most 256 KiB; empty at the end.
  virtual boost::asio::awaitable<std::string> next() = 0;
  /// The peer went away before the length that it announced.
  virtual bool broken() const = 0;
};

struct ServiceRules {
  bool loopback_only = true;  // answer only to a Host that is this machine, while reading is open
  std::uint64_t max_blob = 8ULL << 30;
  std::size_t max_report = 4 << 20;
};

class Service {
 public:
  Service(Store& store, Access access, ServiceRules rules);

  /// Answers one request. The body is read only as far as the request may bring one.
  boost::asio::awaitable<Answer> answer(Request request, Body* body);

 private:
  using Reply = boost::asio::awaitable<Answer>;
  Answer refuse(Verdict verdict) const;
  Reply bring(Request request, Target target, Body* body);
  Reply open(AttemptKey key, Body* body);
  Reply events(Request request, AttemptKey key, Body* body);
  Reply blob(Request request, Target target, Body* body);
  Reply report(AttemptKey key, Body* body);

  Answer look(const Request& request, const Target& target);
  Answer page(const Target& target) const;
  Answer eventLines(const Target& target);
  Answer blobFile(const Request& request, const Target& target);

  Store& store_;
  Access access_;
  ServiceRules rules_;
  boost::asio::thread_pool disk_{1};  // syncs of large blobs block here, not the connections
};

/// The answer for an Error of the store or of a body.
Answer answerFor(const base::Error& error);

/// Milliseconds since 1970.
Moment now();

}  // namespace warder::collector
