// An answer that the broker gives itself instead of the upstream's.
#pragma once
#include <string>

namespace warder::secrets {

struct Refusal {
  int status = 403;
  std::string why = "policy";  // one word, for events and for the header X-Warder-Denied
  std::string error_type = "permission_error";  // as Anthropic types errors; others follow from it
  std::string sentence;                         // for the model: what, and what to do
  std::string rule;                             // the policy's rule that decided, if one did
  bool retry = false;                           // may the same request succeed later?
};

}  // namespace warder::secrets
