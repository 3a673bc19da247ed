#include "secrets/ca/accept_tls.h"

#include <openssl/ssl.h>

#include "supervisor/net/tls_connection.h"

namespace warder::ca {

namespace asio = boost::asio;

namespace {

TlsFailure byAlert(int alert) {
  switch (alert) {
    // Each library has its own word for an issuer that it does not know: OpenSSL and rustls say
    // unknown_ca, Go and NSS bad_certificate, Java certificate_unknown.
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
      return TlsFailure::UntrustedCa;
    case SSL_AD_CERTIFICATE_EXPIRED:
      return TlsFailure::Validity;
    case SSL_AD_PROTOCOL_VERSION:
      return TlsFailure::TooOld;
    case SSL_AD_CLOSE_NOTIFY:
    case SSL_AD_USER_CANCELLED:
      return TlsFailure::Gone;
    default:
      return TlsFailure::Broken;
  }
}

TlsFailure byReason(int reason) {
  switch (reason) {
    case SSL_R_NO_APPLICATION_PROTOCOL:
      return TlsFailure::NoHttp1;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
      return TlsFailure::TooOld;
    case 0:
      return TlsFailure::Gone;  // not OpenSSL's own: the socket's end
    default:
      return TlsFailure::Broken;
  }
}

TlsFailure failureOf(const net::TlsHandshake& handshake) {
  if (handshake.timed_out) return TlsFailure::Timeout;
  if (handshake.peer_alert >= 0) return byAlert(handshake.peer_alert);
  return byReason(handshake.reason);
}

std::string sentenceOf(TlsFailure failure, const std::string& reason) {
  switch (failure) {
    case TlsFailure::UntrustedCa:
      return "this program does not trust the run's CA; point its own setting for certificates at "
             "the file that SSL_CERT_FILE names";
    case TlsFailure::Validity:
      return "this program holds the run's certificate for expired; its clock is not the box's";
    case TlsFailure::NoHttp1:
      return "this program speaks only HTTP/2 or another protocol here, and the broker speaks "
             "HTTP/1.1; let the policy tunnel this host (tls: tunnel)";
    case TlsFailure::TooOld:
      return "this program speaks nothing newer than TLS 1.1; the broker takes 1.2 and 1.3";
    case TlsFailure::Gone:
      return "the program closed the connection during the TLS handshake";
    case TlsFailure::Timeout:
      return "the program did not finish the TLS handshake in time";
    case TlsFailure::Broken:
      break;
  }
  return "the TLS handshake with the program failed: " + reason;
}

}  // namespace

std::string_view nameOf(TlsFailure failure) {
  switch (failure) {
    case TlsFailure::UntrustedCa:
      return "untrusted_ca";
    case TlsFailure::Validity:
      return "validity";
    case TlsFailure::NoHttp1:
      return "no_http1";
    case TlsFailure::TooOld:
      return "too_old";
    case TlsFailure::Gone:
      return "gone";
    case TlsFailure::Timeout:
      return "timeout";
    case TlsFailure::Broken:
      break;
  }
  return "broken";
}

asio::awaitable<Accepted> acceptTls(asio::ip::tcp::socket socket, std::string already_read,
                                    std::shared_ptr<asio::ssl::context> context,
                                    std::chrono::milliseconds timeout) {
  net::TlsHandshake handshake = co_await net::answerTls(std::move(socket), std::move(already_read),
                                                        std::move(context), timeout);
  Accepted accepted;
  if (handshake.connection) {
    accepted.connection = std::move(handshake.connection);
    co_return accepted;
  }
  accepted.failure = failureOf(handshake);
  accepted.sentence = sentenceOf(accepted.failure, handshake.failure);
  co_return accepted;
}

}  // namespace warder::ca
