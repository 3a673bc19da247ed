#include "supervisor/courier/run_blobs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "supervisor/journal/digest.h"
#include "supervisor/journal/reader.h"
#include "supervisor/journal/scribe_protocol.h"

namespace warder::courier {

namespace {

std::string textOf(const journal::json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

base::Result<BlobFile> openRegular(const std::string& path) {
  auto file = base::openFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return file.error();
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return base::kernelError("cannot ask for " + path);
  if (!S_ISREG(status.st_mode)) return base::Error{base::Kind::Denied, path + " is no file"};
  return BlobFile{std::move(*file), static_cast<std::uint64_t>(status.st_size)};
}

}  // namespace

base::Status RunBlobs::readJournal() {
  journal::JournalTail tail(run_dir_);
  for (;;) {
    auto lines = tail.more();
    if (!lines) return lines.error();
    if (lines->empty()) return {};
    for (const auto& line : *lines) {
      if (line.text.find("output.closed") == std::string::npos) continue;
      const auto event = journal::eventOf(line);
      if (!event || event->type != "output.closed") continue;
      std::string digest = textOf(event->data, "sha256");
      if (digest.starts_with("sha256:")) digest.erase(0, 7);
      const std::string stream = textOf(event->data, "stream");
      if (stream == "stdout" || stream == "stderr")
        outputs_[digest] = std::string(journal::kOutputFolder) + "/" + stream;
    }
  }
}

base::Result<BlobFile> RunBlobs::open(const std::string& digest) const {
  if (!journal::isHexDigest(digest)) return base::Error{base::Kind::NotFound, "no such blob"};
  auto blob = openRegular(run_dir_ + "/" + journal::kBlobFolder + "/" + digest);
  if (blob || blob.error().kind != base::Kind::NotFound) return blob;
  const auto output = outputs_.find(digest);
  if (output == outputs_.end()) return blob;
  return openRegular(run_dir_ + "/" + output->second);
}

}  // namespace warder::courier
