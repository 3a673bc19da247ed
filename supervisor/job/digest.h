// SHA-256 of a job file, by which a run names the job it was.
#pragma once
#include <string>
#include <string_view>

namespace warder::job {

/// "sha256:" and 64 hexadecimal digits.
std::string digestOf(std::string_view text);

}  // namespace warder::job
