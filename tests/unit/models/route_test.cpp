#include "secrets/models/route.h"

#include <gtest/gtest.h>

#include "secrets/models/provider.h"

namespace warder::models {
namespace {

const std::vector<Route> kRoutes = {
    {"POST", "/v1/messages", true, Dialect::Anthropic},
    {"POST", "/v1beta/models/{model}:generateContent", true, Dialect::Gemini},
    {"GET", "/v1beta/models/{model}", false, Dialect::None},
    {"GET", "/*/*/info/refs", false, Dialect::None},
    {"*", "/repos/**", false, Dialect::None},
};

TEST(Route, IsFoundByMethodAndPath) {
  EXPECT_EQ(routeOf(kRoutes, "POST", "/v1/messages").route, &kRoutes[0]);
  EXPECT_EQ(routeOf(kRoutes, "GET", "/a/b.git/info/refs").route, &kRoutes[3]);
  EXPECT_EQ(routeOf(kRoutes, "PATCH", "/repos/a/b/issues/1").route, &kRoutes[4]);
  EXPECT_EQ(routeOf(kRoutes, "GET", "/repos").route, &kRoutes[4]);
  const Routed other_method = routeOf(kRoutes, "GET", "/v1/messages");
  EXPECT_EQ(other_method.route, nullptr);
  EXPECT_TRUE(other_method.known_path);
}

TEST(Route, NamesTheModelThatStandsInThePath) {
  const Routed gemini = routeOf(kRoutes, "POST", "/v1beta/models/gemini-2.5-pro:generateContent");
  EXPECT_EQ(gemini.route, &kRoutes[1]);
  EXPECT_EQ(gemini.model, "gemini-2.5-pro");
  EXPECT_EQ(routeOf(kRoutes, "GET", "/v1beta/models/a%3Ab%2").model, "a:b%2");
  EXPECT_EQ(routeOf(kRoutes, "POST", "/v1/messages").model, "");
}

// BC-028: no other path of the host.
TEST(Route, IsNothingThatOnlyLooksLikeOne) {
  const char* const paths[] = {"",
                               "v1/messages",
                               "/v1",
                               "/v1/messages/",
                               "/v1/messages/batches",
                               "/v1/messages;x",
                               "/V1/messages",
                               "/v1/%6dessages",
                               "//v1/messages",
                               "/v1beta/models/:generateContent",
                               "/v1beta/models/a/b:generateContent",
                               "/v1beta/models/a:generateContentX",
                               "/a/info/refs",
                               "/a/b/c/info/refs",
                               "/reposx/a"};
  for (const char* path : paths) EXPECT_EQ(routeOf(kRoutes, "POST", path).route, nullptr) << path;
}

TEST(Pattern, HasOneStarInASegmentAndTwoOnlyAtItsEnd) {
  for (const char* fine : {"/", "/**", "/a/*/b", "/a/x*y/b", "/a/{model}:b", "/a/**"})
    EXPECT_EQ(whyNoPattern(fine), "") << fine;
  for (const char* wrong : {"", "a", "/**/a", "/a**", "/*a*", "/{model}{model}", "/*{model}",
                            "/{model}*", "/a/{mod", "/a}"})
    EXPECT_NE(whyNoPattern(wrong), "") << wrong;
}

bool isDenied(const char* provider, const char* host, const char* method, const char* path) {
  return credentialEndpoint(providerNamed(provider)->denied, host, method, path) != nullptr;
}

// BC-028: what makes credentials is refused, however it is spelled.
TEST(CredentialEndpoint, IsKnownInEverySpelling) {
  for (const char* path :
       {"/v1/organizations", "/v1/organizations/", "/v1/organizations/x/api_keys",
        "/v1/%6frganizations", "/V1/Organizations", "/v1;a=b/organizations;c",
        "//v1//organizations", "/v1/%6Frganizations%2fapi_keys"})
    EXPECT_TRUE(isDenied("anthropic", "api.anthropic.com", "GET", path)) << path;
  EXPECT_TRUE(isDenied("anthropic", "api.anthropic.com", "POST", "/v1/oauth/token"));
  EXPECT_FALSE(isDenied("anthropic", "api.anthropic.com", "POST", "/v1/messages"));
  EXPECT_FALSE(isDenied("anthropic", "example.org", "GET", "/v1/organizations"));
}

TEST(CredentialEndpoint, OfEachProviderIsKnown) {
  EXPECT_TRUE(isDenied("openai", "api.openai.com", "POST", "/v1/organization/admin_api_keys"));
  EXPECT_TRUE(isDenied("openai", "api.openai.com", "POST", "/v1/realtime/client_secrets"));
  EXPECT_FALSE(isDenied("openai", "api.openai.com", "POST", "/v1/responses"));
  EXPECT_TRUE(isDenied("gemini", "oauth2.googleapis.com", "POST", "/token"));
  EXPECT_TRUE(isDenied("bedrock", "sts.amazonaws.com", "POST", "/"));
  EXPECT_TRUE(isDenied("bedrock", "sts.eu-west-1.amazonaws.com", "GET", "/"));
  EXPECT_FALSE(isDenied("bedrock", "sts.a.b.amazonaws.com", "GET", "/"));
  EXPECT_FALSE(isDenied("bedrock", "sts..amazonaws.com", "GET", "/"));
  EXPECT_FALSE(isDenied("bedrock", "s3.eu-west-1.amazonaws.com", "GET", "/"));
  EXPECT_TRUE(isDenied("github", "github.com", "POST", "/login/oauth/access_token"));
  EXPECT_TRUE(isDenied("github", "api.github.com", "POST", "/app/installations/1/access_tokens"));
  EXPECT_TRUE(isDenied("github", "api.github.com", "POST", "/repos/a/b/keys"));
  EXPECT_TRUE(isDenied("github", "api.github.com", "POST", "/repositories/17/keys"));
  EXPECT_TRUE(isDenied("github", "api.github.com", "PUT", "/repos/a/b/actions/secrets/X"));
  EXPECT_TRUE(isDenied("github", "api.github.com", "POST",
                       "/repos/a/b/actions/runners/registration-token"));
  EXPECT_FALSE(isDenied("github", "api.github.com", "GET", "/repos/a/b/issues"));
  EXPECT_FALSE(isDenied("github", "github.com", "GET", "/a/login.git/info/refs"));
}

}  // namespace
}  // namespace warder::models
