// A Policy as JSON, for the message that carries it to the broker.
#pragma once
#include <boost/json.hpp>

#include "policies/policy.h"

namespace warder::policies {

boost::json::object toJson(const Policy& policy);
/// Throws boost::system::system_error on an object that toJson did not make.
Policy policyFromJson(const boost::json::object& object);

}  // namespace warder::policies
