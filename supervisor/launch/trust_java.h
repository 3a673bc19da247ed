// Java reads no PEM file: its trusted certificates lie in a key store.
#pragma once
#include <string>
#include <vector>

namespace warder::launch {

/// A JKS key store of trusted certificates (DER), which every JDK since the first reads whatever
/// store type it prefers; nothing in it is secret. For tools that ask, its password is "changeit",
/// as for Java's own store. Pure. Source: OpenJDK, sun.security.provider.JavaKeyStore.
std::string javaTrustStore(const std::vector<std::string>& certificates);

}  // namespace warder::launch
