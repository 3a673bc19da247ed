// The files of a run beside its journal.
#pragma once
#include <boost/json.hpp>
#include <string>

#include "supervisor/base/result.h"

namespace warder::journal {

namespace json = boost::json;

/// journal/, output/ and blobs/ below a run's folder, where they are missing. Errors: Kernel.
base::Status makeRunFolders(const std::string& run_dir);

/// Writes RUN_DIR/NAME as one JSON object and a newline: synced, then renamed into place, so that
/// readers see the old file or the new one. Returns "sha256:HEX" of the file. Errors: Kernel.
base::Result<std::string> writeJsonFile(const std::string& run_dir, const std::string& name,
                                        const json::object& content);

}  // namespace warder::journal
