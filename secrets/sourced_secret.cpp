#include "secrets/sourced_secret.h"

#include <algorithm>
#include <boost/json/stream_parser.hpp>
#include <new>

#include "secrets/models/provider.h"
#include "secrets/secret_check.h"
#include "supervisor/base/units.h"

namespace warder::secrets {

namespace json = base::json;
using base::Error;
using base::Kind;
using base::Result;
using vault::SecretBytes;

namespace {

/// Memory for a document that holds a secret: wiped when it is given back.
class WipingResource final : public json::memory_resource {
  void* do_allocate(std::size_t size, std::size_t /*no more than new's own*/) override {
    return ::operator new(size);
  }
  void do_deallocate(void* memory, std::size_t size, std::size_t /*likewise*/) override {
    vault::wipe(memory, size);
    ::operator delete(memory);
  }
  bool do_is_equal(const json::memory_resource& other) const noexcept override {
    return this == &other;
  }
};

std::string subjectOf(const Grant& grant) {
  return "the secret \"" + grant.name + "\"";
}

/// `memory` must outlive the document. Null when the text is no JSON.
json::value parse(std::string_view text, WipingResource& memory) {
  boost::system::error_code failure;
  json::parse_options options;
  options.max_depth = 16;
  json::stream_parser parser(&memory, options);
  parser.reset(&memory);
  parser.write(text.data(), text.size(), failure);
  if (!failure) parser.finish(failure);
  if (failure) return json::value(nullptr, &memory);
  return parser.release();
}

const json::string* textAt(const json::value& object, std::string_view key) {
  const json::value* value = object.is_object() ? object.get_object().if_contains(key) : nullptr;
  return value != nullptr && value->is_string() ? &value->get_string() : nullptr;
}

/// Nothing where the document says none.
Result<std::optional<std::chrono::system_clock::time_point>> expiryIn(const json::value& document,
                                                                      const Grant& grant) {
  for (const char* key : {"expires_at", "Expiration", "expiration"}) {
    const json::string* text = textAt(document, key);
    if (text == nullptr) continue;
    const auto time = base::parseTime(std::string_view(*text));
    if (!time)
      return Error{Kind::Config, subjectOf(grant) + " came with " + key +
                                     ", which is no point in time (2026-12-24T18:00:00Z)"};
    if (*time <= std::chrono::system_clock::now())
      return Error{Kind::Config,
                   subjectOf(grant) + " came with " + key + " in the past: it is over already"};
    return std::optional(*time);
  }
  return std::optional<std::chrono::system_clock::time_point>();
}

Result<SourcedSecret> readDocument(SecretBytes output, SecretBytes::Form form, const Grant& grant) {
  WipingResource memory;
  const json::value document = parse(output.reveal(), memory);
  auto expiry = expiryIn(document, grant);
  if (!expiry) return expiry.error();
  // Its other keys are read where the secret is made a credential.
  if (form == SecretBytes::Form::Document) return SourcedSecret{std::move(output), *expiry};
  const json::string* text = textAt(document, "secret");
  if (text == nullptr)
    return Error{Kind::Config,
                 subjectOf(grant) + ": its program wrote a JSON object without a text \"secret\""};
  auto secret = SecretBytes::copyOf(std::string_view(*text), grant.name);
  if (!secret) return secret.error();
  return SourcedSecret{std::move(*secret), *expiry};
}

}  // namespace

Result<SourcedSecret> readSourced(int fd, const Grant& grant) {
  const auto provider = models::providerNamed(grant.provider);
  if (!provider) return provider.error();
  const SecretBytes::Form form = formOf(grant, *provider);
  const bool helper = grant.source.kind == GrantSource::Kind::Helper;
  auto read = SecretBytes::read(fd, grant.name, helper ? SecretBytes::Form::Document : form);
  if (!read && read.error().system_errno == EAGAIN)
    return Error{Kind::Config, subjectOf(grant) +
                                   ": its program ended, but something that it started still "
                                   "holds its output"};
  if (!read) return read.error();
  if (!helper) return SourcedSecret{std::move(*read), std::nullopt};
  if (read->reveal().starts_with('{')) return readDocument(std::move(*read), form, grant);
  if (form == SecretBytes::Form::Document) return SourcedSecret{std::move(*read), std::nullopt};
  auto key = SecretBytes::copyOf(read->reveal(), grant.name);
  if (!key) return key.error();
  return SourcedSecret{std::move(*key), std::nullopt};
}

Result<SourcedSecret> secretInVaultAnswer(std::string_view body, const Grant& grant) {
  const auto provider = models::providerNamed(grant.provider);
  if (!provider) return provider.error();
  WipingResource memory;
  const json::value document = parse(body, memory);
  const auto member = [](const json::value* object, std::string_view key) {
    return object != nullptr && object->is_object() ? object->get_object().if_contains(key)
                                                    : nullptr;
  };
  const json::value* data = member(member(&document, "data"), "data");
  if (data == nullptr || !data->is_object())
    return Error{Kind::Config, subjectOf(grant) +
                                   ": the Vault's answer has no data.data; is the path one of a "
                                   "key-value store, version 2 (MOUNT/data/NAME)?"};
  const json::string* text = textAt(*data, grant.source.field);
  if (text == nullptr)
    return Error{Kind::Config, subjectOf(grant) + ": what the Vault has at " + grant.source.path +
                                   " has no text " + grant.source.field};
  auto secret = SecretBytes::copyOf(std::string_view(*text), grant.name, formOf(grant, *provider));
  if (!secret) return secret.error();
  SourcedSecret sourced{std::move(*secret), std::nullopt};
  const json::value* lease = member(&document, "lease_duration");
  constexpr std::int64_t kLongestLease = 10LL * 365 * 24 * 3600;
  if (lease != nullptr && lease->is_int64() && lease->get_int64() > 0)
    sourced.expires_at = std::chrono::system_clock::now() +
                         std::chrono::seconds(std::min(lease->get_int64(), kLongestLease));
  return sourced;
}

}  // namespace warder::secrets
