// How the stages talk: JSON objects over SOCK_SEQPACKET, one object a message, descriptors beside
// it where needed.
#pragma once
#include <boost/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::base {

namespace json = boost::json;

/// Longest message in bytes; fits the kernel's default socket buffer (net.core.wmem_default,
/// 208 KiB). A longer one is refused by the sender.
inline constexpr std::size_t kMaxMessage = 128 * 1024;
/// Enough for 16 doors with two listeners each; the kernel takes 253 (SCM_MAX_FD).
inline constexpr std::size_t kMaxMessageFds = 64;

struct Message {
  json::object body;
  std::vector<UniqueFd> fds;
};

/// Sends one message. On a non-blocking socket a full buffer is an Error with EAGAIN.
Status sendMessage(int socket, const json::object& body, std::span<const int> fds = {});
/// Receives one message; nullopt when the peer is gone. Errors: Kernel (EAGAIN on a non-blocking
/// socket with nothing there), Peer when it is not a JSON object or was cut.
Result<std::optional<Message>> receiveMessage(int socket);

/// Bounded, strict parse: depth at most 64. Errors: Config.
Result<json::value> parseJson(std::string_view text);

/// Every stage starts with its configuration (a sealed memfd with one JSON object) and its
/// control socket at these numbers; what else it gets is numbered in the configuration.
inline constexpr int kConfigFd = 3;
inline constexpr int kControlFd = 4;
inline constexpr int kFirstExtraFd = 5;

/// Reads the stage's configuration from kConfigFd and closes it.
Result<json::object> readStageConfig();
/// What every stage says once when it is ready or cannot be: {"ready":true} or
/// {"failed":{"step":…,"sentence":…,"errno":…}}.
Status sayReady(int control);
Status sayFailed(int control, std::string_view step, const Error& error);
/// First thing in every stage: not dumpable (/proc/PID/mem, environ and fd of this process belong
/// to root and ask for CAP_SYS_PTRACE), no core file, dies with its parent.
/// Source: prctl(2) PR_SET_DUMPABLE, PR_SET_PDEATHSIG.
Status hardenStage();

}  // namespace warder::base
