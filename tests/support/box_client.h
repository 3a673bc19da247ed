// A box as a client of the collector's protocol.
#pragma once
#include "collector/base64.h"
#include "supervisor/journal/digest.h"
#include "tests/support/collector_process.h"

namespace warder::support {

inline const std::string kRun = "3f1c2a54-0000-4000-8000-000000000001";

inline std::string fieldOf(const std::string& bytes) {
  return collector::digestField(journal::sha256Raw(bytes));
}

/// A box as a client of the protocol.
class Box {
 public:
  explicit Box(const CollectorProcess& collector, const std::string& run = kRun, int attempt = 1)
      : client(collector.address), lines(run, attempt) {}

  std::string path(const std::string& rest) const {
    return "/v1/runs/" + lines.run() + "/attempts/" + std::to_string(lines.attempt()) + rest;
  }
  Reply open(const std::string& created = "2026-11-30T02:13:13Z") {
    const boost::json::object identity{
        {"run_id", lines.run()}, {"attempt", lines.attempt()}, {"created", created}};
    return client.ask("POST", path("/open"),
                      boost::json::serialize(boost::json::object{{"identity", identity}}));
  }
  Reply events(std::size_t first, std::size_t last) {
    const std::string body = lines.body(first, last);
    return client.ask("POST", path("/events"), body,
                      {{"Content-Digest", fieldOf(body)},
                       {"Warder-Seq", std::to_string(first) + "-" + std::to_string(last)}});
  }
  Reply blob(const std::string& bytes) {
    return client.ask("PUT", path("/blobs/" + journal::sha256Hex(bytes)), bytes,
                      {{"Repr-Digest", fieldOf(bytes)}});
  }
  Reply report(const std::string& text) { return client.ask("PUT", path("/report"), text); }
  boost::json::value run() { return client.ask("GET", "/v1/runs/" + lines.run()).json(); }

  /// A whole run of four lines with one artifact.
  void work(const std::string& artifact = "artifact") {
    lines.add("run.started", {{"preset", "claude-code"}});
    lines.add("agent.exited", {{"code", 0}});
    lines.add("artifact.stored", {{"path", "out/a \"b\".html"},
                                  {"bytes", artifact.size()},
                                  {"sha256", "sha256:" + journal::sha256Hex(artifact)}});
    lines.add("run.finished", {{"outcome", {{"class", "ok"}}}});
  }

  Client client;
  JournalLines lines;
};

/// A report as short as one may be.
inline std::string reportOf(const std::string& outcome_class, std::uint64_t last_seq) {
  return boost::json::serialize(
      boost::json::object{{"schema", "warder.run-report/1"},
                          {"outcome", {{"class", outcome_class}, {"reason", "completed"}}},
                          {"artifacts", boost::json::array()},
                          {"events", {{"last_seq", last_seq}}}});
}

inline const std::string kReport = reportOf("ok", 4);

}  // namespace warder::support
