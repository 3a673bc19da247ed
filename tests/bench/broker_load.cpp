// The clients of the broker's benchmark. Each use prints one line of JSON.
//   broker_load DOOR calls CONNECTIONS SECONDS [MICROS]   one call after the other on each; the
//                                                         upstream waits MICROS with its answer
//   broker_load DOOR streams CONNECTIONS EVENTS MICROS    how late each event is
//   broker_load DOOR idle CONNECTIONS MICROS              prints a line when all stand, and one
//   when
//                                                         all are over
//   broker_load DOOR upload CONNECTIONS BYTES FRAMING     chunked or length
//   broker_load DOOR shake ROUNDS NAME                    TCP and TLS; % in NAME: the round's
//   number broker_load - drain                                   throws away what comes on stdin
// DOOR: plain:PORT:PATH, tls:PORT:PATH, or proxy:PORT for shake (by CONNECT). BENCH_KEY: the value
// of x-api-key.
#include <fcntl.h>
#include <signal.h>
#include <strings.h>

#include "tests/bench/crowd.h"

namespace warder::bench {
namespace {

constexpr std::string_view kBody =
    R"({"model":"claude-haiku-4-5","max_tokens":64,"system":"You are a careful assistant.",)"
    R"("messages":[{"role":"user","content":"What is the capital of France? One word."}],)"
    R"("metadata":{"user_id":"bench"},"stream":false})";

std::string requestHead(const Door& door, const std::string& asked, const std::string& framing) {
  const char* key = std::getenv("BENCH_KEY");
  std::string head = "POST " + door.path + " HTTP/1.1\r\nHost: localhost";
  if (door.tls) head += ":" + std::to_string(door.port);
  head += "\r\nAccept: application/json\r\nUser-Agent: bench/1.0\r\nContent-Type: application/json";
  head += "\r\nanthropic-version: 2023-06-01\r\nx-api-key: " + std::string(key ? key : "none");
  if (!asked.empty()) head += "\r\nx-bench: " + asked;
  return head + "\r\n" + framing + "\r\n\r\n";
}

std::string smallRequest(const Door& door, const std::string& asked) {
  return requestHead(door, asked, "Content-Length: " + std::to_string(kBody.size())) +
         std::string(kBody);
}

/// Length of the whole answer at the beginning of `text`; 0 when it is not all there.
std::size_t answerIn(std::string_view text) {
  const std::size_t head = text.find("\r\n\r\n");
  if (head == std::string_view::npos) return 0;
  std::string lower(text.substr(0, head + 2));
  for (char& c : lower) c = static_cast<char>(std::tolower(c));
  const std::size_t length = lower.find("\r\ncontent-length:");
  if (length == std::string::npos) {
    const std::size_t end = text.find("\r\n0\r\n\r\n");
    return end == std::string_view::npos ? 0 : end + 7;
  }
  const std::size_t whole = head + 4 + std::strtoull(lower.c_str() + length + 17, nullptr, 10);
  return text.size() < whole ? 0 : whole;
}

bool isGood(std::string_view text) {
  return text.starts_with("HTTP/1.1 200");
}

double at(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return 0;
  return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void report(const char* what, std::vector<double>& times, std::size_t failed, double seconds) {
  std::sort(times.begin(), times.end());
  std::printf(
      R"({"%s": %zu, "seconds": %.3f, "p50": %.1f, "p99": %.1f, "most": %.1f, "failed": %zu})"
      "\n",
      what, times.size(), seconds, at(times, 0.5), at(times, 0.99), at(times, 1), failed);
  std::fflush(stdout);
}

std::int64_t markedTime(std::string_view text, std::string_view mark) {
  const std::size_t found = text.find(mark);
  return found == std::string_view::npos ? 0 : timeIn(text.substr(found + mark.size()));
}

/// Microseconds of each call that it was not at the upstream.
void calls(const Door& door, int connections, double seconds, long pause) {
  const std::string request =
      smallRequest(door, pause > 0 ? "after " + std::to_string(pause) : std::string());
  const std::int64_t begin = now();
  const auto warm = begin + static_cast<std::int64_t>(seconds * 1e9 / 5);
  const auto end = begin + static_cast<std::int64_t>(seconds * 1e9 * 6 / 5);
  std::vector<double> times;
  const auto ask = [&](Client& client) {
    client.out = request;
    client.sent = now();
  };
  Crowd crowd(door, [&](Client& client) {
    const std::size_t whole = answerIn(client.in);
    if (whole == 0) return;
    const std::string_view answer = std::string_view(client.in).substr(0, whole);
    client.failed = !isGood(answer);
    const std::int64_t at_upstream = markedTime(answer, "S=") - markedTime(answer, "R=");
    const std::int64_t moment = now();
    if (moment >= warm && moment < end && !client.failed)
      times.push_back(static_cast<double>(moment - client.sent - at_upstream) / 1000);
    client.over = client.failed || moment >= end;
    client.in.erase(0, whole);
    ask(client);
  });
  for (int i = 0; i < connections; ++i) {
    ask(crowd.join());
    // Spread over the pause, so that they do not all speak at once.
    const std::int64_t next = now() + (pause > 0 ? pause * 1000 / connections : 0);
    do crowd.turn(std::max<std::int64_t>(next - now(), 0));
    while (now() < next);
  }
  crowd.untilOver(end + 10'000'000'000);
  report("calls", times, crowd.failed(), static_cast<double>(end - warm) / 1e9);
}

/// Opens them a few at a time, so that handshakes do not queue up.
void open(Crowd& crowd, int connections, const std::string& request, const bool& all_wait) {
  for (int i = 0; i < connections; ++i) {
    Client& client = crowd.join();
    client.out = request;
    client.sent = now();
    if (all_wait && i % 20 != 19) continue;
    const std::int64_t limit = now() + 5'000'000'000;
    while (client.seen == 0 && !client.over && now() < limit) crowd.turn(1'000'000);
  }
}

void streams(const Door& door, int connections, long events, long pause) {
  std::vector<double> times;
  bool measured = false;
  Crowd crowd(door, [&](Client& client) {
    const std::int64_t moment = now();
    std::size_t used = 0;
    for (std::size_t mark; (mark = client.in.find("T=", used)) != std::string::npos;) {
      if (client.in.size() < mark + 21) break;
      const std::int64_t told = timeIn(std::string_view(client.in).substr(mark + 2));
      // The first events come while others still connect.
      if (++client.seen > 20) times.push_back(static_cast<double>(moment - told) / 1000);
      used = mark + 21;
    }
    client.over = client.in.find("\r\n0\r\n\r\n", used) != std::string::npos;
    client.failed = client.over && client.seen != events + 1;
    client.in.erase(0, used);
  });
  const std::int64_t begin = now();
  open(crowd, connections,
       smallRequest(door, "sse " + std::to_string(events) + " " + std::to_string(pause)), measured);
  crowd.untilOver(now() + events * pause * 2000 + 20'000'000'000);
  report("events", times, crowd.failed(), static_cast<double>(now() - begin) / 1e9);
}

void idle(const Door& door, int connections, long pause) {
  bool in_turns = true;
  std::vector<double> times;
  Crowd crowd(door, [&](Client& client) {
    if (client.in.find("T=") != std::string::npos) client.seen = 1;
    client.over = client.in.find("\r\n0\r\n\r\n") != std::string::npos;
    client.failed = client.over && !isGood(client.in);
  });
  const std::int64_t begin = now();
  open(crowd, connections, smallRequest(door, "quiet " + std::to_string(pause)), in_turns);
  report("open", times, crowd.over(), static_cast<double>(now() - begin) / 1e9);
  crowd.untilOver(begin + pause * 1000 + 60'000'000'000);
  report("over", times, crowd.failed(), static_cast<double>(now() - begin) / 1e9);
}

void upload(const Door& door, int connections, std::uint64_t bytes, bool chunked) {
  const std::string start = R"({"model":"claude-haiku-4-5","text":")";
  const std::string end = "\"}";
  const std::string piece(65'536, 'x');
  const auto framed = [&](const std::string& text) {
    if (!chunked) return text;
    std::array<char, 16> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", text.size());
    return size.data() + text + "\r\n";
  };
  const std::uint64_t pieces = bytes / piece.size();
  const std::string framing =
      chunked ? "Transfer-Encoding: chunked"
              : "Content-Length: " + std::to_string(start.size() + pieces * piece.size() + 2);
  Crowd crowd(door, [](Client& client) {
    client.over = answerIn(client.in) > 0;
    client.failed = client.over && (!isGood(client.in) || client.to_send > 0);
  });
  crowd.refill = [&](Client& client) {
    if (client.to_send == 0) return;
    client.out = framed(--client.to_send > 0 ? piece : end);
    if (client.to_send == 0 && chunked) client.out += "0\r\n\r\n";
  };
  const std::int64_t begin = now();
  for (int i = 0; i < connections; ++i) {
    Client& client = crowd.join();
    client.out = requestHead(door, "", framing) + framed(start);
    client.to_send = pieces + 1;
  }
  crowd.untilOver(begin + 300'000'000'000);
  std::vector<double> times;
  report("uploads", times, crowd.failed(), static_cast<double>(now() - begin) / 1e9);
}

/// Microseconds from the first SYN to the end of the TLS handshake.
double shakeOnce(const Door& door, const std::string& name) {
  const std::int64_t begin = now();
  Wire wire(dial(door.port), nullptr);
  ::fcntl(wire.fd(), F_SETFL, 0);
  const timeval limit{10, 0};
  ::setsockopt(wire.fd(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  Poll poll;
  poll.add(wire.fd(), nullptr, EPOLLOUT);
  poll.each(5'000'000'000, [](void*) {});
  if (door.proxy) {
    wire.write("CONNECT " + name + ":443 HTTP/1.1\r\nHost: " + name + ":443\r\n\r\n");
    std::string answer;
    std::array<char, 4096> buffer;
    while (answer.find("\r\n\r\n") == std::string::npos) {
      const Transfer got = wire.read(buffer.data(), buffer.size());
      if (got.moved != Moved::Some) return -1;
      answer.append(buffer.data(), got.bytes);
    }
    if (answer.find(" 200 ") == std::string::npos) return -1;
  }
  wire.wrap(newTls(name.c_str()));
  if (wire.shake().moved != Moved::Some) return -1;
  return static_cast<double>(now() - begin) / 1000;
}

void shake(const Door& door, int rounds, const std::string& pattern) {
  std::vector<double> times;
  std::size_t failed = 0;
  const std::int64_t begin = now();
  for (int i = 0; i < rounds; ++i) {
    std::string name = pattern;
    if (const std::size_t at = name.find('%'); at != std::string::npos)
      name.replace(at, 1, std::to_string(::getpid()) + "-" + std::to_string(i));
    const double time = shakeOnce(door, name);
    if (time < 0)
      ++failed;
    else
      times.push_back(time);
  }
  report("handshakes", times, failed, static_cast<double>(now() - begin) / 1e9);
}

void drain() {
  static std::array<char, 131'072> buffer;
  while (::read(0, buffer.data(), buffer.size()) > 0) continue;
}

int use(const std::vector<std::string>& words) {
  const Door door = doorNamed(words[0]);
  const std::string& what = words[1];
  const auto number = [&](std::size_t at) {
    return words.size() > at ? std::atol(words[at].c_str()) : 0;
  };
  const int count = static_cast<int>(number(2));
  if (what == "calls" && words.size() > 3)
    calls(door, count, std::atof(words[3].c_str()), number(4));
  else if (what == "streams" && words.size() > 4)
    streams(door, count, number(3), number(4));
  else if (what == "idle" && words.size() > 3)
    idle(door, count, number(3));
  else if (what == "upload" && words.size() > 4)
    upload(door, count, static_cast<std::uint64_t>(number(3)), words[4] == "chunked");
  else if (what == "shake" && words.size() > 3)
    shake(door, count, words[3]);
  else if (what == "drain")
    drain();
  else
    return 2;
  return 0;
}

}  // namespace
}  // namespace warder::bench

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  warder::bench::allowManyFiles();
  ::signal(SIGPIPE, SIG_IGN);
  return warder::bench::use({argv + 1, argv + argc});
}
