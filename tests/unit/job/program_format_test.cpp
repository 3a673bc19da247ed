// BC-095: what the kernel will say of a program, before it is asked.
#include "supervisor/job/program_format.h"

#include <elf.h>
#include <gmock/gmock.h>

#include <climits>
#include <cstring>

namespace warder::job {
namespace {

using ::testing::HasSubstr;

base::Result<ProgramFormat> formatOf(const std::string& bytes) {
  return readProgramFormat([&](std::uint64_t offset, std::size_t size) {
    return offset < bytes.size() ? bytes.substr(offset, size) : std::string();
  });
}

std::string faultOf(const std::string& bytes) {
  const auto format = formatOf(bytes);
  return format ? "" : format.error().doing;
}

#if defined(__x86_64__)
constexpr std::uint16_t kHere = EM_X86_64;
constexpr std::uint16_t kElsewhere = EM_AARCH64;
#else
constexpr std::uint16_t kHere = EM_AARCH64;
constexpr std::uint16_t kElsewhere = EM_X86_64;
#endif

/// An ELF program with `parts` program headers, the last of which names `loader`.
struct Elf {
  Elf64_Ehdr header{};
  std::vector<Elf64_Phdr> parts;
  std::string loader;

  explicit Elf(const std::string& name, std::size_t count = 1) : parts(count), loader(name) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_type = ET_DYN;
    header.e_machine = kHere;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = static_cast<std::uint16_t>(count);
    if (count == 0) return;
    parts.back().p_type = PT_INTERP;
    parts.back().p_offset = sizeof header + count * sizeof(Elf64_Phdr);
    parts.back().p_filesz = loader.size() + 1;
  }

  std::string bytes() const {
    std::string all(reinterpret_cast<const char*>(&header), sizeof header);
    all.append(reinterpret_cast<const char*>(parts.data()), parts.size() * sizeof(Elf64_Phdr));
    return all + loader + '\0';
  }
};

TEST(ProgramFormat, TellsTheLoaderOfAnElfProgram) {
  const auto format = formatOf(Elf("/lib/ld-musl-x86_64.so.1").bytes());
  ASSERT_TRUE(format);
  EXPECT_FALSE(format->is_script);
  EXPECT_EQ(format->interpreter, "/lib/ld-musl-x86_64.so.1");
}

TEST(ProgramFormat, AStaticProgramNamesNoLoader) {
  Elf elf("/x");
  elf.parts[0].p_type = PT_LOAD;
  const auto format = formatOf(elf.bytes());
  ASSERT_TRUE(format);
  EXPECT_EQ(format->interpreter, "");
}

TEST(ProgramFormat, AProgramForAnotherMachineIsNamedAsThat) {
  Elf elf("/x");
  elf.header.e_machine = kElsewhere;
  EXPECT_THAT(faultOf(elf.bytes()), HasSubstr("is a program for "));
  elf.header.e_machine = EM_386;
  elf.header.e_ident[EI_CLASS] = ELFCLASS32;
  EXPECT_THAT(faultOf(elf.bytes()), HasSubstr("32-bit x86"));
}

TEST(ProgramFormat, ObjectFilesAreNoPrograms) {
  Elf elf("/x");
  elf.header.e_type = ET_REL;
  EXPECT_THAT(faultOf(elf.bytes()), HasSubstr("an object file or a core"));
}

TEST(ProgramFormat, DamagedHeadersAreNamedAndBounded) {
  Elf elf("/x");
  const std::string whole = elf.bytes();
  EXPECT_THAT(faultOf(whole.substr(0, 10)), HasSubstr("header is cut off"));
  EXPECT_THAT(faultOf(whole.substr(0, sizeof(Elf64_Ehdr) + 8)), HasSubstr("headers are cut off"));
  elf.header.e_phnum = 129;
  EXPECT_THAT(faultOf(elf.bytes()), HasSubstr("is damaged"));
  EXPECT_EQ(faultOf(Elf("/x", 128).bytes()), "");
  Elf far("/x");
  far.header.e_phoff = ~0ULL;
  EXPECT_THAT(faultOf(far.bytes()), HasSubstr("is damaged"));
}

TEST(ProgramFormat, TheLengthOfALoadersNameIsTestedOnBothSides) {
  EXPECT_EQ(faultOf(Elf(std::string(PATH_MAX - 1, 'x')).bytes()), "");
  EXPECT_THAT(faultOf(Elf(std::string(PATH_MAX, 'x')).bytes()), HasSubstr("name of its loader"));
  EXPECT_THAT(faultOf(Elf("").bytes()), HasSubstr("name of its loader"));
}

TEST(ProgramFormat, ReadsTheFirstLineOfAScriptAsTheKernelDoes) {
  const auto format = formatOf("#! \t/usr/bin/env  -S node --x \t\nrest");
  ASSERT_TRUE(format);
  EXPECT_TRUE(format->is_script);
  EXPECT_EQ(format->interpreter, "/usr/bin/env");
  EXPECT_EQ(format->argument, "-S node --x");
  EXPECT_EQ(formatOf("#!/bin/sh")->interpreter, "/bin/sh");
}

TEST(ProgramFormat, AScriptThatTheKernelWouldNotReadIsRefused) {
  EXPECT_THAT(faultOf("#! \n"), HasSubstr("no interpreter"));
  EXPECT_THAT(faultOf("#!/bin/sh\r\n"), HasSubstr("carriage return"));
  EXPECT_EQ(faultOf("#!" + std::string(253, 'x') + "\n"), "");
  EXPECT_THAT(faultOf("#!" + std::string(254, 'x') + "\n"), HasSubstr("256 bytes"));
}

TEST(ProgramFormat, OtherFilesAreNoPrograms) {
  EXPECT_THAT(faultOf(""), HasSubstr("is empty, so it is no program"));
  EXPECT_THAT(faultOf("hello\n"), HasSubstr("is no program (no ELF header and no #!)"));
}

TEST(ProgramFormat, LoadersTellTheirLibrary) {
  EXPECT_EQ(libraryOfLoader("/lib/ld-musl-x86_64.so.1"), "musl");
  EXPECT_EQ(libraryOfLoader("/lib64/ld-linux-x86-64.so.2"), "glibc");
  EXPECT_EQ(libraryOfLoader("/nix/store/x/ld.so"), "");
}

}  // namespace
}  // namespace warder::job
