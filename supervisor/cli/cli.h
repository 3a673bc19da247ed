// The command line of warder: one file a command, this one only gathers them.
#pragma once

namespace warder::cli {

/// Parses the arguments, runs one command, returns its exit code: 0 done, 14 the input is at fault,
/// 2 the arguments are; `run` returns the run's own (docs/outcome.md).
int commandLine(int argc, char** argv);

/// Is this call one of `warder init`? It is when the first word says so, when the binary is called
/// "init", and when it is PID 1 and its first word is no other command.
bool actsAsInit(int argc, char** argv);

inline constexpr int kBadArguments = 2;
inline constexpr int kBadInput = 14;

}  // namespace warder::cli
