#include "supervisor/base/result.h"

#include <cstring>
#include <stdexcept>

namespace warder::base {

std::string_view nameOf(Kind kind) {
  switch (kind) {
    case Kind::Config:
      return "config";
    case Kind::NotFound:
      return "not_found";
    case Kind::Denied:
      return "denied";
    case Kind::Kernel:
      return "kernel";
    case Kind::Timeout:
      return "timeout";
    case Kind::Peer:
      return "peer";
    case Kind::Internal:
      return "internal";
  }
  return "internal";
}

std::string Error::sentence() const {
  if (system_errno == 0) return doing;
  return doing + ": " + std::strerror(system_errno);
}

Error Error::during(std::string_view activity) const {
  return Error{kind, std::string(activity) + ": " + doing, system_errno};
}

Error kernelError(std::string doing, int code) {
  return Error{code == ENOENT ? Kind::NotFound : Kind::Kernel, std::move(doing), code};
}

void throw_exception_from_error(const Error& error, const boost::source_location&) {
  throw std::runtime_error(error.sentence());
}

}  // namespace warder::base
