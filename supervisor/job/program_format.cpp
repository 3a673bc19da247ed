#include "supervisor/job/program_format.h"

#include <elf.h>

#include <climits>
#include <cstring>
#include <filesystem>

namespace warder::job {
namespace {

using base::Error;
using base::Kind;
using base::Result;

#if defined(__x86_64__)
constexpr std::uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr std::uint16_t kMachine = EM_AARCH64;
#else
#error "the agent's architecture is not known"
#endif

constexpr std::size_t kHead = 256;         // BINPRM_BUF_SIZE: what the kernel looks at
constexpr std::size_t kMostHeaders = 128;  // more than any linker makes

Error fault(const std::string& sentence) {
  return {Kind::Config, sentence, 0};
}

std::string machineName(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
      return "AArch64";
    case EM_ARM:
      return "32-bit ARM";
    case EM_RISCV:
      return "RISC-V";
    default:
      return "machine type " + std::to_string(machine);
  }
}

Result<ProgramFormat> readScript(const std::string& head) {
  const std::size_t end = head.find('\n');
  const std::string line = head.substr(0, end);
  const std::size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return fault("begins with #! and no interpreter");
  if (line.back() == '\r')
    return fault(
        "has a carriage return at the end of its first line, which the kernel takes for a part of "
        "the interpreter's name; save it with Unix line ends");
  const std::size_t stop = line.find_first_of(" \t", begin);
  if (end == std::string::npos && stop == std::string::npos && head.size() >= kHead)
    return fault("names an interpreter that is longer than the kernel reads (256 bytes)");
  ProgramFormat format;
  format.is_script = true;
  format.interpreter = line.substr(begin, stop - begin);
  if (stop == std::string::npos) return format;
  const std::size_t first = line.find_first_not_of(" \t", stop);
  if (first == std::string::npos) return format;
  format.argument = line.substr(first, line.find_last_not_of(" \t") - first + 1);
  return format;
}

Result<std::string> readLoader(const ReadAt& read, const Elf64_Ehdr& header) {
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
      header.e_phnum > kMostHeaders)
    return fault("is damaged (its ELF program headers)");
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const std::string bytes = read(header.e_phoff + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr));
    if (bytes.size() != sizeof(Elf64_Phdr))
      return fault("is damaged (its ELF program headers are cut off)");
    Elf64_Phdr part{};
    std::memcpy(&part, bytes.data(), sizeof part);
    if (part.p_type != PT_INTERP) continue;
    if (part.p_filesz < 2 || part.p_filesz > PATH_MAX)
      return fault("is damaged (the name of its loader)");
    const std::string name = read(part.p_offset, part.p_filesz);
    if (name.size() != part.p_filesz || name.back() != '\0')
      return fault("is damaged (the name of its loader)");
    return name.substr(0, name.find('\0'));
  }
  return std::string();
}

Result<ProgramFormat> readElf(const ReadAt& read, const std::string& head) {
  if (head.size() < sizeof(Elf64_Ehdr)) return fault("is damaged (its ELF header is cut off)");
  Elf64_Ehdr header{};
  std::memcpy(&header, head.data(), sizeof header);
  const bool wide = header.e_ident[EI_CLASS] == ELFCLASS64;
  if (!wide || header.e_machine != kMachine)
    return fault("is a program for " + machineName(header.e_machine) + ", and this machine is " +
                 machineName(kMachine) + " (64 bit)");
  if (header.e_type != ET_EXEC && header.e_type != ET_DYN)
    return fault("is an ELF file that is no program (an object file or a core)");
  auto loader = readLoader(read, header);
  if (!loader) return loader.error();
  ProgramFormat format;
  format.interpreter = std::move(*loader);
  return format;
}

}  // namespace

Result<ProgramFormat> readProgramFormat(const ReadAt& read) {
  const std::string head = read(0, kHead);
  if (head.empty()) return fault("is empty, so it is no program");
  if (head.rfind("#!", 0) == 0) return readScript(head);
  if (head.rfind(std::string(ELFMAG, SELFMAG), 0) == 0) return readElf(read, head);
  return fault("is no program (no ELF header and no #!)");
}

std::string libraryOfLoader(const std::string& loader) {
  const std::string name = std::filesystem::path(loader).filename().string();
  if (name.rfind("ld-musl", 0) == 0) return "musl";
  if (name.rfind("ld-linux", 0) == 0) return "glibc";
  return {};
}

}  // namespace warder::job
