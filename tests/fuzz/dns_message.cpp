// Hostile bytes as a question: the answer is one, to this question, and within its limit.
#include <cstdlib>

#include "policies/policy.h"
#include "secrets/dns/name_server.h"

namespace {

using namespace warder::dns;

bool isAllowed(std::string_view host) {
  constexpr std::string_view kEnd = "example.org";
  if (warder::policies::canonicalHost(host) != host) std::abort();
  return host.size() >= kEnd.size() && host.substr(host.size() - kEnd.size()) == kEnd;
}

unsigned wordAt(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned>(static_cast<unsigned char>(bytes[at])) << 8 |
         static_cast<unsigned char>(bytes[at + 1]);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view message(reinterpret_cast<const char*>(data), size);
  std::size_t events = 0;
  NameServer server({isAllowed, std::make_shared<NameTable>(1), [&](warder::base::Event event) {
                       const auto& name = event.data.at("name").as_string();
                       if (name.size() > 253) std::abort();
                       for (const char c : name)
                         if (c < 0x20 || c > 0x7e) std::abort();
                       ++events;
                     }});
  for (const Transport transport : {Transport::Udp, Transport::Tcp}) {
    const auto answer = server.answer(message, transport);
    const auto read = readQuery(message);
    if (answer.has_value() != read.has_value()) std::abort();
    if (!answer) continue;
    const std::size_t limit =
        transport == Transport::Udp ? udpLimitOf(read->query) : kLargestTcpAnswer;
    if (answer->size() < 12 || answer->size() > limit) std::abort();
    if (wordAt(*answer, 0) != wordAt(message, 0)) std::abort();
    if ((wordAt(*answer, 2) & 0x8000) == 0) std::abort();  // an answer, so it is never answered
    if (readQuery(*answer)) std::abort();
    const unsigned rcode = wordAt(*answer, 2) & 0xf;
    const unsigned records = wordAt(*answer, 6);
    if (records > 2 || (records > 0 && rcode != 0)) std::abort();
    const std::string& question = read->query.question;
    if (answer->substr(12, question.size()) != question) std::abort();
    if (read->fault != Rcode::NoError && records > 0) std::abort();
  }
  if (events > 2) std::abort();
  return 0;
}
