// Typed reading. BC-079 words that parsers read as something else, BC-128 octal-looking modes.
#include "supervisor/base/yaml_fields.h"

#include <gmock/gmock.h>

#include <functional>

#include "supervisor/base/yaml_scalar.h"

namespace warder::base {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What `read` leaves as faults for the mapping in `text`.
std::string faultsOf(std::string_view text, const std::function<void(YamlFields&)>& read) {
  YamlFaults faults("f.yaml");
  const YamlPointer root = parseYaml(text, faults);
  if (root) {
    YamlFields fields(*root, "", faults);
    read(fields);
    fields.finish();
  }
  std::string all;
  for (const Fault& fault : faults.list()) all += render(fault) + "\n";
  return all;
}

TEST(YamlFields, Bc079WordsThatReadAsSomethingElseNeedQuotesWhereTextIsExpected) {
  for (const char* word :
       {"no",   "on",   "yes",  "y",     "~",   "1e3",   "0x1F", "1_000", "12:30",
        ".inf", "true", "null", "False", "off", "007",   "1.10", "-.5",   "2001-12-14",
        "0o17", "+1",   "=",    "0b101", "N",   "22:22", "NULL", "1.5E-3"}) {
    const std::string plain =
        faultsOf(std::string("a: ") + word, [](YamlFields& f) { EXPECT_FALSE(f.text("a")); });
    EXPECT_THAT(plain, HasSubstr("f.yaml:1:4: a takes text")) << word;
    EXPECT_THAT(plain, HasSubstr("quotes")) << word;
    for (const char* quote : {"'", "\""}) {
      const std::string text = std::string("a: ") + quote + word + quote;
      const std::string faults =
          faultsOf(text, [&](YamlFields& f) { EXPECT_EQ(f.text("a"), word); });
      EXPECT_THAT(faults, IsEmpty());
    }
  }
}

TEST(YamlFields, Bc079OrdinaryTextNeedsNoQuotes) {
  for (const char* word :
       {"node", "none", "1.2.3", "10.0.0.1", "nope", "1000:1000", "e3", "0xZZ", "example.org:443",
        "-", "v1", "1e", "_1", "2001-12", "12:99", "on-call"}) {
    EXPECT_EQ(otherReading(word), "") << word;
  }
}

TEST(YamlFields, Bc079ListsOfTextAreCheckedItemByItem) {
  const std::string faults =
      faultsOf("a: [de, no, 'no', on]", [](YamlFields& f) { EXPECT_FALSE(f.texts("a")); });
  EXPECT_THAT(faults, HasSubstr("f.yaml:1:9: a[1]"));
  EXPECT_THAT(faults, HasSubstr("f.yaml:1:19: a[3]"));
}

TEST(YamlFields, Bc079BooleansAreTrueAndFalseAndNothingElse) {
  EXPECT_EQ(faultsOf("a: true\nb: false",
                     [](YamlFields& f) {
                       EXPECT_EQ(f.boolean("a"), true);
                       EXPECT_EQ(f.boolean("b"), false);
                     }),
            "");
  for (const char* word : {"'false'", "\"true\"", "True", "yes", "no", "1", "on", "~", "[true]"}) {
    EXPECT_THAT(
        faultsOf(std::string("a: ") + word, [](YamlFields& f) { EXPECT_FALSE(f.boolean("a")); }),
        HasSubstr("a takes true or false"))
        << word;
  }
}

TEST(YamlFields, IntegersArePlainDecimalWithinTheirRange) {
  const auto read = [](YamlFields& f) { f.integer("a", {1, 10}); };
  EXPECT_EQ(faultsOf("a: 1", read), "");
  EXPECT_EQ(faultsOf("a: 10", read), "");
  for (const char* word :
       {"0", "11", "01", "+1", "-1", "1_0", "0x1", "1.0", "'1'", "1e1", "99999999999999999999"}) {
    EXPECT_THAT(faultsOf(std::string("a: ") + word, read), HasSubstr("from 1 to 10")) << word;
  }
}

TEST(YamlFields, Bc128ModesAreQuotedOctalOrZeroO) {
  for (const char* word : {"'0755'", "\"755\"", "0o755", "\"0o755\""}) {
    EXPECT_EQ(
        faultsOf(std::string("a: ") + word, [](YamlFields& f) { EXPECT_EQ(f.mode("a"), 0755U); }),
        "")
        << word;
  }
  for (const char* word : {"0755", "755", "010", "08", "22:22"}) {
    EXPECT_THAT(
        faultsOf(std::string("a: ") + word, [](YamlFields& f) { EXPECT_FALSE(f.mode("a")); }),
        HasSubstr("write octal digits in quotes"))
        << word;
  }
  for (const char* word :
       {"'08'", "'0o'", "0o1000", "'01777'", "'22:22'", "'12'", "''", "'00755'"}) {
    EXPECT_THAT(
        faultsOf(std::string("a: ") + word, [](YamlFields& f) { EXPECT_FALSE(f.mode("a")); }),
        HasSubstr("f.yaml:1:4"))
        << word;
  }
}

TEST(YamlFields, UnknownKeysNameTheNearestValidOne) {
  const std::string faults = faultsOf("artefacts: 1\nzzz: 1\npath: x\n", [](YamlFields& f) {
    f.find("artifacts");
    f.find("patch");
    f.text("path");
  });
  EXPECT_THAT(faults,
              HasSubstr("f.yaml:1:1: unknown key \"artefacts\"; did you mean \"artifacts\"?"));
  EXPECT_THAT(faults, HasSubstr("f.yaml:2:1: unknown key \"zzz\"; known: artifacts, patch, path"));
}

TEST(YamlFields, MissingKeysAndWrongTypesAreToldTogether) {
  const std::string faults = faultsOf("b: [x]\nc: {d: e}\n", [](YamlFields& f) {
    f.needText("a");
    f.text("b");
    f.texts("c");
  });
  EXPECT_THAT(faults, HasSubstr("f.yaml:1:1: a is missing"));
  EXPECT_THAT(faults, HasSubstr("f.yaml:1:4: b takes text; this is a list"));
  EXPECT_THAT(faults, HasSubstr("f.yaml:2:4: c takes a list of text; this is a mapping"));
}

TEST(YamlFields, AFileThatIsNoMappingLeavesOneFault) {
  EXPECT_EQ(faultsOf("[1, 2]", [](YamlFields& f) { f.need("a"); }),
            "f.yaml:1:1: the file takes keys with values; this is a list\n");
}

TEST(YamlFields, OnlyVersionOneIsKnown) {
  const auto read = [](YamlFields& f) { f.needVersion(); };
  EXPECT_EQ(faultsOf("version: 1", read), "");
  for (const char* text : {"version: 2", "version: '1'", "version: 1.0", "version: 01"}) {
    EXPECT_THAT(faultsOf(text, read), HasSubstr("only 1 is known")) << text;
  }
  EXPECT_THAT(faultsOf("version: '1'", read), HasSubstr("write it without quotes"));
  EXPECT_THAT(faultsOf("{}", read), HasSubstr("version is missing"));
}

TEST(Nearest, StaysSilentWhenNothingIsNear) {
  const std::vector<std::string> words{"artifacts", "patch"};
  EXPECT_EQ(nearest("pacth", words), "patch");
  EXPECT_EQ(nearest("Artifacts", words), "artifacts");
  EXPECT_EQ(nearest("quux", words), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), words), "");
}

}  // namespace
}  // namespace warder::base
