#include "supervisor/report/tree_import.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "supervisor/base/fd.h"
#include "supervisor/report/beneath.h"

namespace warder::report {

using base::Error;
using base::Kind;
using base::Result;
using base::Status;

namespace {

constexpr std::size_t kPiece = 64 * 1024;

/// Source: git-fast-import(1), "filemodify".
std::string quoted(const std::string& path) {
  std::string text = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text + '"';
}

class TreeStream {
 public:
  TreeStream(const ImportOrder& order, WorkTree& tree) : order_(order), tree_(tree) {}
  /// The next piece, empty at the end.
  std::string next();

 private:
  std::string head() const;
  Result<std::string> fileOf(const std::string& path) const;
  Result<std::string> regular(const std::string& path) const;
  Result<std::string> link(const std::string& path) const;

  const ImportOrder& order_;
  WorkTree& tree_;
  bool begun_ = false, done_ = false;
  std::size_t removed_ = 0, sent_ = 0;
};

std::string TreeStream::head() const {
  std::string text = "commit refs/heads/" + order_.branch +
                     "\ncommitter warder <warder@localhost> 0 +0000\ndata 0\n";
  if (!order_.onto.empty()) text += "from refs/heads/" + order_.onto + "^0\n";
  return text;
}

std::string TreeStream::next() {
  std::string piece;
  if (!std::exchange(begun_, true)) piece = head();
  while (piece.size() < kPiece && removed_ < tree_.removed.size())
    piece += "D " + quoted(tree_.removed[removed_++]) + "\n";
  while (piece.size() < kPiece && sent_ < tree_.files.size()) {
    const std::string& path = tree_.files[sent_++];
    auto file = fileOf(path);
    if (file)
      piece += *file;
    else
      tree_.left_out.push_back({path, file.error().sentence()});
  }
  if (piece.size() < kPiece && !std::exchange(done_, true)) piece += "\ndone\n";
  return piece;
}

Result<std::string> TreeStream::fileOf(const std::string& path) const {
  auto found = openBeneath(order_.workspace, path, O_PATH);
  if (!found) return found.error();
  struct stat status {};
  if (::fstat(found->get(), &status) != 0) return base::kernelError("cannot look at it");
  if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
    return Error{Kind::Config, kindOf(status.st_mode)};
  auto bytes = S_ISLNK(status.st_mode) ? link(path) : regular(path);
  if (!bytes) return bytes.error();
  const char* mode = S_ISLNK(status.st_mode)        ? "120000"
                     : (status.st_mode & 0100) != 0 ? "100755"
                                                    : "100644";
  return std::string("M ") + mode + " inline " + quoted(path) + "\ndata " +
         std::to_string(bytes->size()) + "\n" + *bytes + "\n";
}

Result<std::string> TreeStream::regular(const std::string& path) const {
  auto file = openBeneath(order_.workspace, path, O_RDONLY);
  if (!file) return file.error();
  auto bytes = base::readAll(file->get(), kLargestInPatch);
  if (!bytes) return bytes.error().during("reading it");
  return bytes;
}

Result<std::string> TreeStream::link(const std::string& path) const {
  const auto slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash);
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  auto place = openBeneath(order_.workspace, folder, O_PATH | O_DIRECTORY);
  if (!place) return place.error();
  char target[PATH_MAX];
  const ssize_t count = ::readlinkat(place->get(), name.c_str(), target, sizeof target);
  if (count < 0) return base::kernelError("cannot read the link");
  return std::string(target, static_cast<std::size_t>(count));
}

}  // namespace

Status importTree(const GitFolder& git, const ImportOrder& order, WorkTree& tree) {
  TreeStream stream(order, tree);
  // No deltas: they cost time, and nothing is kept for long.
  Command command = git.command({"fast-import", "--quiet", "--done", "--depth=0"});
  command.input = [&stream]() -> Result<std::string> { return stream.next(); };
  return git.run(std::move(command));
}

}  // namespace warder::report
