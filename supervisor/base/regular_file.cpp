#include "supervisor/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "supervisor/base/fd.h"

namespace warder::base {

Result<std::string> readRegularFile(const std::string& path, std::size_t limit) {
  const auto file = openFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return file.error();
  struct stat facts {};
  if (::fstat(file->get(), &facts) != 0) return kernelError("cannot look at " + path);
  if (S_ISDIR(facts.st_mode)) return Error{Kind::Config, path + " is a folder, not a file"};
  if (!S_ISREG(facts.st_mode)) return Error{Kind::Config, path + " is no regular file"};
  auto text = readAll(file->get(), limit);
  if (!text) return text.error().during(path);
  return text;
}

}  // namespace warder::base
