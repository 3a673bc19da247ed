// `warder init --microvm`: the first process of a kernel, in the root file system.
#pragma once

namespace warder::cli {

/// Prepares the machine, runs the job or the command that the kernel command line names, tells the
/// outcome and ends the machine. Does not return when this is a kernel's first process; elsewhere
/// it says so and returns 2.
int runMicrovm();

}  // namespace warder::cli
