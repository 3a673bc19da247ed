// An HTTP server on loopback that answers what a test says, byte for byte.
#pragma once
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace warder::support {

struct SeenRequest {
  std::string line;  // "POST /v1/... HTTP/1.1"
  std::string head;
  std::string body;
  bool is(const std::string& method, const std::string& ending) const {
    return line.starts_with(method + " ") && line.ends_with(ending + " HTTP/1.1");
  }
};

/// One connection at a time. An empty answer cuts the connection; one that begins with kCut is sent
/// without that word, and then the connection is cut.
class ScriptedServer {
 public:
  using Script = std::function<std::string(const SeenRequest&)>;

  explicit ScriptedServer(Script script) : script_(std::move(script)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&here), size) != 0 ||
        ::listen(listener_, 16) != 0)
      throw std::runtime_error("no listener");
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size);
    url = "http://127.0.0.1:" + std::to_string(ntohs(here.sin_port));
    thread_ = std::thread([this] { serve(); });
  }
  ~ScriptedServer() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      ::shutdown(listener_, SHUT_RDWR);
      if (guest_ >= 0) ::shutdown(guest_, SHUT_RDWR);
    }
    thread_.join();
    ::close(listener_);
  }
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  std::vector<SeenRequest> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

  static std::string json(int status, const std::string& body, const std::string& headers = {}) {
    return "HTTP/1.1 " + std::to_string(status) +
           " x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" +
           body;
  }

  static constexpr std::string_view kCut = "CUT ";
  std::string url;

 private:
  void serve() {
    for (;;) {
      const int guest = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (guest < 0) return;
      {
        const std::lock_guard lock(mutex_);
        guest_ = ending_ ? -1 : guest;
      }
      std::string buffer;
      while (serveOne(guest, buffer)) {
      }
      const std::lock_guard lock(mutex_);
      guest_ = -1;
      ::close(guest);
      if (ending_) return;
    }
  }

  static bool fill(int guest, std::string& buffer) {
    char bytes[65536];
    const ssize_t count = ::recv(guest, bytes, sizeof bytes, 0);
    if (count > 0) buffer.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  bool serveOne(int guest, std::string& buffer) {
    std::size_t end;
    while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
      if (!fill(guest, buffer)) return false;
    SeenRequest request;
    request.head = buffer.substr(0, end + 2);
    request.line = request.head.substr(0, request.head.find("\r\n"));
    buffer.erase(0, end + 4);
    const std::string field = "Content-Length: ";
    const std::size_t at = request.head.find(field);
    const std::size_t length =
        at == std::string::npos ? 0 : std::stoul(request.head.substr(at + field.size()));
    while (buffer.size() < length)
      if (!fill(guest, buffer)) return false;
    request.body = buffer.substr(0, length);
    buffer.erase(0, length);
    {
      const std::lock_guard lock(mutex_);
      seen_.push_back(request);
    }
    std::string answer = script_(request);
    const bool cut = answer.empty() || answer.starts_with(kCut);
    if (answer.starts_with(kCut)) answer.erase(0, kCut.size());
    for (std::size_t sent = 0; sent < answer.size();) {
      const ssize_t count = ::send(guest, answer.data() + sent, answer.size() - sent, MSG_NOSIGNAL);
      if (count <= 0) return false;
      sent += static_cast<std::size_t>(count);
    }
    return !cut;
  }

  Script script_;
  int listener_ = -1;
  int guest_ = -1;
  bool ending_ = false;
  std::mutex mutex_;
  std::vector<SeenRequest> seen_;
  std::thread thread_;
};

}  // namespace warder::support
