// `warder cancel`: asks the run of this box to end in good order.
#pragma once
#include "supervisor/base/event.h"
#include "supervisor/base/result.h"

namespace CLI {
class App;
}

namespace warder::cli {

/// Whether this answer of a run says that it ends: {"cancelling":true} and nothing else does.
/// Errors: Peer. Pure.
base::Status checkCancelling(const base::json::object& answer);

/// warder cancel [RUN_DIR] [--json]. exit_code: 0 the run was asked, 1 it could not be, 3 there is
/// no run that goes on.
void addCancelCommand(CLI::App& app, int& exit_code);

}  // namespace warder::cli
