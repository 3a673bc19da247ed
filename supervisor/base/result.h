// The one way a function says that it failed.
#pragma once
#include <boost/system/result.hpp>
#include <cerrno>
#include <string>
#include <string_view>

namespace warder::base {

/// Who has to act: Config = whoever wrote the input; Kernel = the environment; Peer = the other
/// end of a connection; Denied = a guard said no; Internal = us.
enum class Kind { Config, NotFound, Denied, Kernel, Timeout, Peer, Internal };

std::string_view nameOf(Kind kind);

struct Error {
  Kind kind = Kind::Internal;
  std::string doing;     // one sentence without a final stop; says what and where
  int system_errno = 0;  // 0 where the kernel was not asked

  /// The sentence for a person, with the kernel's reason when there is one.
  std::string sentence() const;
  /// The same error seen from one level up: "starting the broker: reading plan: …".
  Error during(std::string_view activity) const;
};

template <class T>
using Result = boost::system::result<T, Error>;
using Status = Result<void>;

/// An Error of Kind::Kernel that captures errno. Call right after the failing system call.
Error kernelError(std::string doing, int code = errno);

[[noreturn]] void throw_exception_from_error(const Error& error,
                                             const boost::source_location& where);

}  // namespace warder::base
