#include "supervisor/launch/trust_environment.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include "supervisor/launch/trust_files.h"

namespace warder::launch {

namespace {

/// Each replaces the roots of the programs that read it, or is read like a whole bundle.
constexpr const char* kReplacing[] = {
    "SSL_CERT_FILE",       // OpenSSL, Python's ssl and httpx, Go, Rust's native roots, uv, Ruby
    "CURL_CA_BUNDLE",      // curl
    "REQUESTS_CA_BUNDLE",  // Python's requests
    "PIP_CERT",            // pip
    "GIT_SSL_CAINFO",      // git
    "CARGO_HTTP_CAINFO",   // cargo
    "npm_config_cafile",   // npm, pnpm, the old yarn
    "YARN_HTTPS_CA_FILE_PATH",             // yarn since 2
    "AWS_CA_BUNDLE",                       // the AWS tools
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",  // gcloud
    "HTTPLIB2_CA_CERTS",                   // Python's httplib2
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",    // gRPC
    "NIX_SSL_CERT_FILE",                   // Nix, and programs it built
    "CODEX_CA_CERTIFICATE",                // Codex
};
/// Each adds to the roots of the programs that read it.
constexpr const char* kAdding[] = {
    "NODE_EXTRA_CA_CERTS",  // Node, Bun
    "DENO_CERT",            // Deno
};
constexpr const char* kProxies[] = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"};
constexpr const char* kMoreProxies[] = {"FTP_PROXY", "GRPC_PROXY", "NPM_CONFIG_PROXY",
                                        "NPM_CONFIG_HTTPS_PROXY"};
constexpr std::string_view kLocal[] = {"localhost", "127.0.0.1", "::1"};
constexpr std::string_view kTrustStore = "-Djavax.net.ssl.trustStore=";

std::string cased(std::string_view name, int (*letter)(int)) {
  std::string text;
  for (const char c : name) text += static_cast<char>(letter(static_cast<unsigned char>(c)));
  return text;
}
std::string upper(std::string_view name) {
  return cased(name, std::toupper);
}
std::string lower(std::string_view name) {
  return cased(name, std::tolower);
}

std::string valueOf(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = std::min(text.find(mark), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// `list` with what is missing of ours.
std::string withLocal(const std::string& list) {
  const auto there = split(list, ',');
  std::string all = list;
  for (const auto name : kLocal) {
    if (std::find(there.begin(), there.end(), name) != there.end()) continue;
    if (!all.empty()) all += ',';
    all += name;
  }
  return all;
}

class Builder {
 public:
  explicit Builder(const TrustRequest& request) : request_(request), paths_(request.folder) {}

  TrustEnvironment build() {
    for (const char* name : kReplacing) trust(name, paths_.bundle);
    for (const char* name : kAdding) trust(name, paths_.added);
    if (request_.wgetrc) trust("SYSTEM_WGETRC", paths_.wgetrc);
    if (request_.transparent)
      clearProxies();
    else if (request_.proxy_port != 0)
      nameProxy();
    addJavaOptions();
    return std::move(made_);
  }

 private:
  bool isJobs(const std::string& name) const { return request_.job_env.contains(name); }

  void warn(const std::string& sentence) { made_.warnings.push_back(sentence); }

  void trust(const std::string& name, const std::string& file) {
    // npm reads its variables in both cases.
    const std::string other = name.starts_with("npm_") ? upper(name) : name;
    for (const std::string& own : std::set<std::string>{name, other}) {
      if (!isJobs(own)) continue;
      if (request_.job_env.at(own) != file)
        warn(own +
             " is the job's own and was left; programs that read it trust the run's CA only "
             "if it says so: add the certificates of " +
             file);
      return;
    }
    if (other != name && request_.inherited.contains(other)) made_.unset.push_back(other);
    made_.set[name] = file;
  }

  static std::vector<std::string> proxyNames() {
    std::vector<std::string> names;
    for (const char* name : kProxies) names.insert(names.end(), {name, lower(name)});
    for (const char* name : kMoreProxies) names.insert(names.end(), {name, lower(name)});
    return names;
  }

  void clearProxies() {
    for (const auto& name : proxyNames()) {
      if (isJobs(name))
        warn(name +
             " is the job's own and was left; no proxy is needed in this box, and programs "
             "that ask one cannot be told from each other: remove it from agent.env");
      else if (request_.inherited.contains(name))
        made_.unset.push_back(name);
    }
  }

  void nameProxy() {
    const std::string url = "http://127.0.0.1:" + std::to_string(request_.proxy_port);
    for (const char* name : kProxies)
      for (const std::string& cased_name : {std::string(name), lower(name)}) {
        if (!isJobs(cased_name)) made_.set[cased_name] = url;
        if (isJobs(cased_name) && request_.job_env.at(cased_name) != url)
          warn(cased_name +
               " is the job's own and was left; programs that read it go past the "
               "broker, which listens at " +
               url);
      }
    for (const auto& name : proxyNames())
      if (!made_.set.contains(name) && !isJobs(name) && request_.inherited.contains(name))
        made_.unset.push_back(name);
    nameExceptions();
    // Node's own client looks at the others only when it is told to.
    if (!isJobs("NODE_USE_ENV_PROXY")) made_.set["NODE_USE_ENV_PROXY"] = "1";
  }

  /// One list for both cases: of the job's where it has one.
  void nameExceptions() {
    std::string list;
    for (const auto* variables : {&request_.job_env, &request_.inherited})
      for (const char* name : {"NO_PROXY", "no_proxy"})
        if (list.empty()) list = valueOf(*variables, name);
    made_.set["NO_PROXY"] = made_.set["no_proxy"] = withLocal(list);
  }

  /// Added to what is there, since it is where other settings are as well.
  void addJavaOptions() {
    const std::string name = "JAVA_TOOL_OPTIONS";
    std::string options = valueOf(isJobs(name) ? request_.job_env : request_.inherited, name);
    if (options.find(kTrustStore) != std::string::npos && isJobs(name)) {
      warn(name +
           " names a trust store of the job's own, which was left; Java trusts the run's CA "
           "only if it is in there: add the certificates of " +
           paths_.added);
      return;
    }
    // The last of two settings counts.
    if (!options.empty()) options += ' ';
    options += std::string(kTrustStore) + paths_.java_store;
    if (!request_.transparent && request_.proxy_port != 0) {
      const std::string port = std::to_string(request_.proxy_port);
      for (const std::string scheme : {"http", "https"})
        options += " -D" + scheme + ".proxyHost=127.0.0.1 -D" + scheme + ".proxyPort=" + port;
      options += " -Dhttp.nonProxyHosts=localhost|127.*|[::1]";
    }
    made_.set[name] = options;
  }

  const TrustRequest& request_;
  TrustPaths paths_;
  TrustEnvironment made_;
};

/// When a variable switches a check off.
enum class When { IsThere, IsSet, IsZero, IsFalse, IsTrue };
struct Switch {
  const char* name;
  When when;
  const char* of;
};
constexpr Switch kSwitches[] = {
    {"NODE_TLS_REJECT_UNAUTHORIZED", When::IsZero, "Node"},
    {"GIT_SSL_NO_VERIFY", When::IsThere, "git"},
    {"PYTHONHTTPSVERIFY", When::IsFalse, "Python"},
    {"npm_config_strict_ssl", When::IsFalse, "npm"},
    {"NPM_CONFIG_STRICT_SSL", When::IsFalse, "npm"},
    {"YARN_ENABLE_STRICT_SSL", When::IsFalse, "yarn"},
    {"PIP_TRUSTED_HOST", When::IsSet, "pip"},
    {"UV_INSECURE_HOST", When::IsSet, "uv"},
    {"GOINSECURE", When::IsSet, "go"},
    {"CLOUDSDK_AUTH_DISABLE_SSL_VALIDATION", When::IsTrue, "gcloud"},
    {"PERL_LWP_SSL_VERIFY_HOSTNAME", When::IsFalse, "Perl"},
};

bool isFalse(const std::string& value) {
  const std::string text = lower(value);
  return text == "0" || text == "false" || text == "no" || text == "off";
}

bool switchesOff(const Switch& what, const Variables& environment) {
  const auto found = environment.find(what.name);
  if (found == environment.end()) return false;
  const std::string& value = found->second;
  switch (what.when) {
    case When::IsThere:
      return true;
    case When::IsSet:
      return !value.empty();
    case When::IsZero:
      return value == "0";
    case When::IsFalse:
      return isFalse(value);
    case When::IsTrue:
      return !value.empty() && !isFalse(value);
  }
  return true;
}

struct OwnRoots {
  const char* program;
  const char* name;
};
constexpr OwnRoots kOwnRoots[] = {
    {"firefox", "Firefox"},         {"firefox-esr", "Firefox"},
    {"chromium", "Chromium"},       {"chromium-browser", "Chromium"},
    {"google-chrome", "Chrome"},    {"google-chrome-stable", "Chrome"},
    {"microsoft-edge", "Edge"},     {"brave-browser", "Brave"},
    {"thunderbird", "Thunderbird"},
};

}  // namespace

TrustEnvironment trustEnvironment(const TrustRequest& request) {
  return Builder(request).build();
}

std::vector<std::string> disabledChecks(const Variables& environment) {
  std::vector<std::string> sentences;
  for (const auto& each : kSwitches)
    if (switchesOff(each, environment))
      sentences.push_back(
          std::string(each.name) + " switches off " + each.of +
          "'s check of certificates; the run's CA is trusted without it: remove it");
  for (const char* name : {"JAVA_TOOL_OPTIONS", "MAVEN_OPTS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS"})
    for (const char* option : {"-Dmaven.wagon.http.ssl.insecure=true",
                               "-Djdk.internal.httpclient.disableHostnameVerification"})
      if (valueOf(environment, name).find(option) != std::string::npos)
        sentences.push_back(std::string(option) + " in " + name +
                            " switches off Java's check of certificates; the run's CA is trusted "
                            "without it: remove it");
  return sentences;
}

NamedBundles namedBundles(const Variables& inherited) {
  std::set<std::string> replacing, adding;
  for (const char* name : kReplacing) replacing.insert(valueOf(inherited, name));
  for (const char* name : kAdding) adding.insert(valueOf(inherited, name));
  replacing.insert(valueOf(inherited, "NPM_CONFIG_CAFILE"));
  NamedBundles named;
  for (const auto& file : replacing)
    if (file.starts_with('/')) named.replacing.push_back(file);
  for (const auto& file : adding)
    if (file.starts_with('/')) named.adding.push_back(file);
  return named;
}

std::vector<std::string> programsWithOwnRoots() {
  std::vector<std::string> programs;
  for (const auto& each : kOwnRoots) programs.emplace_back(each.program);
  return programs;
}

std::vector<std::string> uncoveredPrograms(const std::vector<std::string>& programs) {
  std::set<std::string> names;
  for (const auto& each : kOwnRoots)
    if (std::find(programs.begin(), programs.end(), each.program) != programs.end())
      names.insert(each.name);
  std::vector<std::string> sentences;
  for (const auto& name : names)
    sentences.push_back(name +
                        " keeps certificates of its own and will not trust the run's CA; let "
                        "the policy tunnel the hosts that it needs (tls: tunnel)");
  return sentences;
}

}  // namespace warder::launch
