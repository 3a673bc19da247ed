// A real warder-collector on loopback, and a plain client of it.
#pragma once
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/journal_lines.h"
#include "tests/support/run_folder.h"

extern char** environ;

namespace warder::support {

/// Asks until it is so, for at most 20 s; only the failure of a test waits that long.
inline bool eventually(const std::function<bool()>& so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

inline int connectTo(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  ::inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{20, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return fd;
  ::close(fd);
  return -1;
}

class CollectorProcess {
 public:
  static constexpr const char* kToken = "ingest-token-of-the-test";

  explicit CollectorProcess(std::vector<std::string> words = {}) : words_(std::move(words)) {
    writeText(folder_.path + "/token", kToken);
    start("127.0.0.1:0");
  }
  ~CollectorProcess() { end(SIGKILL); }
  CollectorProcess(const CollectorProcess&) = delete;
  CollectorProcess& operator=(const CollectorProcess&) = delete;

  void start(const std::string& listen) {
    const std::string file = folder_.path + "/address";
    std::filesystem::remove(file);
    std::vector<std::string> argv = {WARDER_BINARY_DIR "/warder-collector",
                                     "serve",
                                     "--listen",
                                     listen,
                                     "--data",
                                     dataFolder(),
                                     "--token-file",
                                     folder_.path + "/token",
                                     "--address-file",
                                     file};
    argv.insert(argv.end(), words_.begin(), words_.end());
    std::vector<char*> raw;
    for (auto& word : argv) raw.push_back(word.data());
    raw.push_back(nullptr);
    ASSERT_EQ(::posix_spawn(&pid_, raw[0], nullptr, nullptr, raw.data(), environ), 0);
    ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file); })) << "no collector";
    address = readText(file);
    address.pop_back();
  }

  /// Returns the exit code, or minus the signal.
  int end(int signal) {
    if (pid_ <= 0) return 0;
    int status = 0;
    ::kill(pid_, signal);
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  /// The same port and data again, after end().
  void startAgain() { start(address); }

  std::string folder() const { return folder_.path; }
  std::string dataFolder() const { return folder_.path + "/data"; }
  std::string address;

 private:
  TemporaryFolder folder_;
  std::vector<std::string> words_;
  pid_t pid_ = -1;
};

struct Reply {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;
  boost::json::value json() const { return boost::json::parse(body); }
};

/// One connection that is kept.
class Client {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  explicit Client(std::string address) : address_(std::move(address)) {}
  ~Client() { disconnect(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  std::string token = CollectorProcess::kToken;

  Reply ask(const std::string& method, const std::string& target, const std::string& body = {},
            const Headers& headers = {}) {
    std::string head = method + " " + target + " HTTP/1.1\r\nHost: " + address_ + "\r\n";
    if (!token.empty()) head += "Authorization: Bearer " + token + "\r\n";
    for (const auto& [name, value] : headers) head += name + ": " + value + "\r\n";
    if (method != "GET" && method != "HEAD")
      head += "Content-Length: " + std::to_string(body.size()) + "\r\n";
    return raw(head + "\r\n" + body, method == "HEAD");
  }

  /// Sends bytes as they are, reads one answer. Status 0: the connection ended without one.
  Reply raw(const std::string& bytes, bool head_only = false) {
    if (fd_ < 0) fd_ = connectTo(address_);
    send(bytes);
    return receive(head_only);
  }

  void send(const std::string& bytes) {
    if (fd_ < 0) fd_ = connectTo(address_);
    for (std::size_t sent = 0; sent < bytes.size();) {
      const ssize_t count = ::send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return;
      sent += static_cast<std::size_t>(count);
    }
  }

  Reply receive(bool head_only = false) {
    Reply reply;
    while (buffer_.find("\r\n\r\n") == std::string::npos)
      if (!readSome()) return disconnected();
    const std::size_t end = buffer_.find("\r\n\r\n");
    std::istringstream head(buffer_.substr(0, end + 2));
    buffer_.erase(0, end + 4);
    std::string line;
    std::getline(head, line);
    reply.status = std::stoi(line.substr(9, 3));
    while (std::getline(head, line) && line.size() > 1) {
      const std::size_t colon = line.find(':');
      std::string name = line.substr(0, colon);
      for (char& c : name) c = static_cast<char>(::tolower(c));
      reply.headers[name] = line.substr(colon + 2, line.size() - colon - 3);
    }
    const std::size_t length = head_only ? 0 : std::stoul(reply.headers["content-length"]);
    while (buffer_.size() < length)
      if (!readSome()) return disconnected();
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    if (reply.headers["connection"] == "close") disconnect();
    return reply;
  }

  bool atEnd() { return buffer_.empty() && !readSome(); }
  void disconnect() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    buffer_.clear();
  }

 private:
  Reply disconnected() {
    disconnect();
    return {};
  }
  bool readSome() {
    char bytes[65536];
    const ssize_t count = ::recv(fd_, bytes, sizeof bytes, 0);
    if (count > 0) buffer_.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  std::string address_;
  std::string buffer_;
  int fd_ = -1;
};

}  // namespace warder::support
