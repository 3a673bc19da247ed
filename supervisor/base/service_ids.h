// User and group ids of the supervisor's own services. An agent with one of them could read the
// spool or signal a service, so a job cannot ask for one.
#pragma once
#include <cstdint>

namespace warder::base {

inline constexpr std::uint32_t kFirstServiceId = 64200;
inline constexpr std::uint32_t kLastServiceId = 64203;

}  // namespace warder::base
