// What the kernel will make of a program's first bytes: an ELF program of this machine, or a
// script.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "supervisor/base/result.h"

namespace warder::job {

struct ProgramFormat {
  bool is_script = false;
  /// ELF: the loader that the program names (PT_INTERP), empty for a static one. Script: the
  /// program after "#!".
  std::string interpreter;
  std::string argument;  // script: the rest of its first line, one argument for the kernel
};

/// At most `size` bytes of the file from `offset` on; fewer at its end.
using ReadAt = std::function<std::string(std::uint64_t offset, std::size_t size)>;

/// Bounded whatever the bytes are. Errors (Config) are half-sentences for "FILE …": "is no program
/// (no ELF header and no #!)", "is a program for AArch64, and this machine is x86-64".
/// Source: elf(5), fs/binfmt_elf.c, fs/binfmt_script.c.
base::Result<ProgramFormat> readProgramFormat(const ReadAt& read);

/// The C library that a loader of this name belongs to: "glibc", "musl", or empty.
std::string libraryOfLoader(const std::string& loader);

}  // namespace warder::job
