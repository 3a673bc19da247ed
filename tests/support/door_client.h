// A plain blocking TCP client for tests: sends bytes as they are, reads answers strictly.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>

namespace warder::tests {

class DoorClient {
 public:
  explicit DoorClient(std::uint16_t port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  DoorClient(const DoorClient&) = delete;
  DoorClient& operator=(const DoorClient&) = delete;
  ~DoorClient() { close(); }

  bool connected() const { return connected_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  /// Until the connection ends; `reset()` tells how.
  std::string readAll() {
    while (more()) {
    }
    return std::exchange(pending_, {});
  }
  bool reset() const { return reset_; }

  /// Until `text` has come; everything up to and with it.
  std::string readUntil(std::string_view text) {
    std::size_t at;
    while ((at = pending_.find(text)) == std::string::npos)
      if (!more()) return std::exchange(pending_, {});
    std::string taken = pending_.substr(0, at + text.size());
    pending_.erase(0, taken.size());
    return taken;
  }

  std::string readExactly(std::size_t size) {
    while (pending_.size() < size)
      if (!more()) return std::exchange(pending_, {});
    std::string taken = pending_.substr(0, size);
    pending_.erase(0, size);
    return taken;
  }

  struct Answer {
    int status = 0;
    std::string head;
    std::string body;
  };
  /// One answer, by Content-Length or chunked; status 0 when the connection ended before it was
  /// whole.
  Answer readAnswer() {
    Answer answer;
    answer.head = readUntil("\r\n\r\n");
    if (answer.head.size() < 12 || !answer.head.ends_with("\r\n\r\n")) return answer;
    const int status = std::stoi(answer.head.substr(9, 3));
    if (answer.head.find("\r\nTransfer-Encoding: chunked\r\n") != std::string::npos) {
      for (;;) {
        const std::string line = readUntil("\r\n");
        if (line.size() < 3) return answer;
        const std::size_t size = std::stoull(line, nullptr, 16);
        const std::string chunk = readExactly(size + 2);
        if (chunk.size() != size + 2) return answer;
        if (size == 0) break;
        answer.body += chunk.substr(0, size);
      }
    } else if (const std::size_t at = answer.head.find("\r\nContent-Length: ");
               at != std::string::npos) {
      const std::size_t size = std::stoull(answer.head.substr(at + 18));
      answer.body = readExactly(size);
      if (answer.body.size() != size) return answer;
    }
    answer.status = status;
    return answer;
  }

 private:
  bool more() {
    char buffer[65536];
    const ssize_t count = ::recv(fd_, buffer, sizeof buffer, 0);
    if (count < 0) reset_ = errno == ECONNRESET;
    if (count > 0) pending_.append(buffer, static_cast<std::size_t>(count));
    return count > 0;
  }

  int fd_ = -1;
  bool connected_ = false;
  bool reset_ = false;
  std::string pending_;
};

}  // namespace warder::tests
