// Real programs, with exactly the environment and the files that a run prepares, against a host
// whose certificate the run's CA signed (it is intercepted), and one whose certificate another CA
// signed that the place trusts (it is tunnelled). BC-004, BC-005.
#include <gmock/gmock.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "secrets/ca/authority.h"
#include "supervisor/base/fd.h"
#include "supervisor/launch/trust_place.h"
#include "tests/support/test_ca.h"
#include "tests/support/tls_places.h"

namespace warder::launch {
namespace {

namespace fs = std::filesystem;
using tests::TlsPlace;
namespace asio = boost::asio;

const std::string kClients = std::string(WARDER_SOURCE_DIR) + "/tests/support/clients";
const std::string kInstalled = std::string(WARDER_SOURCE_DIR) + "/build/clients";

struct Runtime {
  const char* name;
  const char* command;    // $URL is the host's, with a path; $TMP a folder; $BIN what is installed
  bool by_system = true;  // it reads what the system keeps, so that a box needs no variable for it
};

const Runtime kRuntimes[] = {
    {"curl", "curl -sS -m 20 $URL"},
    {"wget", "wget -q -t1 -T20 -O- $URL"},
    {"git", "git ls-remote $URL"},
    {"PythonSsl", "/usr/bin/python3 -c 'import urllib.request as u; u.urlopen(\"'$URL'\")'"},
    {"PythonRequests", "$BIN/python/bin/python -c 'import requests; requests.get(\"'$URL'\")'",
     false},
    {"PythonHttpx", "$BIN/python/bin/python -c 'import httpx; httpx.get(\"'$URL'\")'", false},
    {"pip",
     "$BIN/python/bin/pip download --retries 0 --no-deps --no-cache-dir -d $TMP/pip --index-url "
     "$URL x",
     false},
    {"uv",
     "UV_HTTP_RETRIES=0 $BIN/python/bin/uv pip install --no-cache --target $TMP/uv --python "
     "/usr/bin/python3 --index-url $URL x",
     false},
    {"NodeFetch", "node -e 'fetch(\"'$URL'\").catch(e => console.log(e))'", false},
    {"NodeHttps", "node -e 'require(\"https\").get(\"'$URL'\")'", false},
    {"npm", "npm view x --registry $URL --fetch-retries=0 --cache $TMP/npm", false},
    {"BunFetch", "$BIN/bun -e 'await fetch(\"'$URL'\")'", false},
    {"BunAdd", "mkdir -p $TMP/bun && cd $TMP/bun && BUN_CONFIG_REGISTRY=$URL $BIN/bun add x",
     false},
    {"Go", "$BIN/fetch-go $URL"},
    {"cargo", "CARGO_HOME=$TMP/cargo CARGO_NET_RETRY=0 cargo search --index $URL x"},
    {"Java", "java $CLIENTS/Fetch.java $URL"},
};

/// The hosts, the certificates and the files are made once for all programs.
struct Stand {
  Stand() {
    char pattern[] = "/tmp/warder-runtimes-XXXXXX";
    folder = ::mkdtemp(pattern);
    TrustOrder order;
    order.ca_pem = authority.pem();
    // What the place was made to trust: a program's whole roots, and what is added to them.
    order.inherited = {{"SSL_CERT_FILE", other.file()}, {"NODE_EXTRA_CA_CERTS", other.file()}};
    prepared = trustInPlace(order, "runtimes-" + std::to_string(::getpid())).value();
  }
  ~Stand() {
    fs::remove_all(folder);
    fs::remove_all(prepared.folder);
  }

  static TlsPlace::Context contextOf(const tests::Identity& identity) {
    auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
    SSL_CTX_use_certificate(context->native_handle(), identity.certificate.get());
    SSL_CTX_use_PrivateKey(context->native_handle(), identity.key.get());
    return context;
  }

  std::string folder;
  tests::TestCa other;
  ca::RunAuthority authority = ca::RunAuthority::make("run-1").value();
  TlsPlace intercepted{authority.leafFor("localhost").value()};
  TlsPlace tunnelled{contextOf(other.issue({}))};
  PreparedTrust prepared;
};

Variables plainEnvironment(const std::string& folder) {
  const auto own = [](const char* name, const std::string& otherwise) {
    const char* value = ::getenv(name);
    return value != nullptr ? std::string(value) : otherwise;
  };
  return {{"PATH", own("PATH", "/usr/local/bin:/usr/bin:/bin")},
          // Where rustup's cargo finds itself, whatever HOME is.
          {"RUSTUP_HOME", own("RUSTUP_HOME", own("HOME", "/root") + "/.rustup")},
          {"HOME", folder + "/home"},
          {"TMP", folder},
          {"BIN", kInstalled},
          {"CLIENTS", kClients},
          {"GIT_TERMINAL_PROMPT", "0"}};
}

/// Runs it to its end in the shell; below `root` where that is not empty. What it says is for
/// people who look into a failure.
std::string run(const std::string& command, const Variables& environment,
                const std::string& root = {}) {
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) words.push_back(name + "=" + value);
  std::vector<char*> pointers;
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  auto output = base::makePipe();
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(output->write.get(), 1);
    ::dup2(output->write.get(), 2);
    if (!root.empty() && (::chroot(root.c_str()) != 0 || ::chdir("/") != 0)) ::_exit(126);
    const char* const arguments[] = {"sh", "-c", command.c_str(), nullptr};
    ::execve("/bin/sh", const_cast<char* const*>(arguments), pointers.data());
    ::_exit(127);
  }
  output->write.reset();
  auto said = base::readAll(output->read.get(), 1 << 20);
  ::waitpid(child, nullptr, 0);
  return said ? *said : said.error().sentence();
}

class Runtimes : public testing::TestWithParam<Runtime> {
 protected:
  static void SetUpTestSuite() {
    stand_ = std::make_unique<Stand>();
    fs::create_directories(stand_->folder + "/home");
  }
  static void TearDownTestSuite() { stand_.reset(); }

  /// Runs the program against `place`, and says whether it was heard there.
  testing::AssertionResult reaches(TlsPlace& place, Variables environment,
                                   const std::string& root = {}) {
    const std::string mark = "mark-" + std::to_string(++runs_);
    environment["URL"] = place.url() + "/" + mark;
    const std::string said = run(GetParam().command, environment, root);
    if (place.heard(mark)) return testing::AssertionSuccess() << "it was heard";
    return testing::AssertionFailure() << "it was not heard; it said: " << said;
  }

  Variables prepared() const {
    Variables all = plainEnvironment(stand_->folder);
    for (const auto& [name, value] : stand_->prepared.environment.set) all[name] = value;
    return all;
  }

  static std::unique_ptr<Stand> stand_;
  static int runs_;
};
std::unique_ptr<Stand> Runtimes::stand_;
int Runtimes::runs_ = 0;

TEST_P(Runtimes, BelievesAnInterceptedHost) {  // BC-004
  ASSERT_TRUE(fs::exists(kInstalled + "/installed")) << "run scripts/install-clients first";
  EXPECT_FALSE(reaches(stand_->intercepted, plainEnvironment(stand_->folder)));
  EXPECT_TRUE(reaches(stand_->intercepted, prepared()));
}

TEST_P(Runtimes, BelievesATunnelledHostAsBefore) {  // BC-005
  EXPECT_TRUE(reaches(stand_->tunnelled, prepared()));
}

/// A box's view: the machine's root with the files shown in it, and no variable that says so.
class RuntimesInABox : public Runtimes {
 protected:
  void SetUp() override {
    for (const std::string path : {"/root", "/home"}) fs::create_directories(stand_->folder + path);
    root_ = stand_->folder + "/root";
  }

  /// For the calling thread alone.
  void enter() {
    ASSERT_EQ(::unshare(CLONE_NEWNS), 0) << "this test makes mounts, as root";
    ASSERT_EQ(::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(::mount("/", root_.c_str(), nullptr, MS_BIND | MS_REC, nullptr), 0);
    ASSERT_EQ(::mount("tmpfs", (root_ + "/run").c_str(), "tmpfs", 0, nullptr), 0);
    const auto shown = showTrust(root_, stand_->prepared.trust);
    ASSERT_TRUE(shown) << shown.error().sentence();
  }

  std::string root_;
};

TEST_P(RuntimesInABox, BelieveByWhatTheSystemKeepsAlone) {  // BC-004
  std::thread([this] {
    enter();
    const Variables plain = plainEnvironment(stand_->folder);
    EXPECT_TRUE(reaches(stand_->intercepted, plain, root_));
    EXPECT_TRUE(reaches(stand_->tunnelled, plain, root_));
  }).join();
}

std::vector<Runtime> bySystem() {
  std::vector<Runtime> some;
  for (const auto& runtime : kRuntimes)
    if (runtime.by_system) some.push_back(runtime);
  return some;
}

std::string nameOf(const testing::TestParamInfo<Runtime>& info) {
  return info.param.name;
}
INSTANTIATE_TEST_SUITE_P(Programs, Runtimes, testing::ValuesIn(kRuntimes), nameOf);
INSTANTIATE_TEST_SUITE_P(Programs, RuntimesInABox, testing::ValuesIn(bySystem()), nameOf);

/// So that a failure shows the program's name and not its bytes.
void PrintTo(const Runtime& runtime, std::ostream* out) {
  *out << runtime.name;
}

}  // namespace
}  // namespace warder::launch
