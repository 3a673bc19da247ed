#include "supervisor/launch/socket_lookup.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace warder::launch {

using base::kernelError;
using base::Result;
using base::UniqueFd;

namespace {

int bpf(bpf_cmd command, bpf_attr& attributes) {
  return static_cast<int>(::syscall(SYS_bpf, command, &attributes, sizeof attributes));
}

// The few instructions that the program needs. Source: Documentation/bpf/instruction-set.rst.
constexpr bpf_insn copy(std::uint8_t to, std::uint8_t from) {
  return {BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0};
}
constexpr bpf_insn set(std::uint8_t to, std::int32_t value) {
  return {BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value};
}
constexpr bpf_insn add(std::uint8_t to, std::int32_t value) {
  return {BPF_ALU64 | BPF_ADD | BPF_K, to, 0, 0, value};
}
constexpr bpf_insn orWith(std::uint8_t to, std::uint8_t from) {
  return {BPF_ALU64 | BPF_OR | BPF_X, to, from, 0, 0};
}
constexpr bpf_insn andWith(std::uint8_t to, std::int32_t value) {
  return {BPF_ALU64 | BPF_AND | BPF_K, to, 0, 0, value};
}
constexpr bpf_insn load(std::uint8_t to, std::uint8_t from, std::size_t offset) {
  return {BPF_LDX | BPF_W | BPF_MEM, to, from, static_cast<std::int16_t>(offset), 0};
}
constexpr bpf_insn store(std::uint8_t at, std::int16_t offset, std::uint8_t from) {
  return {BPF_STX | BPF_W | BPF_MEM, at, from, offset, 0};
}
constexpr bpf_insn skipIfEqual(std::uint8_t left, std::int32_t right, std::int16_t count) {
  return {BPF_JMP | BPF_JEQ | BPF_K, left, 0, count, right};
}
constexpr bpf_insn skipUnlessEqual(std::uint8_t left, std::int32_t right, std::int16_t count) {
  return {BPF_JMP | BPF_JNE | BPF_K, left, 0, count, right};
}
constexpr bpf_insn skip(std::int16_t count) {
  return {BPF_JMP | BPF_JA, 0, 0, count, 0};
}
constexpr bpf_insn call(bpf_func_id function) {
  return {BPF_JMP | BPF_CALL, 0, 0, 0, function};
}
constexpr bpf_insn end() {
  return {BPF_JMP | BPF_EXIT, 0, 0, 0, 0};
}

// Addresses are loaded as words of network byte order.
static_assert(std::endian::native == std::endian::little);
constexpr std::int32_t kFirstByte = 0xff;
constexpr std::int32_t kLoopback4 = 127;
constexpr std::int32_t kOneAsLastWord = 0x01000000;

constexpr std::int32_t kKey4 = 0;  // of the map of listeners
constexpr std::int32_t kKey6 = 1;

Result<UniqueFd> makeMap(int v4, int v6) {
  bpf_attr make{};
  make.map_type = BPF_MAP_TYPE_SOCKMAP;
  make.key_size = sizeof(std::int32_t);
  make.value_size = sizeof(std::uint64_t);
  make.max_entries = 2;
  UniqueFd map(bpf(BPF_MAP_CREATE, make));
  if (!map) return kernelError("cannot make a map of listeners");
  for (const auto& [key, listener] : {std::pair{kKey4, v4}, std::pair{kKey6, v6}}) {
    if (listener < 0) continue;
    const auto value = static_cast<std::uint64_t>(listener);
    bpf_attr put{};
    put.map_fd = static_cast<std::uint32_t>(map.get());
    put.key = reinterpret_cast<std::uintptr_t>(&key);
    put.value = reinterpret_cast<std::uintptr_t>(&value);
    if (bpf(BPF_MAP_UPDATE_ELEM, put) != 0)
      return kernelError("cannot put a listener into the map");
  }
  return map;
}

Result<UniqueFd> loadProgram(const UniqueFd& map) {
  constexpr std::size_t kIp4 = offsetof(bpf_sk_lookup, local_ip4);
  constexpr std::size_t kIp6 = offsetof(bpf_sk_lookup, local_ip6);
  // r6: the lookup; r7: key, then listener; r8: what the hand-over returned.
  const bpf_insn program[] = {
      /*  0 */ copy(6, 1),
      /*  1 */ load(2, 6, offsetof(bpf_sk_lookup, protocol)),
      /*  2 */ skipUnlessEqual(2, IPPROTO_TCP, 35),  // to 38: UDP as ever
      /*  3 */ load(2, 6, offsetof(bpf_sk_lookup, family)),
      /*  4 */ skipIfEqual(2, AF_INET6, 5),  // to 10
      // A destination of version 4, or one that version 6 sockets write as ::ffff:a.b.c.d.
      /*  5 */ set(7, kKey4),
      /*  6 */ load(3, 6, kIp4),
      /*  7 */ andWith(3, kFirstByte),
      /*  8 */ skipIfEqual(3, kLoopback4, 29),  // to 38: 127/8 as ever
      /*  9 */ skip(9),                         // to 19
      // Version 6: three words of zero and a one are loopback.
      /* 10 */ set(7, kKey6),
      /* 11 */ load(2, 6, kIp6),
      /* 12 */ load(3, 6, kIp6 + 4),
      /* 13 */ orWith(2, 3),
      /* 14 */ load(3, 6, kIp6 + 8),
      /* 15 */ orWith(2, 3),
      /* 16 */ skipUnlessEqual(2, 0, 2),  // to 19
      /* 17 */ load(3, 6, kIp6 + 12),
      /* 18 */ skipIfEqual(3, kOneAsLastWord, 19),  // to 38: ::1 as ever
      // The listener of that version; where it is closed, nobody listens.
      /* 19 */ store(10, -4, 7),
      /* 20 */ {BPF_LD | BPF_DW | BPF_IMM, 1, BPF_PSEUDO_MAP_FD, 0, map.get()},
      /* 21 */ {0, 0, 0, 0, 0},  // the second half of instruction 20
      /* 22 */ copy(2, 10),
      /* 23 */ add(2, -4),
      /* 24 */ call(BPF_FUNC_map_lookup_elem),
      /* 25 */ skipIfEqual(0, 0, 10),  // to 36
      /* 26 */ copy(7, 0),
      /* 27 */ copy(1, 6),
      /* 28 */ copy(2, 7),
      /* 29 */ set(3, 0),
      /* 30 */ call(BPF_FUNC_sk_assign),
      /* 31 */ copy(8, 0),
      /* 32 */ copy(1, 7),
      /* 33 */ call(BPF_FUNC_sk_release),
      /* 34 */ skipUnlessEqual(8, 0, 1),  // to 36
      /* 35 */ skip(2),                   // to 38
      /* 36 */ set(0, SK_DROP),
      /* 37 */ end(),
      /* 38 */ set(0, SK_PASS),
      /* 39 */ end()};
  bpf_attr load_it{};
  load_it.prog_type = BPF_PROG_TYPE_SK_LOOKUP;
  load_it.expected_attach_type = BPF_SK_LOOKUP;
  load_it.insns = reinterpret_cast<std::uintptr_t>(program);
  load_it.insn_cnt = sizeof program / sizeof *program;
  load_it.license = reinterpret_cast<std::uintptr_t>("Apache-2.0");
  UniqueFd loaded(bpf(BPF_PROG_LOAD, load_it));
  if (!loaded) return kernelError("cannot load the lookup program");
  return loaded;
}

}  // namespace

Result<UniqueFd> captureConnections(int v4, int v6) {
  auto map = makeMap(v4, v6);
  if (!map) return map.error();
  auto program = loadProgram(*map);
  if (!program) return program.error();
  auto network = base::openFile("/proc/thread-self/ns/net", O_RDONLY);
  if (!network) return network.error();
  bpf_attr attach{};
  attach.link_create.prog_fd = static_cast<std::uint32_t>(program->get());
  attach.link_create.target_fd = static_cast<std::uint32_t>(network->get());
  attach.link_create.attach_type = BPF_SK_LOOKUP;
  UniqueFd link(bpf(BPF_LINK_CREATE, attach));
  if (!link) return kernelError("cannot attach the lookup program to the agent's network");
  return link;
}

}  // namespace warder::launch
