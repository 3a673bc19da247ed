// The network namespace that this thread is in, when it has nothing but `lo`.
#pragma once
#include "supervisor/base/result.h"

namespace warder::launch {

/// Raises `lo` where it is down. Errors: Kernel (it takes CAP_NET_ADMIN).
base::Status raiseLoopback();

/// `local default dev lo` for AF_INET or AF_INET6: a connection to any address ends in this
/// namespace, so that it is served or refused here, and at once. Errors: Kernel.
/// Source: rtnetlink(7), ip-route(8) "local" (AnyIP).
base::Status makeEveryAddressLocal(int family);

/// Can ::1 be listened on? Not in a kernel without IPv6, nor where it is switched off
/// (net.ipv6.conf.lo.disable_ipv6).
bool hasLoopback6();

}  // namespace warder::launch
