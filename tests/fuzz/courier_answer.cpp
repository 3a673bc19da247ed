// Answers of a collector: read in pieces, judged for every kind of request.
#include "supervisor/courier/answer.h"

using namespace warder::courier;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 64;
  const bool to_head = (data[0] & 128) != 0;
  const std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  AnswerReader reader(to_head);
  std::string buffer;
  bool whole = false;
  for (std::size_t at = 0; at < bytes.size() && !whole; at += piece) {
    buffer += bytes.substr(at, piece);
    const auto taken = reader.take(buffer);
    if (!taken) return 0;
    whole = *taken;
  }
  if (!whole && !reader.end()) return 0;
  const HttpAnswer answer = reader.answer();
  for (const Ask asked : {Ask::Open, Ask::Events, Ask::Blob, Ask::Report})
    (void)stepAfter(asked, answer, 1'800'000'000);
  return 0;
}
