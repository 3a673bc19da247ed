// A UDP socket that answers from the address that was asked.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "supervisor/base/result.h"

namespace warder::dns {

/// Makes the kernel say to which address a datagram was sent, and lets answers leave from it when
/// it is local by a route only. Sources: ip(7), ipv6(7), RFC 3542 section 6.
base::Status prepareDatagrams(int socket);

/// What to answer; nullopt: nothing.
using AnswerTo = std::function<std::optional<std::string>(std::string_view question)>;

/// Answers what lies in the socket's queue, at most so many datagrams that others get their turn.
/// Does not block; an answer that does not fit into the queue is dropped, as UDP may.
void answerDatagrams(int socket, const AnswerTo& answer);

}  // namespace warder::dns
