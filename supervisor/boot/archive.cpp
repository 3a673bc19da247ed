#include "supervisor/boot/archive.h"

#include <algorithm>
#include <optional>

#include "supervisor/base/fault.h"

namespace warder::boot {

using base::Error;
using base::Kind;
using base::Status;

namespace {

constexpr std::size_t kBlock = 512;

struct Field {
  std::size_t at;
  std::size_t size;
};
// Source: POSIX.1-1988, ustar interchange format.
constexpr Field kName{0, 100}, kSize{124, 12}, kChecksum{148, 8}, kMagic{257, 5}, kPrefix{345, 155};
constexpr std::size_t kType = 156;

Error refuse(std::string sentence) {
  return Error{Kind::Config, "the job's archive " + std::move(sentence)};
}

std::string text(std::string_view block, Field field) {
  const auto value = block.substr(field.at, field.size);
  return std::string(value.substr(0, value.find('\0')));
}

std::optional<std::size_t> octal(std::string_view block, Field field) {
  std::size_t value = 0;
  bool digits = false;
  for (const char c : block.substr(field.at, field.size)) {
    if (c == ' ' && !digits) continue;
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return {};
    value = value * 8 + static_cast<std::size_t>(c - '0');
    digits = true;
  }
  if (!digits) return {};
  return value;
}

/// The sum of all bytes, the field of the sum itself counted as blanks.
std::size_t checksum(std::string_view block) {
  std::size_t sum = kChecksum.size * ' ';
  for (std::size_t i = 0; i < kBlock; ++i)
    if (i < kChecksum.at || i >= kChecksum.at + kChecksum.size)
      sum += static_cast<unsigned char>(block[i]);
  return sum;
}

/// "./a//b/" is "a/b". Nothing when the path leaves the folder.
std::optional<std::string> plainPath(std::string_view path) {
  if (path.starts_with('/') || path.size() > kLongestJobPath) return {};
  std::string plain;
  while (!path.empty()) {
    const auto end = path.find('/');
    const auto part = path.substr(0, end);
    path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
    if (part.empty() || part == ".") continue;
    if (part == "..") return {};
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return plain;
}

}  // namespace

Status ArchiveReader::feed(std::string_view bytes) {
  while (!bytes.empty() && !complete_) {
    const auto part = bytes.substr(0, kBlock - rest_.size());
    rest_ += part;
    bytes.remove_prefix(part.size());
    if (rest_.size() < kBlock) break;
    const std::string block = std::exchange(rest_, {});
    if (auto taken = takeBlock(block); !taken) return taken;
  }
  return {};
}

Status ArchiveReader::takeBlock(std::string_view block) {
  if (missing_ > 0) {
    const auto part = block.substr(0, std::min(missing_, kBlock));
    files_.back().content += part;
    missing_ -= part.size();
    return {};
  }
  const bool zero = std::all_of(block.begin(), block.end(), [](char c) { return c == 0; });
  if (!zero && zero_before_) return refuse("goes on behind an empty block");
  complete_ = zero && zero_before_;
  zero_before_ = zero;
  return zero ? Status() : takeHeader(block);
}

Status ArchiveReader::takeHeader(std::string_view block) {
  const auto sum = octal(block, kChecksum);
  if (text(block, kMagic) != "ustar" || !sum || *sum != checksum(block))
    return refuse("is no tar archive, or is damaged; make it with: tar --format=ustar");
  const auto size = octal(block, kSize);
  std::string name = text(block, kName);
  if (const auto prefix = text(block, kPrefix); !prefix.empty()) name = prefix + "/" + name;
  const auto path = plainPath(name);
  if (!path) return refuse("holds the path " + base::inQuotes(name) + ", which leaves its folder");
  const char type = block[kType];
  if (type == '5') {
    if (++folders_ > kMostJobFiles) return refuse("holds more than 256 folders");
    return {};
  }
  if (type != '0' && type != '\0')
    return refuse("holds " + base::inQuotes(name) +
                  ", which is neither a plain file nor a folder; make it with: tar --format=ustar "
                  "--dereference");
  if (!size) return refuse("says no size of " + base::inQuotes(name));
  return addFile(*path, *size);
}

Status ArchiveReader::addFile(std::string path, std::size_t size) {
  if (path.empty()) return refuse("holds a file without a name");
  if (files_.size() == kMostJobFiles) return refuse("holds more than 256 files");
  if (size > kMostJobBytes - total_) return refuse("holds more than 16 MiB");
  for (const auto& file : files_)
    if (file.path == path) return refuse("holds " + base::inQuotes(path) + " twice");
  total_ += size;
  missing_ = size;
  files_.push_back({std::move(path), {}});
  return {};
}

}  // namespace warder::boot
