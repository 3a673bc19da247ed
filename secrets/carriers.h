// Where in a request a credential travels, and whether it is ours. Pure.
#pragma once
#include <string_view>

#include "secrets/http/head.h"
#include "secrets/http/target.h"
#include "secrets/lease.h"

namespace warder::secrets {

/// Does the request show this lease's placeholder as a credential: in a header that carries one, in
/// the password of Basic, in a query parameter?
bool showsPlaceholder(const Lease& lease, const http::RequestHead& head,
                      const http::Target& target);
/// Does it stand anywhere in head or target, also percent-encoded or in base64?
bool mentionsPlaceholder(const Lease& lease, const http::RequestHead& head,
                         const http::Target& target);
/// Is there a credential in the request that is not the placeholder?
bool hasForeignCredential(const Lease& lease, const http::RequestHead& head,
                          const http::Target& target);
/// Is this a header by which a client of this provider says who it is? It is taken out.
bool isCarrier(const Lease& lease, std::string_view lower_name);
/// The query without the parameters that carry credentials.
std::string withoutCredentials(const Lease& lease, const std::string& query);

}  // namespace warder::secrets
