// What the agent's programs make of /etc/resolv.conf when every address is local to their network.
#pragma once
#include <string>
#include <vector>

namespace warder::init {

/// The servers that the text of /etc/resolv.conf names, when questions to none of them come to the
/// broker; else, and where it names none (programs then ask 127.0.0.1), empty. Out of reach are
/// servers of version 6 in a network without it, and those of one link (fe80::1%eth0). Pure.
/// Source: resolv.conf(5); at most three servers count.
std::vector<std::string> unreachableServers(const std::string& resolv_conf, bool ipv6);

/// One sentence about such servers in this place; empty when all is well.
std::string lookAtNameServers(bool ipv6);

}  // namespace warder::init
