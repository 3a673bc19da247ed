#include "supervisor/boot/grace_periods.h"

#include <fcntl.h>
#include <unistd.h>

namespace warder::boot {

void ShortGracePeriods::begin() {
  auto setting = base::openFile("/sys/kernel/rcu_expedited", O_RDWR);
  char now = '1';
  if (!setting || ::pread(setting->get(), &now, 1, 0) != 1 || now != '0') return;
  if (::pwrite(setting->get(), "1", 1, 0) == 1) setting_ = std::move(*setting);
}

void ShortGracePeriods::end() {
  // The machine works as well without, a little busier.
  if (setting_ && ::pwrite(setting_.get(), "0", 1, 0) == 1) setting_.reset();
}

}  // namespace warder::boot
