// `warder init -- COMMAND`: an init and nothing else. No job, no services, no memory of its own to
// speak of: starts one program, hands signals on, collects the dead, and sees that what the
// program leaves behind ends in order.
#pragma once
#include <chrono>
#include <map>
#include <set>

namespace warder::init {

struct PlainInit {
  char* const* command = nullptr;  // argv, ends in nullptr
  std::map<int, int> rewrite;      // signal → the one that is sent instead; 0: none
  bool to_group = false;           // signals go to the program's process group, not to it alone
  int parent_death_signal = 0;     // what we get when our parent dies; 0: nothing
  std::set<int> exit_ok;           // these exit codes become 0
  std::chrono::milliseconds grace{5000};  // of what outlives the program: from SIGTERM to SIGKILL
  bool quiet = false;                     // no sentences but those about failures
};

/// Runs the program to its end and everything below it too. Returns the program's exit code, 128+n
/// when signal n ended it, 127 or 126 with a sentence on standard error when it could not be
/// started. As PID 1 or, with a warning, as a subreaper. Signals must be blocked already
/// (watch::blockAll); the program gets the mask and the dispositions that we were started with.
int runPlainInit(const PlainInit& init);

}  // namespace warder::init
