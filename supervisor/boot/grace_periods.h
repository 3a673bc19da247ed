// How long the kernel takes for what a boot does once.
#pragma once
#include "supervisor/base/fd.h"

namespace warder::boot {

/// While it lives, the kernel does not wait for its timer before it believes that nobody reads what
/// was replaced: raising an interface or moving a process into a control group waits for that, and
/// takes milliseconds each on an idle machine otherwise. It costs other processors interrupts, and
/// so is for a boot alone: the end gives back what was set. Needs /sys; without it, or where the
/// command line (rcupdate.rcu_expedited=1) set it already, it does nothing. Source:
/// Documentation/admin-guide/kernel-parameters.txt, rcupdate.rcu_expedited.
class ShortGracePeriods {
 public:
  ShortGracePeriods() = default;
  ShortGracePeriods(const ShortGracePeriods&) = delete;
  ShortGracePeriods& operator=(const ShortGracePeriods&) = delete;
  ~ShortGracePeriods() { end(); }

  void begin();
  void end();

 private:
  base::UniqueFd setting_;  // open while it is ours to give back
};

}  // namespace warder::boot
