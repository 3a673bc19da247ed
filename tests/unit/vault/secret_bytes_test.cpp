#include "secrets/vault/secret_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ostream>
#include <type_traits>

#include "supervisor/base/fd.h"

namespace warder::vault {
namespace {

using testing::HasSubstr;
using testing::Not;

template <class T>
concept Streamable = requires(std::ostream& out, const T& value) {
  out << value;
};

static_assert(!std::is_copy_constructible_v<SecretBytes>);
static_assert(!std::is_copy_assignable_v<SecretBytes>);
static_assert(!std::is_convertible_v<SecretBytes, std::string>);
static_assert(!std::is_convertible_v<SecretBytes, std::string_view>);
static_assert(!Streamable<SecretBytes>);
static_assert(!std::is_copy_constructible_v<LockedPages>);

base::Result<SecretBytes> read(std::string_view content) {
  const auto fd = base::sealedText("secret", content);
  return SecretBytes::read(fd->get(), "anthropic");
}

std::string refusalOf(std::string_view content) {
  const auto secret = read(content);
  return secret ? "" : secret.error().sentence();
}

TEST(SecretBytes, TakesOneFinalNewlineOff) {
  EXPECT_EQ(read("sk-ant-api03-x")->reveal(), "sk-ant-api03-x");
  EXPECT_EQ(read("sk-ant-api03-x\n")->reveal(), "sk-ant-api03-x");
  EXPECT_EQ(read("sk-ant-api03-x\r\n")->reveal(), "sk-ant-api03-x");
  EXPECT_THAT(refusalOf("sk-ant-api03-x\n\n"), HasSubstr("second line"));
}

TEST(SecretBytes, ReadsUpTo64KiBAndNotOneByteMore) {
  const std::string most(kMaxSecretBytes, 'k');
  EXPECT_EQ(read(most)->reveal(), most);
  EXPECT_EQ(read(most + "\r\n")->reveal(), most);
  EXPECT_THAT(refusalOf(most + "k"), HasSubstr("longer than 65536 bytes"));
  EXPECT_THAT(refusalOf(most + "kkk"), HasSubstr("longer than 65536 bytes"));
}

TEST(SecretBytes, RefusesWhatCannotBeAKeyAndNeverShowsIt) {
  const struct {
    std::string content;
    std::string sentence;
  } cases[] = {
      {"", "is empty"},
      {"\n", "is empty"},
      {"1234567", "shorter than 8 bytes"},
      {"hidden-a\thidden", "control character at byte 9"},
      {"hidden-a hidden", "a space"},
      {"hidden-a\nhidden", "second line"},
      {std::string("hidden-a\0b", 10), "NUL"},
      {"hidden-\xc3\xa4", "not ASCII"},
      {"hidden-a\x7f", "control character"},
  };
  for (const auto& one : cases) {
    EXPECT_THAT(refusalOf(one.content), HasSubstr(one.sentence));
    EXPECT_THAT(refusalOf(one.content), HasSubstr("\"anthropic\""));
    EXPECT_THAT(refusalOf(one.content), Not(HasSubstr("hidden")));
  }
  EXPECT_EQ(read("12345678")->reveal(), "12345678");
}

TEST(SecretBytes, MayHaveLinesWhereItsFormIsADocument) {
  const auto document = [](std::string_view content) {
    const auto fd = base::sealedText("secret", content);
    return SecretBytes::read(fd->get(), "aws", SecretBytes::Form::Document);
  };
  EXPECT_EQ(document("[a]\r\n\tb = c\n")->reveal(), "[a]\r\n\tb = c");
  EXPECT_THAT(document(std::string("hidden\0hidden", 13)).error().sentence(), HasSubstr("NUL"));
  EXPECT_THAT(document("hidden-\xc3\xa4").error().sentence(), HasSubstr("not ASCII"));
  EXPECT_THAT(document("a = b").error().sentence(), HasSubstr("shorter than 8"));
}

TEST(SecretBytes, ReadsFromAPipeInPieces) {
  auto pipe = base::makePipe();
  ASSERT_TRUE(base::writeAll(pipe->write.get(), "sk-ant-"));
  ASSERT_TRUE(base::writeAll(pipe->write.get(), "api03-piped\n"));
  pipe->write.reset();
  EXPECT_EQ(SecretBytes::read(pipe->read.get(), "x")->reveal(), "sk-ant-api03-piped");
}

TEST(SecretBytes, ComparesByContent) {
  EXPECT_TRUE(*read("same-content") == *read("same-content\n"));
  EXPECT_FALSE(*read("same-content") == *read("same-conteNt"));
  EXPECT_FALSE(*read("same-content") == *read("same-content-and-more"));
}

TEST(SecretBytes, MovesWithoutLeavingACopy) {
  auto first = read("sk-ant-api03-moved");
  const char* where = first->reveal().data();
  const SecretBytes second = std::move(*first);
  EXPECT_EQ(second.reveal().data(), where);
}

}  // namespace
}  // namespace warder::vault
