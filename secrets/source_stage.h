// The stage `source`: asks a program for a secret.
#pragma once

namespace warder::secrets {

/// Bytes of the last line of a program's standard error that a sentence repeats.
inline constexpr unsigned kMaxHelperWords = 256;

/// The stage. Its configuration: {"argv":[…],"env":["NAME=text",…],"timeout_ms":N}, argv[0] an
/// absolute path; the descriptor at base::kFirstExtraFd becomes the program's standard output,
/// which nobody of ours reads but the broker. Runs the program in a process group of its own, with
/// this environment and nothing to read, and ends the group when the program is over, when its time
/// is, or when the control socket closes. Says ready when the program ended with 0, else
/// {"failed":…}. Returns the process's exit code.
int sourceMain();

}  // namespace warder::secrets
