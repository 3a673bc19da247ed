// Real resolvers against the stub, in a network where every address is local: glibc, c-ares (in
// Node), musl, dig.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include "tests/support/dns_stub_thread.h"
#include "tests/support/own_network.h"

namespace warder::dns {
namespace {

using testing::HasSubstr;
using testing::Not;
using tests::StubThread;

/// What a program writes, both streams together.
std::string outputOf(const std::string& command) {
  std::FILE* pipe = ::popen(("exec 2>&1; " + command).c_str(), "re");
  std::string text;
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, count);
  ::pclose(pipe);
  return text;
}

bool isThere(const std::string& program) {
  return outputOf("command -v " + program).find('/') == 0;
}

/// Runs in a network of its own with a stub on port 53 of every address, as in the agent's.
std::string besideAStub(const std::function<std::string(StubThread&)>& inside) {
  const auto outcome = tests::inOwnNetwork([&]() -> std::string {
    const std::string routes = outputOf(
        "ip route add local 0.0.0.0/0 dev lo table local && "
        "ip -6 route add local ::/0 dev lo table local");
    if (!routes.empty()) return "no routes: " + routes;
    StubThread stub;
    for (const char* address : {"0.0.0.0", "::"}) {
      stub.serveUdp(address, 53);
      stub.serveTcp(address, 53);
    }
    return inside(stub);
  });
  return outcome.value_or("no namespaces");
}

class Resolvers : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests::inOwnNetwork([] { return std::string("here"); }))
      GTEST_SKIP() << "user namespaces are not to be had here";
    if (!isThere("ip")) GTEST_SKIP() << "iproute2 is not installed";
  }
};

std::string lookUp(const std::string& name, int family) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (code != 0) return ::gai_strerror(code);
  std::string text;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    char host[NI_MAXHOST];
    ::getnameinfo(at->ai_addr, at->ai_addrlen, host, sizeof host, nullptr, 0, NI_NUMERICHOST);
    text += (text.empty() ? "" : " ") + std::string(host);
  }
  ::freeaddrinfo(found);
  return text;
}

TEST_F(Resolvers, GlibcGetsAddressesAndDenialsAtOnce) {
  const std::string text = besideAStub([](StubThread&) {
    return lookUp("api.example.org", AF_INET) + "\n" + lookUp("api.example.org", AF_INET6) + "\n" +
           lookUp("evil.example", AF_UNSPEC) + "\n" + lookUp("single", AF_UNSPEC) + "\n" +
           lookUp("API.Example.Org", AF_UNSPEC) + "\n";
  });
  EXPECT_THAT(text, testing::StartsWith("198.18.0.1\nfd57:4152:4445:5200::c612:1\n"
                                        "Name or service not known\nName or service not known\n"));
  EXPECT_THAT(text, HasSubstr("198.18.0.1"));
}

TEST_F(Resolvers, GlibcFindsTheNameOfAnAddress) {
  const std::string text = besideAStub([](StubThread&) {
    lookUp("api.example.org", AF_INET);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, "198.18.0.1", &address.sin_addr);
    char host[NI_MAXHOST] = "";
    ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host, sizeof host,
                  nullptr, 0, NI_NAMEREQD);
    return std::string(host);
  });
  EXPECT_EQ(text, "api.example.org");
}

// BC-070: a question to any server is answered by the stub, and leaves for nowhere.
TEST_F(Resolvers, EveryServersAddressIsTheStubs) {
  const std::string text = besideAStub([](StubThread& stub) {
    std::string answers;
    for (const char* server : {"8.8.8.8", "127.0.0.11", "203.0.113.9", "192.168.1.1", "198.18.0.77",
                               "::1", "2001:4860:4860::8888", "fd00::1"}) {
      tests::UdpAsker udp(server, 53);
      tests::TcpAsker tcp(server, 53);
      const std::string query = tests::dnsQuery("stolen.attacker.example", tests::kTypeTxt);
      answers += std::to_string(udp.ask(query).rcode) + std::to_string(tcp.ask(query)->rcode);
    }
    return answers + " " + std::to_string(stub.events().size());
  });
  EXPECT_EQ(text, "3333333333333333 16");
}

TEST_F(Resolvers, CaresInNodeGetsAddressesAndDenials) {
  if (!isThere("node")) GTEST_SKIP() << "Node is not installed";
  const std::string text = besideAStub([](StubThread&) {
    return outputOf(R"(node -e '
      const dns = require("dns").promises;
      const tell = async (what) => { try { console.log(JSON.stringify(await what)); }
                                     catch (e) { console.log(e.code); } };
      (async () => {
        await tell(dns.resolve4("api.example.org", {ttl: true}));
        await tell(dns.resolve6("api.example.org"));
        await tell(dns.resolveTxt("api.example.org"));
        await tell(dns.resolveMx("evil.example"));
        await tell(dns.resolve4("evil.example"));
        await tell(dns.reverse("198.18.0.1"));
        await tell(dns.lookup("evil.example"));
        const other = new dns.Resolver(); other.setServers(["8.8.8.8"]);
        await tell(other.resolve4("data.attacker.example"));
        await tell(other.resolve4("api.example.org"));
      })();')");
  });
  EXPECT_EQ(text,
            "[{\"address\":\"198.18.0.1\",\"ttl\":60}]\n[\"fd57:4152:4445:5200::c612:1\"]\n"
            "ENODATA\nENOTFOUND\nENOTFOUND\n[\"api.example.org\"]\nENOTFOUND\nENOTFOUND\n"
            "[\"198.18.0.1\"]\n");
}

TEST_F(Resolvers, DigShowsWhyANameWasRefused) {
  if (!isThere("dig")) GTEST_SKIP() << "bind9-dnsutils is not installed";
  const std::string text = besideAStub([](StubThread&) {
    return outputOf(
        "dig +tries=1 evil.example TXT; dig +tcp +keepopen @8.8.8.8 a.wild.org AAAA "
        "api.example.org HTTPS");
  });
  EXPECT_THAT(text, HasSubstr("status: NXDOMAIN"));
  EXPECT_THAT(text, HasSubstr("; EDE: 17 (Filtered): (not allowed by the policy of this run; "));
  EXPECT_THAT(text, HasSubstr("fd57:4152:4445:5200::c612:1"));
  EXPECT_THAT(text, HasSubstr("status: NOERROR"));
  EXPECT_THAT(text, Not(HasSubstr("WARNING")));
  EXPECT_THAT(text, Not(HasSubstr("malformed")));
}

TEST_F(Resolvers, MuslGetsAddressesAndDenials) {
  if (!isThere("musl-gcc")) GTEST_SKIP() << "musl-tools is not installed";
  const std::string text = besideAStub([](StubThread&) {
    const std::string program = "/tmp/warder-test-musl-" + std::to_string(::getpid());
    const std::string source = WARDER_SOURCE_DIR "/tests/component/dns/look_up.c";
    const std::string built = outputOf("musl-gcc -static -o " + program + " " + source);
    const std::string answers =
        outputOf(program + " api.example.org evil.example single b.wild.org localhost");
    ::unlink(program.c_str());
    return built + answers;
  });
  EXPECT_EQ(text,
            "api.example.org: 198.18.0.1 fd57:4152:4445:5200::c612:1\n"
            "evil.example: Name does not resolve\nsingle: Name does not resolve\n"
            "b.wild.org: 198.18.0.2 fd57:4152:4445:5200::c612:2\nlocalhost: 127.0.0.1\n");
}

}  // namespace
}  // namespace warder::dns
