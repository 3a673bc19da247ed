// An answer of the collector, and how it is put on the wire.
#pragma once
#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/base/fd.h"

namespace warder::collector {

namespace json = boost::json;

struct Answer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  base::UniqueFd file;  // instead of `body`: `length` bytes from `offset`
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  bool without_body = false;  // HEAD: the length is told, the body is not sent
  bool close = false;         // this is the connection's last answer

  std::uint64_t contentLength() const { return file ? length : body.size(); }
};

Answer jsonAnswer(const json::object& object, int status = 200);
/// {"error": code, "sentence": …}
Answer errorAnswer(int status, std::string_view code, std::string_view sentence);

/// Status line and headers with the empty line; adds Content-Length, Connection, nosniff and the
/// other headers that every answer carries.
std::string headOf(const Answer& answer);

/// A name for Content-Disposition: the last segment of a path with everything but letters,
/// digits, dot, dash and underscore replaced; never empty, never hidden.
std::string attachmentName(std::string_view path);

}  // namespace warder::collector
