#include "supervisor/init/lent_files.h"

namespace warder::init {

namespace {
constexpr std::size_t kMaxCaFile = 4 << 20;  // as job_files
}

base::Result<std::string> LentFiles::lendFile(const std::string& path) {
  if (path.empty()) return path;
  auto text = base::readFile(path, kMaxCaFile);
  if (!text) return text.error();
  auto copy = base::sealedText("ca_file", *text);
  if (!copy) return copy.error();
  const int number = lend(copy->get());
  files_.push_back(std::move(*copy));
  return pathByFd(number);
}

}  // namespace warder::init
