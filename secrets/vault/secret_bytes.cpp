#include "secrets/vault/secret_bytes.h"

#include <openssl/crypto.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace warder::vault {

using base::Error;
using base::Kind;
using base::Result;

void wipe(void* memory, std::size_t size) {
  OPENSSL_cleanse(memory, size);
}

Result<LockedPages> LockedPages::make(std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t whole = (size + page - 1) / page * page;
  void* memory = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return base::kernelError("cannot get memory for a secret");
  LockedPages pages(static_cast<char*>(memory), whole);
  if (::mlock(memory, whole) != 0)
    return base::kernelError("cannot lock memory for a secret (RLIMIT_MEMLOCK)");
  if (::madvise(memory, whole, MADV_DONTDUMP) != 0 || ::madvise(memory, whole, MADV_DONTFORK) != 0)
    return base::kernelError("cannot keep a secret's memory out of core files");
  return pages;
}

LockedPages::LockedPages(LockedPages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

LockedPages& LockedPages::operator=(LockedPages&& other) noexcept {
  LockedPages moved(std::move(other));
  std::swap(data_, moved.data_);
  std::swap(size_, moved.size_);
  return *this;
}

LockedPages::~LockedPages() {
  if (data_ == nullptr) return;
  wipe(data_, size_);
  ::munmap(data_, size_);
}

namespace {

std::size_t withoutNewline(const char* text, std::size_t length) {
  if (length > 0 && text[length - 1] == '\n') --length;
  if (length > 0 && text[length - 1] == '\r') --length;
  return length;
}

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

base::Status checkContent(std::string_view content, SecretBytes::Form form,
                          const std::string& subject) {
  const std::size_t length = content.size();
  if (length == 0) return Error{Kind::Config, subject + " is empty"};
  if (length < kMinSecretBytes)
    return Error{Kind::Config, subject + " is shorter than 8 bytes, which is no key"};
  const auto wrong = std::find_if(content.begin(), content.end(), [form](char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (form == SecretBytes::Form::Document && isBlank(c)) return false;
    return byte <= 0x20 || byte >= 0x7f;
  });
  if (wrong == content.end()) return {};
  const auto byte = static_cast<unsigned char>(*wrong);
  const std::string what = byte == 0      ? "a NUL byte"
                           : byte >= 0x80 ? "a byte that is not ASCII"
                           : byte == ' '  ? "a space"
                           : byte == '\n' ? "a second line"
                                          : "a control character";
  return Error{Kind::Config, subject + " holds " + what + " at byte " +
                                 std::to_string(wrong - content.begin() + 1)};
}

}  // namespace

Result<SecretBytes> SecretBytes::read(int fd, std::string_view name, Form form) {
  const std::string subject = "the secret \"" + std::string(name) + "\"";
  auto pages = LockedPages::make(1);
  if (!pages) return pages.error();
  std::size_t length = 0;
  for (;;) {
    if (length == pages->size()) {
      auto larger = LockedPages::make(pages->size() * 2);
      if (!larger) return larger.error();
      std::memcpy(larger->data(), pages->data(), length);
      *pages = std::move(*larger);
    }
    const ssize_t count = ::read(fd, pages->data() + length, pages->size() - length);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return base::kernelError("cannot read " + subject);
    if (count == 0) break;
    length += static_cast<std::size_t>(count);
    // Two more for a final CRLF.
    if (length > kMaxSecretBytes + 2)
      return Error{Kind::Config, subject + " is longer than 65536 bytes"};
  }
  length = withoutNewline(pages->data(), length);
  if (length > kMaxSecretBytes) return Error{Kind::Config, subject + " is longer than 65536 bytes"};
  if (auto fine = checkContent({pages->data(), length}, form, subject); !fine) return fine.error();
  return SecretBytes(std::move(*pages), length);
}

Result<SecretBytes> SecretBytes::copyOf(std::string_view content, std::string_view name,
                                        Form form) {
  const std::string subject = "the secret \"" + std::string(name) + "\"";
  if (content.size() > kMaxSecretBytes)
    return Error{Kind::Config, subject + " is longer than 65536 bytes"};
  if (auto fine = checkContent(content, form, subject); !fine) return fine.error();
  auto pages = LockedPages::make(content.size());
  if (!pages) return pages.error();
  std::memcpy(pages->data(), content.data(), content.size());
  return SecretBytes(std::move(*pages), content.size());
}

bool operator==(const SecretBytes& left, const SecretBytes& right) {
  return left.length_ == right.length_ &&
         CRYPTO_memcmp(left.pages_.data(), right.pages_.data(), left.length_) == 0;
}

}  // namespace warder::vault
