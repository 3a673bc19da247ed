#include "supervisor/cli/machine.h"

#include <unistd.h>

#include "supervisor/launch/confine.h"

namespace warder::cli {

base::Status checkMachine() {
  if (::geteuid() == 0 || launch::landlockAbi() >= launch::kSignalScopeAbi) return {};
  return base::Error{base::Kind::Kernel,
                     "as an ordinary user the box needs Landlock's signal scope (Linux 6.12 with "
                     "Landlock enabled); run as root on this kernel"};
}

}  // namespace warder::cli
