// Heads of requests and answers, whole and in two pieces; what passes is checked for the promises
// that the rest of the broker rests on.
#include <cstdlib>

#include "secrets/answers.h"
#include "secrets/http/head.h"
#include "secrets/http/target.h"

using namespace warder::http;

namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

void checkRequest(std::string_view bytes) {
  const auto head = parseRequestHead(bytes);
  if (!head) return;
  int hosts = 0;
  for (const HeaderField& field : head->fields) {
    hosts += sameName(field.name, "host") ? 1 : 0;
    require(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
    require(field.name.find_first_of(": \t\r\n") == std::string::npos);
  }
  require(hosts == 1);
  const bool length = findField(head->fields, "content-length") != nullptr;
  const bool encoding = findField(head->fields, "transfer-encoding") != nullptr;
  require(!(length && encoding));
  require(encoding == (head->framing.kind == Framing::Kind::Chunked));
  const auto target = parseTarget(head->target);
  if (!target) return;
  require(target->path.starts_with('/') && target->path.find("//") == std::string::npos);
  require(target->path.find("/../") == std::string::npos);
  require(target->path + target->query == head->target);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::size_t whole = 0;
  HeadFault fault;
  const HeadScan scan = scanHead(bytes, whole, fault);
  std::size_t pieces = 0;
  HeadScan again = scanHead(bytes.substr(0, size / 2), pieces, fault);
  if (again == HeadScan::NeedMore) again = scanHead(bytes, pieces, fault);
  require(scan == again && (scan != HeadScan::Whole || whole == pieces));
  if (scan != HeadScan::Whole) return 0;
  checkRequest(bytes.substr(0, whole));
  if (const auto answer = parseResponseHead(bytes.substr(0, whole), false)) {
    const RequestHead request;
    const std::string head = clientHead(*answer, clientFraming(*answer, request));
    std::size_t end = 0;
    require(scanHead(head, end, fault) != HeadScan::Whole || end == head.size());
  }
  return 0;
}
