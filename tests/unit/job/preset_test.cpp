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
