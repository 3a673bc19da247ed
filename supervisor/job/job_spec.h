// What we were asked to run, checked and frozen. Plain data; job_reader makes it, nobody changes
// it.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace warder::job {

struct FileSource {
  std::string path;  // absolute; relative ones were resolved against the job file's folder
};
struct FdSource {
  int fd = -1;
};
struct EnvSource {
  std::string variable;
};
/// What whoever calls Warder hands over: an unread descriptor, never the bytes.
using HandedSource = std::variant<FileSource, FdSource, EnvSource>;

/// A program that writes the secret to its standard output.
struct ExecSource {
  std::vector<std::string> command;  // [0] is absolute, or looked up in kHelperPath
  std::map<std::string, std::string> env;
  std::chrono::milliseconds timeout{30'000};
};
/// A field of a secret in a key-value store, version 2, of a Vault.
struct VaultSource {
  std::string address;     // https://HOST[:PORT], http:// for loopback
  std::string path;        // "secret/data/agents/anthropic": as the API names it, after /v1/
  std::string field;       // of data.data
  std::string name_space;  // X-Vault-Namespace; empty: none
  std::string ca_file;     // as SecretSpec::ca_file, for the Vault
  HandedSource token;
};
using SecretSource = std::variant<FileSource, FdSource, EnvSource, ExecSource, VaultSource>;

/// What is to be opened and handed over for this source: itself, or the Vault's token. Nothing for
/// a program.
std::optional<HandedSource> handedOf(const SecretSource& source);

/// Where a helper program's name is looked up.
inline constexpr const char* kHelperPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// `secrets.NAME.inject`: how requests carry the secret, where its provider's data does not say it
/// or says it otherwise. Names are checked where providers are known.
struct InjectSpec {
  std::string kind;     // header, bearer, basic, query, sigv4
  std::string name;     // of the header, in lower case, or of the parameter
  std::string user;     // of basic; empty: the secret is USER:PASSWORD
  std::string region;   // of sigv4; empty: the host says it
  std::string service;  // of sigv4
};

/// `secrets.NAME.budget`. An absent limit does not limit.
struct BudgetSpec {
  std::optional<double> usd;
  std::optional<std::uint64_t> tokens;
  std::optional<std::uint64_t> requests;
  std::vector<int> warn_at_percent = {80, 95};  // ascending, 1..99
};

/// `secrets.NAME.allow[]`.
struct AllowSpec {
  std::vector<std::string> methods;  // empty: any
  std::vector<std::string> paths;
};

/// What a secret is lent for, and until when. What is empty narrows nothing.
struct TermsSpec {
  std::vector<std::string> models;  // * stands for any characters
  BudgetSpec budget;
  std::optional<std::uint64_t> concurrency;  // calls at a time
  bool provider_fetch = false;
  std::vector<AllowSpec> allow;
  std::optional<std::chrono::milliseconds> expires_after;  // the agent's start
  std::optional<std::chrono::system_clock::time_point> expires_at;
};

/// `secrets.NAME`: one secret and the upstream it is lent for.
struct SecretSpec {
  std::string name{};
  std::string provider{};  // provider data by name; the secret's own name unless given
  SecretSource from{};
  std::string base_url{};  // empty: the provider's own
  std::string ca_file{};   // PEM of extra roots for this upstream; empty: the system's only
  std::optional<InjectSpec> inject{};
  TermsSpec terms{};
  std::optional<std::chrono::milliseconds> refresh{};  // of a program or a Vault
};

/// `results.to[]`: an endpoint that collects results.
struct CollectorSpec {
  std::string url;
  HandedSource token;
  std::string ca_file;
};

/// A user and group of the agent, as the box shows them.
struct User {
  uid_t uid = 1000;
  gid_t gid = 1000;
};

enum class PromptBy { Stdin, Argument, None };

/// How the agent's own last words are read (report/last_words.h).
enum class LastWords { None, ClaudeStreamJson };

/// A file of the agent's home that must say certain things before it starts.
struct SeedFile {
  std::string path;  // below the home folder; "/" between its parts, no ".." among them
  std::string json;  // an object; "${WORKSPACE}" in its keys and texts is the workspace in the box
};

struct AgentSpec {
  std::string preset;                // empty when `command` was given
  std::vector<std::string> command;  // argv; [0] is looked up in the box's PATH if it has no slash
  std::vector<std::string> executables;  // what may stand for command[0], the first found is taken
  std::string prompt;
  PromptBy prompt_by = PromptBy::None;
  std::string workspace;  // absolute path on this machine; the box shows it as kWorkspaceInBox
  /// `rootfs`: an unpacked image whose files the box shows instead of this machine's programs;
  /// absolute. Empty: this machine's programs. "/": in place, everything under its own name; no job
  /// file says so, whoever runs the job inside of a container does.
  std::string root;
  /// Where programs are looked up by name, in order; the agent's PATH unless `env` has one.
  std::vector<std::string> path = {"/usr/local/bin",  "/usr/bin",  "/bin",
                                   "/usr/local/sbin", "/usr/sbin", "/sbin"};
  User user;
  bool refuses_root = false;               // this agent exits at once as uid 0 (BC-001)
  std::map<std::string, std::string> env;  // preset's, then the job's own on top
  std::vector<std::string> read_only;  // absolute paths of this machine, shown at the same place
  mode_t umask = 022;
  std::uint64_t tmp_size = 0;  // bytes of /tmp, /home and /dev/shm together
  int stop_signal = 15;
  bool stop_group = false;  // it goes to the agent's process group: the first process ignores it
  LastWords last_words = LastWords::None;
  std::string secret;        // name of the secret whose door this agent is pointed at; may be empty
  std::string base_url_env;  // variable that takes the door's URL
  std::string key_env;       // variable that takes the placeholder
  std::string unix_socket_env;  // variable that takes the path of the door's Unix socket
  std::vector<SeedFile> seeds;  // keys that are missing are added, nothing is overwritten
};

struct MemorySpec {
  std::vector<int> warn_at_percent = {70, 80, 90};  // ascending, 1..99
};

struct LimitsSpec {
  std::optional<std::chrono::milliseconds> wall;
  std::chrono::milliseconds grace{5000};  // from the stop signal to SIGKILL
};

struct ResultsSpec {
  std::vector<std::string> artifacts;  // globs below the workspace; ** crosses folders
  bool patch = false;
  std::uint64_t max_size = 0;  // bytes of all artifacts together
  std::string directory;       // absolute; where `warder run` leaves a copy of the results
  std::vector<CollectorSpec> to;
  std::chrono::milliseconds deliver_within{600'000};  // after the agent's end
};

struct JobSpec {
  std::string file;    // the job file's absolute path
  std::string digest;  // "sha256:…" of the job file's bytes
  AgentSpec agent;
  std::vector<SecretSpec> secrets;
  std::string policy_source;  // shipped name, absolute path, or "inline", for people
  MemorySpec memory;
  LimitsSpec limits;
  ResultsSpec results;
};

inline constexpr const char* kWorkspaceInBox = "/workspace";
inline constexpr const char* kHomeInBox = "/home/agent";

}  // namespace warder::job
