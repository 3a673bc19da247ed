// Files by which the agent's programs come to trust the run's certificate authority.
#pragma once
#include <string>
#include <vector>

#include "supervisor/base/result.h"

namespace warder::launch {

inline constexpr std::size_t kLargestBundle = 4 << 20;
inline constexpr std::size_t kMostRoots = 4096;
/// The files' folder in a box with a root of its own.
inline constexpr const char* kTrustInBox = "/run/trust";

/// Where distributions keep the roots that programs read as one file. Source: Go, crypto/x509,
/// root_linux.go; the last is Alpine's and OpenSSL's own name.
inline constexpr const char* kSystemBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem"};
/// The same for Java.
inline constexpr const char* kSystemJavaStores[] = {"/etc/ssl/certs/java/cacerts",
                                                    "/etc/pki/ca-trust/extracted/java/cacerts",
                                                    "/etc/pki/java/cacerts"};

/// What the files hold. Nothing of it is secret.
struct Trust {
  std::string bundle;      // PEM: the system's roots, the run's CA, further ones
  std::string added;       // PEM: the same without the system's, for programs that add to their own
  std::string java_store;  // all of `bundle`
  std::string wgetrc{};    // the system's settings of wget, with the bundle named; empty: none
  bool has_system_roots = false;
};

struct TrustSources {
  std::string ca_pem;               // the run's CA
  std::vector<std::string> extras;  // PEM texts of further CAs
  std::string system_bundle;        // PEM; empty where the system has none
  /// PEM texts that were a program's whole roots before: for the bundle only.
  std::vector<std::string> named{};
};

/// Puts them together; each certificate is there once. Errors: Config for a text that is no whole
/// PEM of certificates, or more than kMostRoots: there is never a file that lacks the system's
/// roots because they could not be read. Pure.
base::Result<Trust> mergeTrust(const TrustSources& sources);

/// The first of kSystemBundles below `root` ("/", or the folder of an unpacked image, whose links
/// are read inside of it); empty where it has none. Errors: Kernel, Config (larger than
/// kLargestBundle), naming the file.
base::Result<std::string> readSystemBundle(const std::string& root);

/// A file below `root`, with links read inside of it. Errors: NotFound (also for what is no regular
/// file), Kernel, Config (larger than kLargestBundle).
base::Result<std::string> readRegularInRoot(const std::string& root, const std::string& path);

/// `path` below `root` with links read inside of `root`, as a path of this machine; empty where
/// there is no such file. Source: openat2(2), RESOLVE_IN_ROOT.
base::Result<std::string> resolveInRoot(const std::string& root, const std::string& path);

/// The files' names, below the folder as the agent sees it.
struct TrustPaths {
  explicit TrustPaths(const std::string& folder);
  std::string bundle;
  std::string added;
  std::string java_store;
  std::string wgetrc;
};

/// Writes them into `folder`, which is the caller's own and exists: mode 0444, nothing that is
/// there already is followed or replaced. Errors: Kernel.
base::Status writeTrustFiles(const std::string& folder, const Trust& trust);

/// Writes them into kTrustInBox of a box's root that is being made at `mount_point`, and shows them
/// where the box's system keeps its own: kSystemBundles and kSystemJavaStores, as far as they are
/// there. Errors: Kernel.
base::Status showTrust(const std::string& mount_point, const Trust& trust);

/// A folder of this machine that everybody may enter and only the caller may change, for a run
/// without a root of its own: warder-trust-RUN below /run, /tmp or /dev/shm. Errors: Kernel when
/// none of them takes it.
base::Result<std::string> makeTrustFolder(const std::string& run_id);
/// Removes such a folder with the files that writeTrustFiles made; nothing is followed, and what
/// somebody else put there stays.
void removeTrustFolder(const std::string& folder);

}  // namespace warder::launch
