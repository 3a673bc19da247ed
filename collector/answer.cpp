#include "collector/answer.h"

#include <boost/beast/http/status.hpp>

namespace warder::collector {

Answer jsonAnswer(const json::object& object, int status) {
  Answer answer;
  answer.status = status;
  answer.headers.emplace_back("Content-Type", "application/json");
  answer.body = json::serialize(object) + "\n";
  return answer;
}

Answer errorAnswer(int status, std::string_view code, std::string_view sentence) {
  return jsonAnswer({{"error", code}, {"sentence", sentence}}, status);
}

std::string headOf(const Answer& answer) {
  const auto reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(answer.status));
  std::string head =
      "HTTP/1.1 " + std::to_string(answer.status) + " " + std::string(reason) + "\r\n";
  for (const auto& [name, value] : answer.headers) head += name + ": " + value + "\r\n";
  head += "Content-Length: " + std::to_string(answer.contentLength()) + "\r\n";
  head +=
      "X-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Cache-Control: no-store\r\n";
  if (answer.close) head += "Connection: close\r\n";
  return head + "\r\n";
}

std::string attachmentName(std::string_view path) {
  std::string name(path.substr(path.find_last_of('/') + 1));
  for (char& c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-' || c == '_';
    if (!plain) c = '_';
  }
  if (name.size() > 128) name.erase(0, name.size() - 128);
  if (name.empty() || name[0] == '.') name.insert(0, "file");
  return name;
}

}  // namespace warder::collector
