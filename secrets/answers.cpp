#include "secrets/answers.h"

#include "supervisor/base/event.h"

namespace warder::secrets {

namespace json = base::json;

namespace {

std::string_view reasonOf(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 426:
      return "Upgrade Required";
    case 431:
      return "Request Header Fields Too Large";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    default:
      return "Error";
  }
}

}  // namespace

namespace {

/// Google's canonical codes by HTTP status. Source: google.rpc.Code.
std::string_view googleStatus(int status) {
  switch (status) {
    case 403:
      return "PERMISSION_DENIED";
    case 404:
      return "NOT_FOUND";
    case 503:
      return "UNAVAILABLE";
    case 504:
      return "DEADLINE_EXCEEDED";
    default:
      return status < 500 ? "INVALID_ARGUMENT" : "INTERNAL";
  }
}

/// As AWS's client libraries name it, by which they decide whether to try again.
std::string_view awsType(const Refusal& refusal) {
  if (refusal.status == 403) return "AccessDeniedException";
  if (refusal.status == 404) return "ResourceNotFoundException";
  if (refusal.status == 503) return "ServiceUnavailableException";
  return refusal.status < 500 ? "ValidationException" : "InternalServerException";
}

json::object errorBody(const Refusal& refusal, models::ErrorForm form) {
  const json::string message(refusal.sentence);
  switch (form) {
    case models::ErrorForm::Anthropic:
      return {{"type", "error"},
              {"error", json::object{{"type", refusal.error_type}, {"message", message}}}};
    case models::ErrorForm::Openai:
      return {{"error", json::object{{"message", message},
                                     {"type", refusal.error_type},
                                     {"param", nullptr},
                                     {"code", refusal.why}}}};
    case models::ErrorForm::Google:
      return {{"error", json::object{{"code", refusal.status},
                                     {"message", message},
                                     {"status", googleStatus(refusal.status)}}}};
    case models::ErrorForm::Aws:
      return {{"message", message}};
    case models::ErrorForm::Plain:
      break;
  }
  return {{"error", refusal.why}, {"message", message}};
}

}  // namespace

std::string errorAnswer(const Refusal& refusal, AnswerShape shape) {
  const std::string body = json::serialize(errorBody(refusal, shape.form));
  std::string text = "HTTP/1.1 " + std::to_string(refusal.status) + " ";
  text += reasonOf(refusal.status);
  text += "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size());
  // Tells a person whose answer this is, and a program why.
  text += "\r\nX-Warder-Error: " + refusal.why;
  if (shape.form == models::ErrorForm::Aws)
    text += "\r\nX-Amzn-ErrorType: " + std::string(awsType(refusal));
  if (!refusal.retry) text += "\r\nX-Should-Retry: false";
  if (refusal.retry && refusal.status == 503) text += "\r\nRetry-After: 1";
  // RFC 9110 section 15.5.22 asks a 426 to name what it would have spoken.
  if (refusal.status == 426) text += "\r\nUpgrade: HTTP/1.1";
  if (shape.close) text += "\r\nConnection: close";
  text += "\r\n\r\n";
  if (!shape.head_only) text += body;
  return text;
}

ClientFraming clientFraming(const http::ResponseHead& answer, const http::RequestHead& request) {
  ClientFraming result{answer.framing, !request.keep_alive};
  const bool open_ended = answer.framing.kind == http::Framing::Kind::Chunked ||
                          answer.framing.kind == http::Framing::Kind::UntilClose;
  if (!open_ended) return result;
  // Chunks even where the upstream ends its body by closing: a cut is then visible.
  const auto kind =
      request.minor == 1 ? http::Framing::Kind::Chunked : http::Framing::Kind::UntilClose;
  result.framing = {kind, 0};
  result.close = result.close || kind == http::Framing::Kind::UntilClose;
  return result;
}

std::string switchingHead(const http::ResponseHead& answer) {
  std::string text = "HTTP/1.1 101 " + answer.reason + "\r\n";
  for (const http::HeaderField& field : answer.fields)
    text += field.name + ": " + field.value + "\r\n";
  return text + "\r\n";
}

std::string clientHead(const http::ResponseHead& answer, const ClientFraming& framing) {
  std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " " + answer.reason + "\r\n";
  for (const http::HeaderField& field : forwardedFields(answer.fields))
    text += field.name + ": " + field.value + "\r\n";
  const std::string* length = http::findField(answer.fields, "content-length");
  if (framing.framing.kind == http::Framing::Kind::Length)
    text += "Content-Length: " + std::to_string(framing.framing.length) + "\r\n";
  else if (framing.framing.kind == http::Framing::Kind::None && length != nullptr &&
           answer.status >= 200 && answer.status != 204)
    text += "Content-Length: " + *length + "\r\n";  // what GET would have sent
  if (framing.framing.kind == http::Framing::Kind::Chunked)
    text += "Transfer-Encoding: chunked\r\n";
  if (framing.close) text += "Connection: close\r\n";
  return text + "\r\n";
}

Refusal badRequest(const http::HeadFault& fault) {
  Refusal refusal;
  refusal.status = fault.status;
  refusal.why = "bad_request";
  refusal.error_type = "invalid_request_error";
  refusal.sentence = "Warder's broker refused the request as it is written: " + fault.sentence;
  return refusal;
}

Refusal upstreamFailed(std::string_view why, const std::string& sentence) {
  Refusal refusal;
  refusal.status = why == "timeout" ? 504 : 502;
  refusal.why = "upstream_" + std::string(why);
  refusal.error_type = "api_error";
  refusal.sentence = "Warder's broker got no usable answer: " + sentence;
  // A name that is not there, a wrong certificate or a forbidden address stays so for the moment.
  refusal.retry = why != "tls" && why != "address_denied";
  return refusal;
}

}  // namespace warder::secrets
