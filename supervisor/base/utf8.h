// The one place that knows what UTF-8 is.
#pragma once
#include <cstddef>
#include <string_view>

namespace warder::base {

/// Length in bytes of the UTF-8 sequence at the start of `text`, which must not be empty; 0 if
/// there is no valid one. Source: RFC 3629 section 4.
std::size_t utf8Length(std::string_view text);

}  // namespace warder::base
