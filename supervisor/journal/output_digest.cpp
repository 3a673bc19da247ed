#include "supervisor/journal/output_digest.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "supervisor/base/fd.h"
#include "supervisor/journal/clean_text.h"

namespace warder::journal {

void OutputDigest::extend(std::string_view part) {
  constexpr std::string_view kBlank = " \t\r\v\f";
  if (open_.blank) open_.blank = part.find_first_not_of(kBlank) == std::string_view::npos;
  open_.bytes += part.size();
  open_.text += part.substr(0, kMaxLastLine - open_.text.size());
}

void OutputDigest::add(std::string_view bytes) {
  digest_.update(bytes);
  bytes_ += bytes.size();
  for (auto end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    extend(bytes.substr(0, end));
    if (!open_.blank) std::swap(last_, open_);
    open_.text.clear();
    open_.bytes = 0;
    open_.blank = true;
    bytes.remove_prefix(end + 1);
  }
  extend(bytes);
}

json::object OutputDigest::finish(std::string_view stream) {
  const bool complete = open_.blank;
  const Kept& line = complete ? last_ : open_;
  BoundedLine bounded = boundedLine(line.text, kMaxPrintedLastLine);
  json::object data{{"stream", stream},
                    {"bytes", bytes_},
                    {"sha256", "sha256:" + digest_.hex()},
                    {"last_line", bounded.text},
                    {"last_line_complete", complete},
                    {"last_line_bytes", line.bytes}};
  if (bounded.cut || line.bytes > line.text.size()) data["last_line_cut"] = true;
  return data;
}

base::Result<json::object> digestOfOutput(const std::string& path, std::string_view stream) {
  auto fd = base::openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!fd) return fd.error();
  OutputDigest digest;
  std::vector<char> buffer(256 * 1024);
  for (;;) {
    const ssize_t count = ::read(fd->get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::kernelError("cannot read " + path);
    if (count == 0) return digest.finish(stream);
    digest.add({buffer.data(), static_cast<std::size_t>(count)});
  }
}

}  // namespace warder::journal
