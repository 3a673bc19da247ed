// Which certificate authorities are believed, and the client context that believes them.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/system/result.hpp>
#include <memory>
#include <string>

namespace warder::net {

using ClientContext =
    boost::system::result<std::shared_ptr<boost::asio::ssl::context>, std::string>;

/// TLS 1.2 or newer, peer verification on, ALPN http/1.1, the machine's bundle (the first of the
/// usual places that exists: OpenSSL is linked statically and knows none) and `ca_file`. Kept per
/// io_context and `ca_file`, since reading a bundle takes milliseconds. The error is one sentence.
ClientContext clientContext(boost::asio::any_io_executor executor, const std::string& ca_file);

}  // namespace warder::net
