// The broker as a process: what it says, where the key is in its memory, what it can still do.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <fstream>
#include <random>
#include <sstream>

#include "secrets/confine_broker.h"
#include "supervisor/base/wire.h"
#include "tests/support/broker_thread.h"
#include "tests/support/loopback_upstream.h"

// Freed memory must not pile up where memory is measured.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "quarantine_size_mb=4";
}

namespace warder::secrets {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::DoorClient;
using tests::LoopbackUpstream;
using tests::Peer;

#ifdef __SANITIZE_ADDRESS__
constexpr const char* kLocked = " dd ";  // AddressSanitizer makes mlock do nothing
#else
constexpr const char* kLocked = " lo ";
#endif

/// Made when the process already runs, so that it cannot have inherited a copy.
std::string randomKey() {
  std::random_device random;
  std::string key = "sk-ant-api03-";
  for (int i = 0; i < 60; ++i) key += static_cast<char>('a' + random() % 26);
  return key;
}

/// A forked child that runs brokerMain with the descriptors that a launcher would give it.
class BrokerProcess {
 public:
  BrokerProcess(const std::string& base_url, const std::string& ca_file) {
    BrokerConfig config;
    config.grants = *planGrants({{"anthropic", "anthropic", base_url, ca_file}});
    Grant& grant = config.grants[0];
    placeholder_ = grant.placeholder;
    grant.secret_fd = 5;
    grant.listener_fds = {6};
    config.policy.allow.push_back({grant.upstream.host, grant.upstream.port, {}, {}, "test:1"});
    auto text = base::sealedText("config", base::json::serialize(toJson(config)));
    auto control = base::makeMessagePair();
    auto secret = base::makePipe();
    const auto [listener, port] = tests::listenOnLoopback();
    port_ = port;
    pid_ = ::fork();
    if (pid_ == 0) {
      const int given[] = {text->get(), control->theirs.get(), secret->read.get(), listener};
      int high[4];
      for (int i = 0; i < 4; ++i) high[i] = ::fcntl(given[i], F_DUPFD, 100);
      for (int i = 0; i < 4; ++i) ::dup2(high[i], base::kConfigFd + i);
      ::close_range(7, ~0U, 0);
      ::_exit(brokerMain());
    }
    ::close(listener);
    control_ = std::move(control->ours);
    secret_ = std::move(secret->write);
  }
  BrokerProcess(const BrokerProcess&) = delete;
  BrokerProcess& operator=(const BrokerProcess&) = delete;
  ~BrokerProcess() {
    if (pid_ > 0) end();
  }

  void giveSecret(const std::string& secret) {
    (void)base::writeAll(secret_.get(), secret);
    secret_.reset();
  }
  base::json::object message() {
    auto received = base::receiveMessage(control_.get());
    return received && *received ? (*received)->body : base::json::object{};
  }
  /// As init does when the run is over: says no more, but listens.
  void finishSending() { ::shutdown(control_.get(), SHUT_WR); }
  /// Closes the control socket, as init's end would; the exit code.
  int end() {
    control_.reset();
    secret_.reset();
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  std::string procFile(const std::string& name) const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/" + name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::string statusLine(const std::string& name) const {
    std::istringstream lines(procFile("status"));
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with(name + ":")) return line.substr(name.size() + 2);
    return "";
  }

  struct Found {
    int times = 0;
    int in_locked_pages = 0;
  };
  /// Looks for `text` in every byte of memory that the process can write to.
  Found findInMemory(const std::string& text) const {
    Found found;
    const std::string path = "/proc/" + std::to_string(pid_) + "/mem";
    const base::UniqueFd memory(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(memory) << "needs root: the broker is not dumpable";
    std::istringstream lines(procFile("smaps"));
    unsigned long from = 0;
    unsigned long to = 0;
    bool writable = false;
    for (std::string line; std::getline(lines, line);) {
      unsigned long first = 0;  // "Anonymous:" begins with a hexadecimal digit
      unsigned long last = 0;
      char mode[5];
      if (std::sscanf(line.c_str(), "%lx-%lx %4s", &first, &last, mode) == 3) {
        from = first;
        to = last;
        writable = mode[1] == 'w';
      }
      constexpr unsigned long kSanitizersShadow = 1UL << 40;  // no mapping of ours is so large
      if (!line.starts_with("VmFlags:") || !writable || to - from >= kSanitizersShadow) continue;
      const int times = countIn(memory.get(), from, to, text);
      found.times += times;
      if (line.find(kLocked) != std::string::npos && line.find(" dd ") != std::string::npos)
        found.in_locked_pages += times;
    }
    return found;
  }

  std::uint16_t port() const { return port_; }
  const std::string& placeholder() const { return placeholder_; }
  std::string requestHead(std::size_t length) const {
    return "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx-api-key: " + placeholder_ +
           "\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
  }

 private:
  /// Reads what is resident, page by page: a sanitizer's shadow is large and mostly absent.
  int countIn(int memory, unsigned long from, unsigned long to, const std::string& text) const {
    const std::string path = "/proc/" + std::to_string(pid_) + "/pagemap";
    const base::UniqueFd pagemap(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    constexpr unsigned long kPage = 4096;
    constexpr unsigned long kBatch = 65536;
    std::vector<std::uint64_t> entries(kBatch);
    std::string run;
    int times = 0;
    const auto count = [&] {
      for (std::size_t at = run.find(text); at != std::string::npos; at = run.find(text, at + 1))
        ++times;
      run.clear();
    };
    for (unsigned long page = from / kPage; page < to / kPage; page += kBatch) {
      const unsigned long pages = std::min(kBatch, to / kPage - page);
      if (::pread(pagemap.get(), entries.data(), pages * 8, static_cast<off_t>(page * 8)) <= 0)
        break;
      for (unsigned long i = 0; i < pages; ++i) {
        char bytes[kPage];
        const bool present = (entries[i] >> 62) != 0;  // in memory or in swap
        const auto where = static_cast<off_t>((page + i) * kPage);
        if (present && ::pread(memory, bytes, kPage, where) == static_cast<ssize_t>(kPage))
          run.append(bytes, kPage);
        else
          count();
      }
    }
    count();
    return times;
  }

  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
  std::string placeholder_;
  base::UniqueFd control_;
  base::UniqueFd secret_;
};

std::string urlOf(const LoopbackUpstream& upstream) {
  return "https://localhost:" + std::to_string(upstream.port());
}

TEST(BrokerStage, KeepsTheKeyInOneLockedPageAndNowhereElse) {
  // BC-016: also after calls were made with it.
  const tests::TestCa ca;
  std::string key;
  std::atomic<int> right_keys{0};
  LoopbackUpstream upstream(ca.issue(), [&](Peer& peer) {
    while (const auto request = peer.readRequest()) {
      if (request->head.find("x-api-key: " + key + "\r\n") != std::string::npos) ++right_keys;
      // Echoed too: what an upstream sends back is wiped after it was passed on.
      peer.write("HTTP/1.1 200 OK\r\nX-Echo: " + key +
                 "\r\nContent-Length: " + std::to_string(key.size()) + "\r\n\r\n" + key);
    }
  });
  BrokerProcess broker(urlOf(upstream), ca.file());
  key = randomKey();
  broker.giveSecret(key + "\n");
  EXPECT_TRUE(broker.message().contains("ready"));
  EXPECT_EQ(broker.findInMemory(key).times, 1);
  DoorClient client(broker.port());
  for (int i = 0; i < 5; ++i) {
    client.send(broker.requestHead(2) + "{}");
    EXPECT_EQ(client.readAnswer().status, 200);
    const auto event = broker.message();
    EXPECT_EQ(event.at("event").at("type"), "llm.call");
    EXPECT_THAT(base::json::serialize(event), Not(HasSubstr(key)));
  }
  EXPECT_EQ(right_keys, 5);
  client.send(
      "GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n");  // answered when the call before is over
  EXPECT_EQ(client.readAnswer().status, 404);
  const auto found = broker.findInMemory(key);
  EXPECT_EQ(found.times, 1);
  EXPECT_EQ(found.in_locked_pages, 1);
  for (const char* file : {"environ", "cmdline"})
    EXPECT_THAT(broker.procFile(file), Not(HasSubstr(key)));
  EXPECT_EQ(broker.statusLine("Seccomp"), "2");
  EXPECT_EQ(broker.statusLine("NoNewPrivs"), "1");
  EXPECT_EQ(broker.end(), 0);
}

TEST(BrokerStage, UsesConstantMemoryForBodiesOfFiftyMegabytes) {
  // BC-010.
  constexpr std::size_t kSize = 50'000'000;
  const tests::TestCa ca;
  LoopbackUpstream upstream(ca.issue(), [&](Peer& peer) {
    peer.readHead();
    std::size_t got = peer.takePending().size();
    while (got < kSize) got += peer.read().size();
    peer.write("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(kSize) + "\r\n\r\n");
    const std::string piece(1'000'000, 'y');
    for (int i = 0; i < 50; ++i) peer.write(piece);
  });
  BrokerProcess broker(urlOf(upstream), ca.file());
  broker.giveSecret(randomKey());
  EXPECT_TRUE(broker.message().contains("ready"));
  const long before = std::stol(broker.statusLine("VmHWM"));
  DoorClient client(broker.port());
  client.send(broker.requestHead(kSize));
  client.send("{\"text\":\"" + std::string(999'991, 'x'));
  for (int i = 1; i < 49; ++i) client.send(std::string(1'000'000, 'x'));
  client.send(std::string(999'998, 'x') + "\"}");
  EXPECT_EQ(client.readAnswer().body.size(), kSize);
  EXPECT_LT(std::stol(broker.statusLine("VmHWM")) - before, 32 * 1024) << "KiB";
}

TEST(BrokerStage, SaysWhichSecretIsWrongAndNotWhatItIs) {
  const struct {
    std::string secret;
    std::string sentence;
  } cases[] = {
      {"", "the secret \"anthropic\" is empty"},
      {"hidden hidden", "the secret \"anthropic\" holds a space"},
      {"sk-ant-admin01-hidden", "the secret \"anthropic\" is an admin key"},
  };
  for (const auto& one : cases) {
    BrokerProcess broker("https://localhost:1", "");
    broker.giveSecret(one.secret);
    const auto message = broker.message();
    ASSERT_TRUE(message.contains("failed"));
    const std::string text = base::json::serialize(message);
    EXPECT_THAT(std::string(message.at("failed").at("sentence").as_string()),
                HasSubstr(one.sentence));
    EXPECT_THAT(text, Not(HasSubstr("hidden")));
    EXPECT_EQ(broker.end(), 1);
  }
}

TEST(BrokerStage, TellsBeforeItEndsWhatItKeptOfAFloodOfRefusals) {
  BrokerProcess broker("https://localhost:1", "");
  broker.giveSecret(randomKey());
  EXPECT_TRUE(broker.message().contains("ready"));
  DoorClient client(broker.port());
  for (int i = 0; i < 30; ++i) {
    client.send("GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    EXPECT_EQ(client.readAnswer().status, 404);
  }
  broker.finishSending();
  std::size_t counted = 0;
  for (auto message = broker.message(); !message.empty(); message = broker.message()) {
    const auto& data = message.at("event").at("data").as_object();
    const auto* suppressed = data.if_contains("suppressed");
    counted += 1 + (suppressed != nullptr ? suppressed->to_number<std::size_t>() : 0);
  }
  EXPECT_EQ(counted, 30u);
  EXPECT_EQ(broker.end(), 0);
}

TEST(BrokerStage, EndsWhenInitIsGoneEvenBeforeItHasTheSecret) {
  BrokerProcess broker("https://localhost:1", "");
  EXPECT_EQ(broker.end(), 1);  // the pipe with the secret ended empty
}

/// Runs `attempt` under the broker's filter; its result becomes the exit code.
int underTheFilter(const std::function<int()>& attempt) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(confineBroker() ? attempt() : 99);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

int errnoUnless(bool worked) {
  return worked ? 0 : errno;
}

TEST(BrokerFilter, ForbidsProgramsProcessesAndFiles) {
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  char* environment[] = {nullptr};
  const struct {
    const char* name;
    std::function<int()> attempt;
  } attempts[] = {
      {"execve", [&] { return errnoUnless(::execve(program, arguments, environment) == 0); }},
      {"execveat",
       [&] {
         return errnoUnless(::syscall(SYS_execveat, AT_FDCWD, program, arguments, environment, 0) ==
                            0);
       }},
      {"fork", [] { return errnoUnless(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) >= 0); }},
      {"vfork flags",
       [] { return errnoUnless(::syscall(SYS_clone, CLONE_VM | SIGCHLD, 0, 0, 0, 0) >= 0); }},
      {"ptrace",
       [] { return errnoUnless(::ptrace(PTRACE_ATTACH, ::getppid(), nullptr, nullptr) == 0); }},
      {"process_vm_readv",
       [] {
         return errnoUnless(
             ::syscall(SYS_process_vm_readv, ::getppid(), nullptr, 0, nullptr, 0, 0) >= 0);
       }},
      {"open to write", [] { return errnoUnless(::open("/dev/null", O_WRONLY) >= 0); }},
      {"open to read and write", [] { return errnoUnless(::open("/dev/null", O_RDWR) >= 0); }},
      {"open to make",
       [] { return errnoUnless(::open("/tmp/warder-never", O_RDONLY | O_CREAT, 0600) >= 0); }},
      {"unlink", [] { return errnoUnless(::unlink("/tmp/warder-never") == 0); }},
      {"unshare", [] { return errnoUnless(::unshare(CLONE_NEWUSER) == 0); }},
  };
  for (const auto& one : attempts) EXPECT_EQ(underTheFilter(one.attempt), EPERM) << one.name;
  EXPECT_EQ(underTheFilter([] { return errnoUnless(::syscall(SYS_clone3, nullptr, 0) >= 0); }),
            ENOSYS);
}

TEST(BrokerFilter, LeavesWhatTheBrokerNeeds) {
  EXPECT_EQ(
      underTheFilter([] { return errnoUnless(::open("/etc/hosts", O_RDONLY | O_CLOEXEC) >= 0); }),
      0);
  EXPECT_EQ(underTheFilter([] { return errnoUnless(::socket(AF_INET, SOCK_STREAM, 0) >= 0); }), 0);
  EXPECT_EQ(underTheFilter([] { return errnoUnless(::socket(AF_INET, SOCK_DGRAM, 0) >= 0); }), 0);
}

}  // namespace
}  // namespace warder::secrets
