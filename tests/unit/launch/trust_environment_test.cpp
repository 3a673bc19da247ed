// Which variables tell the agent's programs of the run's CA and of a proxy, and which are left.
#include "supervisor/launch/trust_environment.h"

#include <gmock/gmock.h>

namespace warder::launch {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kProxyNames[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
                                       "http_proxy", "https_proxy", "all_proxy"};

TrustRequest inBox() {
  TrustRequest request;
  request.folder = "/run/trust";
  return request;
}

TrustRequest advisory() {
  TrustRequest request = inBox();
  request.transparent = false;
  request.proxy_port = 7400;
  return request;
}

// BC-005: a variable that replaces a program's roots never names the run's CA alone.
TEST(TrustEnvironment, NamesTheBundleWhereRootsAreReplacedAndTheCaAloneWhereTheyAreAddedTo) {
  const auto made = trustEnvironment(inBox());
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT",
                           "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "npm_config_cafile",
                           "AWS_CA_BUNDLE", "YARN_HTTPS_CA_FILE_PATH", "CODEX_CA_CERTIFICATE"})
    EXPECT_EQ(made.set.at(name), "/run/trust/bundle.pem") << name;
  EXPECT_EQ(made.set.at("NODE_EXTRA_CA_CERTS"), "/run/trust/run-ca.pem");
  EXPECT_EQ(made.set.at("DENO_CERT"), "/run/trust/run-ca.pem");
  EXPECT_EQ(made.set.at("JAVA_TOOL_OPTIONS"), "-Djavax.net.ssl.trustStore=/run/trust/java.jks");
  EXPECT_FALSE(made.set.contains("SSL_CERT_DIR"));
  EXPECT_THAT(made.warnings, IsEmpty());
}

TEST(TrustEnvironment, LeavesWhatTheJobSaysItselfAndTellsSo) {  // BC-004
  auto request = inBox();
  request.job_env = {{"SSL_CERT_FILE", "/workspace/own.pem"}, {"NPM_CONFIG_CAFILE", "/own"}};
  const auto made = trustEnvironment(request);
  EXPECT_FALSE(made.set.contains("SSL_CERT_FILE"));
  EXPECT_FALSE(made.set.contains("npm_config_cafile"));
  EXPECT_TRUE(made.set.contains("CURL_CA_BUNDLE"));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("SSL_CERT_FILE is the job's own"),
                                         HasSubstr("NPM_CONFIG_CAFILE is the job's own")));
}

TEST(TrustEnvironment, ReplacesWhatIsOnlyInherited) {
  auto request = inBox();
  request.inherited = {{"SSL_CERT_FILE", "/image/own.pem"}, {"NPM_CONFIG_CAFILE", "/image/npm"}};
  const auto made = trustEnvironment(request);
  EXPECT_EQ(made.set.at("SSL_CERT_FILE"), "/run/trust/bundle.pem");
  EXPECT_THAT(made.unset, ElementsAre("NPM_CONFIG_CAFILE"));
}

TEST(NamedBundles, AreWhatThePlaceWasMadeToTrust) {
  const auto named = namedBundles({{"SSL_CERT_FILE", "/image/own.pem"},
                                   {"CURL_CA_BUNDLE", "/image/own.pem"},
                                   {"NPM_CONFIG_CAFILE", "/image/npm"},
                                   {"PIP_CERT", "relative"},
                                   {"NODE_EXTRA_CA_CERTS", "/image/corp.pem"}});
  EXPECT_THAT(named.replacing, ElementsAre("/image/npm", "/image/own.pem"));
  EXPECT_THAT(named.adding, ElementsAre("/image/corp.pem"));
}

TEST(TrustEnvironment, AddsToJavasOptions) {
  auto request = inBox();
  request.inherited = {{"JAVA_TOOL_OPTIONS", "-Xmx1g"}};
  EXPECT_EQ(trustEnvironment(request).set.at("JAVA_TOOL_OPTIONS"),
            "-Xmx1g -Djavax.net.ssl.trustStore=/run/trust/java.jks");
  request.job_env = {{"JAVA_TOOL_OPTIONS", "-Xmx2g"}};
  EXPECT_EQ(trustEnvironment(request).set.at("JAVA_TOOL_OPTIONS"),
            "-Xmx2g -Djavax.net.ssl.trustStore=/run/trust/java.jks");
  request.job_env = {{"JAVA_TOOL_OPTIONS", "-Djavax.net.ssl.trustStore=/own.jks"}};
  const auto made = trustEnvironment(request);
  EXPECT_FALSE(made.set.contains("JAVA_TOOL_OPTIONS"));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("names a trust store of the job's own")));
}

TEST(TrustEnvironment, TellsWgetWhereItsOwnFileIs) {
  auto request = inBox();
  EXPECT_FALSE(trustEnvironment(request).set.contains("SYSTEM_WGETRC"));
  request.wgetrc = true;
  EXPECT_EQ(trustEnvironment(request).set.at("SYSTEM_WGETRC"), "/run/trust/wgetrc");
}

TEST(TrustEnvironment, NamesNoProxyWhereTheNetworkIsTransparent) {
  auto request = inBox();
  request.proxy_port = 7400;
  request.inherited = {{"HTTPS_PROXY", "http://corp:3128"}, {"no_proxy", "corp"}};
  request.job_env = {{"http_proxy", "http://mine:1"}};
  const auto made = trustEnvironment(request);
  for (const char* name : kProxyNames) EXPECT_FALSE(made.set.contains(name)) << name;
  EXPECT_THAT(made.unset, ElementsAre("HTTPS_PROXY"));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("http_proxy is the job's own")));
}

TEST(TrustEnvironment, NamesTheProxyInBothCasesWithoutUserInfo) {  // BC-026, BC-109
  const auto made = trustEnvironment(advisory());
  for (const char* name : kProxyNames) EXPECT_EQ(made.set.at(name), "http://127.0.0.1:7400");
  EXPECT_EQ(made.set.at("NODE_USE_ENV_PROXY"), "1");
  EXPECT_THAT(made.set.at("JAVA_TOOL_OPTIONS"),
              testing::AllOf(HasSubstr("-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=7400"),
                             HasSubstr("-Dhttp.nonProxyHosts=localhost|")));
}

TEST(TrustEnvironment, KeepsLocalServersAwayFromTheProxy) {  // BC-007
  auto request = advisory();
  auto made = trustEnvironment(request);
  EXPECT_EQ(made.set.at("NO_PROXY"), "localhost,127.0.0.1,::1");
  EXPECT_EQ(made.set.at("no_proxy"), "localhost,127.0.0.1,::1");
  request.job_env = {{"no_proxy", "127.0.0.1,intern.example"}};
  made = trustEnvironment(request);
  EXPECT_EQ(made.set.at("NO_PROXY"), "127.0.0.1,intern.example,localhost,::1");
  EXPECT_EQ(made.set.at("no_proxy"), made.set.at("NO_PROXY"));
}

TEST(TrustEnvironment, LeavesAProxyOfTheJobsOwnAndReplacesAnInheritedOne) {
  auto request = advisory();
  request.job_env = {{"HTTPS_PROXY", "http://mine:1"}};
  request.inherited = {{"https_proxy", "http://corp:3128"}, {"grpc_proxy", "http://corp:3128"}};
  const auto made = trustEnvironment(request);
  EXPECT_FALSE(made.set.contains("HTTPS_PROXY"));
  EXPECT_EQ(made.set.at("https_proxy"), "http://127.0.0.1:7400");
  EXPECT_THAT(made.unset, ElementsAre("grpc_proxy"));
  EXPECT_THAT(made.warnings, ElementsAre(HasSubstr("go past the broker")));
}

TEST(TrustEnvironment, NamesNoProxyWhereThereIsNone) {
  auto request = advisory();
  request.proxy_port = 0;
  for (const char* name : kProxyNames)
    EXPECT_FALSE(trustEnvironment(request).set.contains(name)) << name;
}

TEST(DisabledChecks, AreNamed) {  // BC-110
  const Variables bad = {{"NODE_TLS_REJECT_UNAUTHORIZED", "0"},
                         {"GIT_SSL_NO_VERIFY", ""},
                         {"PYTHONHTTPSVERIFY", "0"},
                         {"NPM_CONFIG_STRICT_SSL", "False"},
                         {"PIP_TRUSTED_HOST", "pypi.example"},
                         {"GOINSECURE", "*"},
                         {"MAVEN_OPTS", "-Xmx1g -Dmaven.wagon.http.ssl.insecure=true"}};
  const auto sentences = disabledChecks(bad);
  EXPECT_EQ(sentences.size(), bad.size());
  EXPECT_THAT(sentences, Contains(HasSubstr("NODE_TLS_REJECT_UNAUTHORIZED switches off Node's")));
  EXPECT_THAT(sentences, Contains(HasSubstr("in MAVEN_OPTS")));
}

TEST(DisabledChecks, AreNotSeenWhereChecksAreOn) {
  EXPECT_THAT(disabledChecks({{"NODE_TLS_REJECT_UNAUTHORIZED", "1"},
                              {"PYTHONHTTPSVERIFY", "1"},
                              {"npm_config_strict_ssl", "true"},
                              {"PIP_TRUSTED_HOST", ""},
                              {"MAVEN_OPTS", "-Xmx1g"}}),
              IsEmpty());
}

TEST(UncoveredPrograms, AreToldOncePerName) {
  EXPECT_THAT(uncoveredPrograms({"curl", "firefox", "firefox-esr", "chromium"}),
              ElementsAre(HasSubstr("Chromium keeps certificates of its own"),
                          HasSubstr("Firefox keeps certificates of its own")));
  EXPECT_THAT(programsWithOwnRoots(), Contains("firefox"));
  EXPECT_THAT(uncoveredPrograms({"curl"}), IsEmpty());
}

}  // namespace
}  // namespace warder::launch
