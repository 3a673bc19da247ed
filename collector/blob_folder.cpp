#include "collector/blob_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

namespace warder::collector {

namespace {

base::Status makeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return base::kernelError("cannot make the folder " + path);
  return {};
}

base::Status syncFolder(const std::string& path) {
  auto folder = base::openFile(path, O_RDONLY | O_DIRECTORY);
  if (!folder) return folder.error();
  if (::fsync(folder->get()) != 0) return base::kernelError("cannot sync the folder " + path);
  return {};
}

}  // namespace

IncomingBlob::IncomingBlob(std::string temporary, base::UniqueFd file)
    : temporary_(std::move(temporary)),
      file_(std::move(file)),
      hash_(std::make_unique<journal::Sha256>()) {}

IncomingBlob::IncomingBlob(IncomingBlob&& other) noexcept
    : temporary_(std::exchange(other.temporary_, {})),
      file_(std::move(other.file_)),
      hash_(std::move(other.hash_)) {}

IncomingBlob::~IncomingBlob() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

base::Status IncomingBlob::write(std::string_view bytes) {
  hash_->update(bytes);
  return base::writeAll(file_.get(), bytes);
}

std::string IncomingBlob::digest() {
  return hash_->hex();
}

base::Result<BlobFolder> BlobFolder::open(const std::string& data) {
  for (const char* folder : {"/blobs", "/incoming"})
    if (auto made = makeFolder(data + folder); !made) return made.error();
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(data + "/incoming", ignored))
    ::unlink(entry.path().c_str());
  if (auto synced = syncFolder(data); !synced) return synced.error();
  return BlobFolder(data);
}

std::string BlobFolder::pathOf(const std::string& digest) const {
  return data_ + "/blobs/" + digest.substr(0, 2) + "/" + digest;
}

bool BlobFolder::has(const std::string& digest) const {
  return journal::isHexDigest(digest) && ::access(pathOf(digest).c_str(), F_OK) == 0;
}

base::Result<StoredBlob> BlobFolder::find(const std::string& digest) const {
  if (!journal::isHexDigest(digest)) return base::Error{base::Kind::NotFound, "no such blob"};
  auto file = base::openFile(pathOf(digest), O_RDONLY);
  if (!file) return file.error();
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return base::kernelError("cannot ask for a blob's size");
  return StoredBlob{std::move(*file), static_cast<std::uint64_t>(status.st_size)};
}

base::Result<IncomingBlob> BlobFolder::begin() {
  std::string path = data_ + "/incoming/" + std::to_string(++next_);
  auto file = base::openFile(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file) return file.error();
  return IncomingBlob(std::move(path), std::move(*file));
}

base::Status BlobFolder::keep(IncomingBlob& blob, const std::string& digest) const {
  if (::fsync(blob.fd()) != 0) return base::kernelError("cannot sync a blob");
  const std::string folder = data_ + "/blobs/" + digest.substr(0, 2);
  if (auto made = makeFolder(folder); !made) return made.error();
  if (::rename(blob.temporary().c_str(), pathOf(digest).c_str()) != 0)
    return base::kernelError("cannot name a blob");
  blob.kept();
  if (auto synced = syncFolder(folder); !synced) return synced.error();
  return syncFolder(data_ + "/blobs");
}

}  // namespace warder::collector
