// AWS's published vectors ("aws-sig-v4-test-suite"): what is asked, and the signature that it has.
#include "secrets/vault/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "secrets/vault/credential.h"
#include "tests/support/secret.h"

namespace warder::vault {
namespace {

using testing::HasSubstr;
using testing::Not;

// Of no bytes, and of "Param1=value1".
constexpr std::string_view kNothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr std::string_view kParam1 =
    "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e";
constexpr std::time_t kThen = 1440938160;  // 2015-08-30 12:36:00 UTC
constexpr std::string_view kId = "AKIDEXAMPLE";
constexpr std::string_view kSecret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
constexpr std::string_view kToken =
    "AQoDYXdzEPT//////////"
    "wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx"
    "7"
    "mSEI/"
    "qkPpKPi/"
    "kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNV"
    "X"
    "AkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+"
    "scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

Credential suiteCredential(std::string_view token = "", std::string service = "service",
                           std::string region = "us-east-1") {
  std::string text = "aws_access_key_id = " + std::string(kId) +
                     "\naws_secret_access_key = " + std::string(kSecret) + "\n";
  if (!token.empty()) text += "aws_session_token = " + std::string(token) + "\n";
  CredentialKind kind;
  kind.kind = CredentialKind::Kind::SigV4;
  kind.region = std::move(region);
  kind.service = std::move(service);
  return *Credential::make(kind, *secretOf(text));
}

std::string linesOf(const Credential& credential, const SigningCase& request) {
  WipedBytes lines;
  const auto status = credential.sign(request, lines);
  EXPECT_TRUE(status) << status.error().sentence();
  return {lines.data(), lines.size()};
}

struct Vector {
  const char* name;
  std::string method;
  std::string target;
  http::HeaderFields fields;
  std::string signed_names;
  std::string signature;
  std::string_view payload = kNothing;
};

const std::string kAlphabet = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const std::string kRoot = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
const std::string kPost = "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b";
const std::string kPlain = "host;x-amz-date";
const std::string kWithOne = "host;my-header1;x-amz-date";

const Vector kVectors[] = {
    {"get-vanilla", "GET", "/", {}, kPlain, kRoot},
    {"get-header-key-duplicate",
     "GET",
     "/",
     {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}},
     kWithOne,
     "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"},
    {"get-header-value-order",
     "GET",
     "/",
     {{"My-Header1", "value4"},
      {"My-Header1", "value1"},
      {"My-Header1", "value3"},
      {"My-Header1", "value2"}},
     kWithOne,
     "08c7e5a9acfcfeb3ab6b2185e75ce8b1deb5e634ec47601a50643f830c755c01"},
    {"get-header-value-trim",
     "GET",
     "/",
     {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}},
     "host;my-header1;my-header2;x-amz-date",
     "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"},
    {"get-unreserved",
     "GET",
     "/" + kAlphabet,
     {},
     kPlain,
     "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f"},
    {"get-utf8",
     "GET",
     "/\xe1\x88\xb4",
     {},
     kPlain,
     "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"},
    {"get-vanilla-empty-query-key",
     "GET",
     "/?Param1=value1",
     {},
     kPlain,
     "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb"},
    {"get-vanilla-query-order-key-case",
     "GET",
     "/?Param2=value2&Param1=value1",
     {},
     kPlain,
     "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"},
    {"get-vanilla-query-order-key",
     "GET",
     "/?Param1=value2&Param1=Value1",
     {},
     kPlain,
     "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1"},
    {"get-vanilla-query-order-value",
     "GET",
     "/?Param1=value2&Param1=value1",
     {},
     kPlain,
     "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694"},
    {"get-vanilla-query-order-encoded",
     "GET",
     "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
     {},
     kPlain,
     "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac"},
    {"get-vanilla-query-unreserved",
     "GET",
     "/?" + kAlphabet + "=" + kAlphabet,
     {},
     kPlain,
     "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197"},
    {"get-vanilla-utf8-query",
     "GET",
     "/?\xe1\x88\xb4=bar",
     {},
     kPlain,
     "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04"},
    {"get-relative", "GET", "/example/..", {}, kPlain, kRoot},
    {"get-relative-relative", "GET", "/example1/example2/../..", {}, kPlain, kRoot},
    {"get-slash", "GET", "//", {}, kPlain, kRoot},
    {"get-slash-dot-slash", "GET", "/./", {}, kPlain, kRoot},
    {"get-slash-pointless-dot",
     "GET",
     "/./example",
     {},
     kPlain,
     "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5"},
    {"get-slashes",
     "GET",
     "//example//",
     {},
     kPlain,
     "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84"},
    {"get-space",
     "GET",
     "/example space/",
     {},
     kPlain,
     "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741"},
    {"post-vanilla", "POST", "/", {}, kPlain, kPost},
    {"post-header-key-sort",
     "POST",
     "/",
     {{"My-Header1", "value1"}},
     kWithOne,
     "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"},
    {"post-header-value-case",
     "POST",
     "/",
     {{"My-Header1", "VALUE1"}},
     kWithOne,
     "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d"},
    {"post-vanilla-query",
     "POST",
     "/?Param1=value1",
     {},
     kPlain,
     "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11"},
    {"post-x-www-form-urlencoded",
     "POST",
     "/",
     {{"Content-Type", "application/x-www-form-urlencoded"}, {"Content-Length", "13"}},
     "content-type;host;x-amz-date",
     "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
     kParam1},
};

SigningCase caseOf(const Vector& vector) {
  const std::string_view target = vector.target;
  const std::size_t mark = std::min(target.find('?'), target.size());
  SigningCase request;
  request.method = vector.method;
  request.host = "example.amazonaws.com";
  request.path = target.substr(0, mark);
  request.query = target.substr(std::min(mark + 1, target.size()));
  request.fields = vector.fields;
  request.payload_hash = vector.payload;
  request.time = kThen;
  return request;
}

TEST(SigV4, SignsAsAwsPublishedIt) {
  const Credential credential = suiteCredential();
  for (const Vector& vector : kVectors) {
    SCOPED_TRACE(vector.name);
    EXPECT_EQ(linesOf(credential, caseOf(vector)),
              "X-Amz-Date: 20150830T123600Z\r\n"
              "Authorization: AWS4-HMAC-SHA256 "
              "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=" +
                  vector.signed_names + ", Signature=" + vector.signature + "\r\n");
  }
}

TEST(SigV4, SignsTheTokenOfASession) {  // post-sts-header-before
  const Vector post{"", "POST", "/", {}, "", ""};
  EXPECT_EQ(linesOf(suiteCredential(kToken), caseOf(post)),
            "X-Amz-Date: 20150830T123600Z\r\nX-Amz-Security-Token: " + std::string(kToken) +
                "\r\nAuthorization: AWS4-HMAC-SHA256 "
                "Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
                "SignedHeaders=host;x-amz-date;x-amz-security-token, "
                "Signature=85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead\r\n");
}

TEST(SigV4, LeavesOutWhatTheAgentSentInItsPlace) {
  const Vector forged{"",
                      "GET",
                      "/",
                      {{"Host", "evil.example"},
                       {"x-amz-date", "20200101T000000Z"},
                       {"X-Amz-Security-Token", "its own"},
                       {"Authorization", "its own"},
                       {"User-Agent", "a proxy may change it"}},
                      "",
                      ""};
  const Vector plain{"", "GET", "/", {}, "", ""};
  const Credential credential = suiteCredential();
  EXPECT_EQ(linesOf(credential, caseOf(forged)), linesOf(credential, caseOf(plain)));
}

TEST(SigV4, SignsForAnotherDayAndRegionWithAnotherKey) {
  const Credential credential = suiteCredential("", "bedrock", "");
  const Vector post{"", "POST", "/model/a.b-v2%3A0/invoke", {}, "", ""};
  SigningCase request = caseOf(post);
  std::vector<std::string> lines;
  for (const char* host :
       {"bedrock-runtime.us-east-1.amazonaws.com", "bedrock-runtime.eu-west-3.amazonaws.com",
        "bedrock-runtime.us-east-1.amazonaws.com"}) {
    request.host = host;
    lines.push_back(linesOf(credential, request));
  }
  EXPECT_THAT(lines[0], HasSubstr("/20150830/us-east-1/bedrock/"));
  EXPECT_THAT(lines[1], HasSubstr("/20150830/eu-west-3/bedrock/"));
  EXPECT_EQ(lines[0], lines[2]);
  request.time += 86'400;
  EXPECT_THAT(linesOf(credential, request), HasSubstr("/20150831/us-east-1/bedrock/"));
}

TEST(SigV4, EncodesAPathThatIsEncodedOnceMoreButNotForS3) {
  Vector post{"", "POST", "/model/a%3A0/invoke", {}, "", ""};
  const std::string bedrock = linesOf(suiteCredential("", "bedrock"), caseOf(post));
  post.target = "/model/a:0/invoke";  // signed as a%3A0, where the other one is a%253A0
  EXPECT_NE(bedrock, linesOf(suiteCredential("", "bedrock"), caseOf(post)));
  Vector slashes{"", "GET", "//a/../b", {}, "", ""};
  const std::string s3 = linesOf(suiteCredential("", "s3"), caseOf(slashes));
  slashes.target = "/b";
  EXPECT_NE(s3, linesOf(suiteCredential("", "s3"), caseOf(slashes)));
}

TEST(SigV4, TellsS3TheHashOfThePayload) {
  SigningCase request = caseOf(kVectors[0]);
  EXPECT_THAT(linesOf(suiteCredential("", "s3"), request),
              HasSubstr("\r\nX-Amz-Content-Sha256: " + std::string(kNothing) + "\r\n"));
  request.payload_hash = kUnsignedPayload;
  EXPECT_THAT(linesOf(suiteCredential("", "other"), request),
              HasSubstr("SignedHeaders=host;x-amz-content-sha256;x-amz-date,"));
}

TEST(SigV4, RefusesToSignWithoutARegion) {
  const Credential credential = suiteCredential("", "bedrock", "");
  SigningCase request = caseOf(kVectors[0]);
  const std::string long_region = std::string(65, 'r') + ".amazonaws.com";
  for (const std::string& host : {std::string("gateway.example"), "bedrock." + long_region}) {
    request.host = host;
    WipedBytes lines;
    const auto status = credential.sign(request, lines);
    ASSERT_FALSE(status);
    EXPECT_THAT(status.error().sentence(), HasSubstr("region"));
    EXPECT_TRUE(lines.empty());
  }
  const std::string longest = "bedrock." + long_region.substr(1);
  request.host = longest;
  EXPECT_THAT(linesOf(credential, request), HasSubstr("rrr/bedrock/aws4_request"));
}

TEST(SigV4, KnowsTheRegionInAnEndpointsName) {
  EXPECT_EQ(regionOfHost("bedrock-runtime.us-east-1.amazonaws.com"), "us-east-1");
  EXPECT_EQ(regionOfHost("bedrock-runtime.us-east-1.amazonaws.com:443"), "us-east-1");
  EXPECT_EQ(regionOfHost("sts.cn-north-1.amazonaws.com.cn"), "cn-north-1");
  EXPECT_EQ(regionOfHost("sts.amazonaws.com"), "");
  EXPECT_EQ(regionOfHost("a.b.us-east-1.amazonaws.com"), "");
  EXPECT_EQ(regionOfHost("us-east-1.amazonaws.com.example"), "");
}

}  // namespace
}  // namespace warder::vault
