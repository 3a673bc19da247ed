// Secrets in memory: own pages, locked, left out of core files, wiped. They cannot be copied,
// printed or turned into a string.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::vault {

inline constexpr std::size_t kMaxSecretBytes = 65'536;
/// A shorter one would be found, and replaced, in answers that never held it.
inline constexpr std::size_t kMinSecretBytes = 8;

/// Overwrites memory in a way that the compiler cannot leave out.
void wipe(void* memory, std::size_t size);

/// Pages of their own: mlock, MADV_DONTDUMP, MADV_DONTFORK; wiped before they are given back.
class LockedPages {
 public:
  /// Errors: Kernel when the pages cannot be had or locked (RLIMIT_MEMLOCK).
  static base::Result<LockedPages> make(std::size_t size);
  LockedPages(LockedPages&& other) noexcept;
  LockedPages& operator=(LockedPages&& other) noexcept;
  LockedPages(const LockedPages&) = delete;
  LockedPages& operator=(const LockedPages&) = delete;
  ~LockedPages();

  char* data() const { return data_; }
  std::size_t size() const { return size_; }

 private:
  LockedPages(char* data, std::size_t size) : data_(data), size_(size) {}
  char* data_ = nullptr;
  std::size_t size_ = 0;
};

class SecretBytes {
 public:
  /// Key: one word of printable ASCII. Document: spaces, tabs and line ends too, for credentials of
  /// several parts (AWS).
  enum class Form { Key, Document };

  /// Reads to the end of `fd` straight into locked pages; one final newline (LF or CRLF) is taken
  /// off. `name` is the job's name for it, for the sentences; they never hold the content.
  /// Errors: Config when it is shorter than 8 bytes or longer than 64 KiB, or holds a byte that its
  /// form has not; Kernel.
  static base::Result<SecretBytes> read(int fd, std::string_view name, Form form = Form::Key);

  /// A copy of `content` in locked pages of its own, under the rules of read(). Errors: as read's.
  static base::Result<SecretBytes> copyOf(std::string_view content, std::string_view name,
                                          Form form = Form::Key);

  SecretBytes(SecretBytes&&) noexcept = default;
  SecretBytes& operator=(SecretBytes&&) noexcept = default;
  SecretBytes(const SecretBytes&) = delete;
  SecretBytes& operator=(const SecretBytes&) = delete;

  /// A view into the locked pages. Whoever asks must not copy it.
  std::string_view reveal() const { return {pages_.data(), length_}; }
  /// In constant time for equal lengths.
  friend bool operator==(const SecretBytes& left, const SecretBytes& right);

 private:
  SecretBytes(LockedPages pages, std::size_t length) : pages_(std::move(pages)), length_(length) {}
  LockedPages pages_;
  std::size_t length_;
};

/// For buffers through which an upstream's answer passes, since an upstream may echo a secret:
/// wiped whenever memory is given back.
template <class T>
struct WipingAllocator {
  using value_type = T;
  WipingAllocator() = default;
  template <class U>
  WipingAllocator(const WipingAllocator<U>&) {}
  T* allocate(std::size_t count) { return std::allocator<T>{}.allocate(count); }
  void deallocate(T* memory, std::size_t count) {
    wipe(memory, count * sizeof(T));
    std::allocator<T>{}.deallocate(memory, count);
  }
  friend bool operator==(const WipingAllocator&, const WipingAllocator&) { return true; }
};

using WipedBytes = std::vector<char, WipingAllocator<char>>;

inline std::string_view viewOf(const WipedBytes& bytes) {
  return {bytes.data(), bytes.size()};
}
inline void append(WipedBytes& bytes, std::string_view more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}
/// Takes `count` bytes off the front.
inline void dropFront(WipedBytes& bytes, std::size_t count) {
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace warder::vault
