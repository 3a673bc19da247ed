// The request target in the one spelling that is accepted, so that the path that was decided on is
// the path that the upstream sees.
#pragma once
#include <string>
#include <string_view>

#include "secrets/http/head.h"

namespace warder::http {

struct Target {
  std::string path;   // begins with /, nothing in it needs decoding to be compared
  std::string query;  // with its ?, or empty; passed on as it is
};

/// Refuses anything but origin-form, and in the path: empty and dot segments, backslashes,
/// percent-encoded controls, dots, slashes, backslashes and percents; fragments anywhere.
HeadResult<Target> parseTarget(std::string_view target);

}  // namespace warder::http
