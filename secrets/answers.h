// Answers that the broker gives itself, in the provider's own error form, and heads that it writes
// to the agent. Pure.
#pragma once
#include <string>
#include <string_view>

#include "secrets/http/head.h"
#include "secrets/outgoing.h"

namespace warder::secrets {

/// An error in the form in which the provider writes its own, with its head; `close` says that the
/// connection ends with it, `head_only` leaves the body out (answers to HEAD).
/// A refusal that would only be refused again carries x-should-retry: false, which the provider's
/// client libraries obey.
struct AnswerShape {
  bool close = false;
  bool head_only = false;
  models::ErrorForm form = models::ErrorForm::Plain;
};
std::string errorAnswer(const Refusal& refusal, AnswerShape shape);

/// How the body of a forwarded answer is framed towards the agent.
struct ClientFraming {
  http::Framing framing;
  bool close = false;  // the connection ends with this answer
};
ClientFraming clientFraming(const http::ResponseHead& answer, const http::RequestHead& request);

/// The head of a 101 that the agent asked for, up to the blank line.
std::string switchingHead(const http::ResponseHead& answer);

/// Status line and headers as the upstream sent them, with our framing, up to the blank line.
std::string clientHead(const http::ResponseHead& answer, const ClientFraming& framing);

/// What the gate refused.
Refusal badRequest(const http::HeadFault& fault);
/// The upstream failed: 504 when it was too slow, else 502.
Refusal upstreamFailed(std::string_view why, const std::string& sentence);

}  // namespace warder::secrets
