#include "collector/service.h"

#include <algorithm>
#include <span>

#include "supervisor/base/embedded.h"
#include "supervisor/base/log.h"

namespace warder::collector {

/// Generated from collector/page.
std::span<const base::EmbeddedFile> page_files();

namespace {

constexpr std::string_view kPagePolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

Right rightFor(const Request& request, const Target& target) {
  if (target.resource == Resource::Health) return Right::None;
  const bool brings = request.method == Method::Post || request.method == Method::Put;
  if (brings) return Right::Ingest;
  if (request.method == Method::Head && target.resource == Resource::Blob) return Right::Either;
  return Right::Read;
}

bool methodFits(Method method, Resource resource) {
  const bool looks = method == Method::Get || method == Method::Head;
  switch (resource) {
    case Resource::None:
      return false;
    case Resource::Asset:
    case Resource::Health:
    case Resource::Runs:
    case Resource::Run:
      return looks;
    case Resource::Open:
      return method == Method::Post;
    case Resource::Events:
      return looks || method == Method::Post;
    case Resource::Blob:
      return looks || method == Method::Put;
    case Resource::Report:
      return method == Method::Put;
  }
  return false;
}

std::string_view mediaTypeOf(std::string_view name) {
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  return "text/javascript; charset=utf-8";
}

}  // namespace

Moment now() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

Answer answerFor(const base::Error& error) {
  if (error.system_errno == ENOSPC || error.system_errno == EDQUOT) {
    base::log(base::Level::Error, "the disk of the collector is full: " + error.sentence());
    Answer full = errorAnswer(507, "disk_full", "the collector's disk is full");
    full.headers.emplace_back("Retry-After", "30");
    return full;
  }
  switch (error.kind) {
    case base::Kind::NotFound:
      return errorAnswer(404, "not_found", error.doing);
    case base::Kind::Config:
      return errorAnswer(400, "malformed", error.doing);
    case base::Kind::Denied:
      return errorAnswer(422, "fork", error.doing);
    default:
      break;
  }
  base::log(base::Level::Error, "answered 503: " + error.sentence());
  Answer trouble = errorAnswer(503, "trouble", "the collector cannot store at the moment");
  trouble.headers.emplace_back("Retry-After", "5");
  return trouble;
}

Service::Service(Store& store, Access access, ServiceRules rules)
    : store_(store), access_(std::move(access)), rules_(rules) {}

Answer Service::refuse(Verdict verdict) const {
  if (verdict == Verdict::Forbidden)
    return errorAnswer(403, "forbidden", "this token has another purpose");
  if (verdict == Verdict::WrongHost)
    return errorAnswer(421, "wrong_host",
                       "this collector answers to names of this machine only, since it has no "
                       "read token");
  Answer answer = errorAnswer(401, "unauthenticated", "a token is needed");
  answer.headers.emplace_back("WWW-Authenticate", "Basic realm=\"warder\", charset=\"UTF-8\"");
  return answer;
}

Service::Reply Service::answer(Request request, Body* body) {
  const Target target = parseTarget(request.target);
  if (rules_.loopback_only && access_.readIsOpen() && !isLoopbackHost(request.host))
    co_return refuse(Verdict::WrongHost);
  if (target.resource == Resource::None)
    co_return errorAnswer(404, "not_found", "there is nothing at this address");
  const Verdict verdict = access_.decide(rightFor(request, target), request.authorization);
  if (verdict != Verdict::Allowed) co_return refuse(verdict);
  if (!methodFits(request.method, target.resource))
    co_return errorAnswer(405, "method", "this address does not take that method");
  if (request.method == Method::Post || request.method == Method::Put) {
    auto brought = bring(std::move(request), target, body);
    co_return co_await std::move(brought);
  }
  Answer answer = look(request, target);
  answer.without_body = request.method == Method::Head;
  co_return answer;
}

Answer Service::look(const Request& request, const Target& target) {
  switch (target.resource) {
    case Resource::Health:
      return jsonAnswer({{"ok", true}});
    case Resource::Asset:
      return page(target);
    case Resource::Events:
      return eventLines(target);
    case Resource::Blob:
      return blobFile(request, target);
    case Resource::Runs: {
      auto runs = store_.listRuns(target.before);
      return runs ? jsonAnswer(*runs) : answerFor(runs.error());
    }
    case Resource::Run: {
      auto run = store_.describeRun(target.run);
      return run ? jsonAnswer(*run) : answerFor(run.error());
    }
    default:
      return errorAnswer(404, "not_found", "there is nothing at this address");
  }
}

Answer Service::page(const Target& target) const {
  const auto files = page_files();
  const auto file = std::find_if(files.begin(), files.end(),
                                 [&](const auto& each) { return each.name == target.asset; });
  if (file == files.end()) return errorAnswer(404, "not_found", "there is no such page");
  Answer answer;
  answer.headers.emplace_back("Content-Type", mediaTypeOf(target.asset));
  answer.headers.emplace_back("Content-Security-Policy", kPagePolicy);
  answer.body = file->text;
  return answer;
}

Answer Service::eventLines(const Target& target) {
  auto lines = store_.events({target.run, target.attempt}, target.after);
  if (!lines) return answerFor(lines.error());
  Answer answer;
  answer.headers.emplace_back("Content-Type", "application/x-ndjson");
  answer.body = std::move(*lines);
  return answer;
}

Answer Service::blobFile(const Request& request, const Target& target) {
  std::string name = "blob";
  if (request.method == Method::Get) {
    auto known = store_.blobName({target.run, target.attempt}, target.blob);
    if (!known) return answerFor(known.error());
    name = attachmentName(*known);
  }
  auto blob = store_.blobs().find(target.blob);
  if (!blob) return errorAnswer(404, "not_found", "this blob has not been received");
  Answer answer;
  answer.file = std::move(blob->file);
  answer.length = blob->bytes;
  if (const auto range = parseRange(request.range, blob->bytes)) {
    if (range->length == 0 && blob->bytes > 0)
      return errorAnswer(416, "range", "the range lies outside the blob");
    if (range->length > 0) {
      answer.status = 206;
      answer.offset = range->first;
      answer.length = range->length;
      answer.headers.emplace_back("Content-Range",
                                  "bytes " + std::to_string(range->first) + "-" +
                                      std::to_string(range->first + range->length - 1) + "/" +
                                      std::to_string(blob->bytes));
    }
  }
  answer.headers.emplace_back("Content-Type", "application/octet-stream");
  answer.headers.emplace_back("Content-Disposition", "attachment; filename=\"" + name + "\"");
  answer.headers.emplace_back("Content-Security-Policy", "sandbox; default-src 'none'");
  answer.headers.emplace_back("Accept-Ranges", "bytes");
  return answer;
}

}  // namespace warder::collector
