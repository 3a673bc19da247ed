// Presets, and the small readers that job and preset files share.
#include "supervisor/job/preset.h"

#include <gmock/gmock.h>

#include "supervisor/job/digest.h"
#include "supervisor/job/fields.h"

namespace warder::job {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Source of the value: FIPS 180-2, appendix B.1.
TEST(Digest, IsSha256) {
  EXPECT_EQ(digestOf("abc"),
            "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Url, IsHttpsOrLoopback) {
  for (const char* url : {"https://a.example", "https://a.example/", "https://a.example:8443/x/y",
                          "https://10.0.0.1", "https://[2001:db8::1]:443/v1", "http://127.0.0.1:80",
                          "http://127.8.9.1/x", "http://[::1]:8080", "http://localhost"}) {
    EXPECT_EQ(whyNoUrl(url), "") << url;
  }
  for (const char* url : {"",
                          "a.example",
                          "ftp://a.example",
                          "http://a.example",
                          "https://",
                          "https:///x",
                          "https://u:p@a.example",
                          "https://a.example?x",
                          "https://a.example/x#y",
                          "https://a.example:0",
                          "https://a.example:65536",
                          "https://a.example:",
                          "https://a b",
                          "https://a.example/x y",
                          "https://a_b",
                          "https://[::1",
                          "https://-a",
                          "http://127.1",
                          "http://127.0.0.1.evil.example",
                          "HTTPS://a.example"}) {
    EXPECT_NE(whyNoUrl(url), "") << url;
  }
}

TEST(Preset, EveryShippedPresetReadsWithoutFaultAndIsNamedAsItsFile) {
  ASSERT_THAT(shippedPresetNames(), ElementsAre("claude-code"));
  for (const std::string& name : shippedPresetNames()) {
    const PresetReading reading = readShippedPreset(name, "");
    EXPECT_THAT(reading.faults, IsEmpty()) << name;
    EXPECT_EQ(reading.preset.name, name);
  }
}

std::string presetFaults(const std::string& more) {
  std::string all;
  const auto reading = readPresetText("version: 1\nname: a\nexecutable: [a]\n" + more, "p.yaml");
  for (const auto& fault : reading.faults) all += base::render(fault) + "\n";
  return all;
}

TEST(Preset, SeedsAreFilesBelowTheHomeFolderWithAnObjectInThem) {
  const auto reading = readShippedPreset("claude-code", "");
  ASSERT_EQ(reading.preset.seeds.size(), 1U);
  EXPECT_EQ(reading.preset.seeds[0].path, ".claude.json");
  EXPECT_THAT(reading.preset.seeds[0].json, HasSubstr("hasCompletedOnboarding"));
  const auto with = [](const std::string& file, const std::string& merge) {
    return presetFaults("seed:\n  - file: \"" + file + "\"\n    merge: '" + merge + "'\n");
  };
  EXPECT_EQ(with(".config/a.json", "{}"), "");
  for (const char* path : {"/etc/x", "../x", "a/../x", "a//x", "./x"})
    EXPECT_THAT(with(path, "{}"), HasSubstr("seed.file: ")) << path;
  EXPECT_THAT(with("a", "[]"), HasSubstr("seed.merge is no JSON object"));
  EXPECT_THAT(with("a", "{"), HasSubstr("seed.merge is not valid JSON"));
  EXPECT_THAT(presetFaults("seed: x\n"), HasSubstr("seed takes a list"));
  EXPECT_THAT(presetFaults("seed: [{file: a}]\n"), HasSubstr("seed.merge is missing"));
  EXPECT_THAT(presetFaults("seed: [{file: a, merge: \"{}\", mode: x}]\n"),
              HasSubstr("unknown key"));
}

TEST(Preset, MayPointItsAgentAtTheUnixSocketOfItsDoor) {
  const std::string rest = "unix_socket_env: ANTHROPIC_UNIX_SOCKET\n";
  EXPECT_EQ(presetFaults("secret: anthropic\n" + rest), "");
  EXPECT_THAT(presetFaults(rest), HasSubstr("unix_socket_env need secret"));
  EXPECT_THAT(presetFaults("secret: a\nunix_socket_env: 1X\n"), HasSubstr("\"1X\" is no name"));
  EXPECT_EQ(readShippedPreset("claude-code", "").preset.unix_socket_env, "");
}

TEST(Preset, NumberAndSizeOfSeedsAreTestedOnBothSides) {
  const auto many = [](std::size_t count) {
    std::string list = "seed:\n";
    for (std::size_t i = 0; i < count; ++i) list += "  - {file: a, merge: \"{}\"}\n";
    return presetFaults(list);
  };
  EXPECT_EQ(many(kMostSeeds), "");
  EXPECT_THAT(many(kMostSeeds + 1), HasSubstr("at most 16"));
  const auto large = [](std::size_t size) {
    const std::string json = "{\"a\":\"" + std::string(size - 8, 'x') + "\"}";
    return presetFaults("seed: [{file: a, merge: '" + json + "'}]\n");
  };
  EXPECT_EQ(large(kLargestSeed), "");
  EXPECT_THAT(large(kLargestSeed + 1), HasSubstr("larger than 64 KiB"));
}

TEST(Preset, FaultsAreToldWithTheirPlaces) {
  const PresetReading reading = readPresetText(
      "version: 1\nexecutable: []\nprompt: file\nstop_signal: KILL\nlast_words: json\n"
      "key_env: 1X\nrefuses_root: yes\nenv: [x]\nargs: []\n",
      "p.yaml");
  std::string all;
  for (const auto& fault : reading.faults) all += base::render(fault) + "\n";
  for (const char* part :
       {"p.yaml:1:1: name is missing", "executable takes a list with at least one name",
        "p.yaml:3:9: prompt: \"file\"", "p.yaml:4:14: stop_signal: \"KILL\"; known: TERM",
        "last_words: \"json\"", "key_env: \"1X\" is no name", "refuses_root takes true or false",
        "env takes NAME: value pairs", "unknown key \"args\"", "need secret"}) {
    EXPECT_THAT(all, HasSubstr(part));
  }
}

}  // namespace
}  // namespace warder::job
