// The machine's console: where a first process speaks before anything else works.
#pragma once
#include <string_view>

namespace warder::boot {

/// Makes /dev/console descriptors 0, 1 and 2, those of them that are not open. Without a console
/// they become /dev/null where that is, so that later descriptors do not take their places.
void openConsole();

/// One line, "warder[boot] SENTENCE", written whole: unlike a log line it waits for the console,
/// because it may be the last thing that anybody hears.
void say(std::string_view sentence);

/// Waits until the console's device has sent everything.
void drainConsole();

}  // namespace warder::boot
