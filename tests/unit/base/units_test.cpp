// Sizes (BC-080), durations, percentages and modes as people write them.
#include "supervisor/base/units.h"

#include <gmock/gmock.h>

namespace warder::base {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t kGibi = 1024ULL * 1024 * 1024;

TEST(Size, Bc080EveryUnitHasOneDocumentedMeaning) {
  const std::pair<const char*, std::uint64_t> table[] = {{"4Gi", 4 * kGibi},
                                                         {"4GiB", 4 * kGibi},
                                                         {"4g", 4 * kGibi},
                                                         {"4gb", 4 * kGibi},
                                                         {"4G", 4'000'000'000},
                                                         {"4GB", 4'000'000'000},
                                                         {"0.5Gi", kGibi / 2},
                                                         {"1Ki", 1024},
                                                         {"1k", 1024},
                                                         {"1kb", 1024},
                                                         {"1K", 1000},
                                                         {"1KB", 1000},
                                                         {"8192Mi", 8 * kGibi},
                                                         {"1.5M", 1'500'000},
                                                         {"1Ti", 1024 * kGibi},
                                                         {"1t", 1024 * kGibi},
                                                         {"1T", 1'000'000'000'000},
                                                         {"0Mi", 0},
                                                         {"128m", 128 * 1024 * 1024},
                                                         {"0.001K", 1}};
  for (const auto& [text, bytes] : table) {
    const auto size = parseSize(text);
    ASSERT_TRUE(size) << text << ": " << size.error().sentence();
    EXPECT_EQ(*size, bytes) << text;
  }
}

TEST(Size, Bc080ABareNumberIsRefusedWithASuggestion) {
  EXPECT_THAT(parseSize("8192").error().sentence(), HasSubstr("write for example 8192Mi"));
  EXPECT_THAT(parseSize("0").error().sentence(), HasSubstr("has no unit"));
}

TEST(Size, Bc080NonsenseIsRefused) {
  for (const char* text : {"-1",
                           "1e9",
                           "9999999Ti",
                           "4 Gi",
                           "",
                           "Gi",
                           ".5Gi",
                           "1.Gi",
                           "04Gi",
                           "+1Gi",
                           "4GIB",
                           "4gib",
                           "4Gb",
                           "4B",
                           "1.0000000001Gi",
                           "1_000Mi",
                           "0x10Mi",
                           "4Gi ",
                           " 4Gi",
                           "1,5Gi",
                           "4Pi",
                           "99999999999999999999Ki",
                           "0.3Ki",
                           "1.5.5Gi"}) {
    EXPECT_FALSE(parseSize(text)) << text;
  }
}

TEST(Size, OverflowIsTestedOnBothSides) {
  EXPECT_EQ(*parseSize("8388607Ti"), 8388607ULL << 40);
  EXPECT_THAT(parseSize("8388608Ti").error().sentence(), HasSubstr("more than 2^63-1"));
  EXPECT_THAT(parseSize("16777216Ti").error().sentence(), HasSubstr("more than 2^63-1"));
}

TEST(Duration, NeedsUnitsInFallingOrder) {
  using std::chrono::milliseconds;
  EXPECT_EQ(*parseDuration("4h"), milliseconds(14'400'000));
  EXPECT_EQ(*parseDuration("1h30m"), milliseconds(5'400'000));
  EXPECT_EQ(*parseDuration("1d2h3m4s5ms"), milliseconds(93'784'005));
  EXPECT_EQ(*parseDuration("250ms"), milliseconds(250));
  EXPECT_EQ(*parseDuration("0s"), milliseconds(0));
  EXPECT_THAT(parseDuration("90").error().sentence(), HasSubstr("write for example 90s"));
  for (const char* text : {"", "h", "30m1h", "1h1h", "1.5h", "-1s", "1 h", "1hour", "1H", "1w",
                           "1s1", "s1", "99999999999999999d", "18446744073709551615ms"}) {
    EXPECT_FALSE(parseDuration(text)) << text;
  }
}

TEST(Duration, LengthIsTestedOnBothSides) {
  EXPECT_TRUE(parseDuration("3650d"));
  EXPECT_FALSE(parseDuration("3650d1ms"));
  EXPECT_FALSE(parseDuration("3651d"));
}

TEST(Percent, IsFromOneToNinetyNine) {
  EXPECT_EQ(*parsePercent("1%"), 1);
  EXPECT_EQ(*parsePercent("99%"), 99);
  for (const char* text : {"0%", "100%", "70", "07%", "7.5%", "%", "-1%", "70 %", ""}) {
    EXPECT_FALSE(parsePercent(text)) << text;
  }
}

TEST(Mode, IsBoundedByPermissionBits) {
  EXPECT_EQ(*parseMode("0777"), 0777U);
  EXPECT_EQ(*parseMode("0o0"), 0U);
  EXPECT_FALSE(parseMode("1000"));
  EXPECT_FALSE(parseMode("0o77777777777777777777"));
  EXPECT_FALSE(parseMode("8"));
}

TEST(Count, IsAPlainNumberOrOneWithAUnit) {
  EXPECT_EQ(*parseCount("0"), 0U);
  EXPECT_EQ(*parseCount("500"), 500U);
  EXPECT_EQ(*parseCount("500k"), 500'000U);
  EXPECT_EQ(*parseCount("1.5M"), 1'500'000U);
  EXPECT_EQ(*parseCount("1G"), 1'000'000'000U);
  EXPECT_EQ(*parseCount("1000000000000000"), 1'000'000'000'000'000U);
  EXPECT_EQ(*parseCount("1000000G"), 1'000'000'000'000'000U);
  for (const char* wrong : {"", "1000000000000001", "1000001G", "1.5", "0.0001k", "05", "20m", "-1",
                            "1e3", "1 k", "k", "1.k", ".5k", "99999999999999999999"})
    EXPECT_FALSE(parseCount(wrong)) << wrong;
}

TEST(Dollars, ArePlainDecimalAndMoreThanNothing) {
  EXPECT_EQ(*parseDollars("25"), 25.0);
  EXPECT_EQ(*parseDollars("0.50"), 0.5);
  EXPECT_EQ(*parseDollars("0.000001"), 0.000001);
  EXPECT_EQ(*parseDollars("1000000000"), 1e9);
  for (const char* wrong : {"", "0", "0.0", "0.0000001", "1000000000.1", "1000000001", "-1", "1e3",
                            "$5", "5USD", "inf", "nan", "1."})
    EXPECT_FALSE(parseDollars(wrong)) << wrong;
}

TEST(Time, NeedsSecondsAndAZone) {
  const auto seconds = [](const char* text) {
    const auto time = parseTime(text);
    return time ? std::chrono::system_clock::to_time_t(*time) : -1;
  };
  EXPECT_EQ(seconds("1970-01-01T00:00:00Z"), 0);
  EXPECT_EQ(seconds("2030-01-01T00:00:00Z"), 1'893'456'000);
  EXPECT_EQ(seconds("2030-01-01T00:00:00.123456789Z"), 1'893'456'000);
  EXPECT_EQ(seconds("2030-01-01T01:30:00+01:30"), 1'893'456'000);
  EXPECT_EQ(seconds("2029-12-31T23:00:00-01:00"), 1'893'456'000);
  EXPECT_EQ(seconds("2028-02-29T00:00:00z"), 1'835'395'200);
  EXPECT_GT(seconds("2199-12-31T23:59:60Z"), 0);
  for (const char* wrong :
       {"", "2030-01-01", "2030-01-01T00:00:00", "2030-01-01 00:00:00Z", "2030-02-29T00:00:00Z",
        "1969-12-31T23:59:59Z", "2200-01-01T00:00:00Z", "2030-01-01T24:00:00Z",
        "2030-01-01T00:60:00Z", "2030-01-01T00:00:61Z", "2030-01-01T00:00:00.Z",
        "2030-01-01T00:00:00+1:00", "2030-01-01T00:00:00+24:00", "2030-01-01T00:00:00+01:60",
        "2030-01-01T00:00:00Zx", "2030-13-01T00:00:00Z"})
    EXPECT_FALSE(parseTime(wrong)) << wrong;
}

TEST(Print, ShowsTheEffectiveValue) {
  EXPECT_EQ(printSize(1), "1 byte");
  EXPECT_EQ(printSize(512), "512 bytes");
  EXPECT_EQ(printSize(4'000'000'000), "4000000000 bytes (3.725 GiB)");
  EXPECT_EQ(printSize(kGibi), "1073741824 bytes (1 GiB)");
  EXPECT_EQ(printDuration(std::chrono::milliseconds(5'400'000)), "1h30m");
  EXPECT_EQ(printDuration(std::chrono::milliseconds(0)), "0ms");
  EXPECT_EQ(printMode(022), "0022");
  EXPECT_EQ(printMode(0755), "0755");
}

}  // namespace
}  // namespace warder::base
