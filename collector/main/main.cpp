// The command line of warder-collector.
#include <CLI/CLI.hpp>

#include "collector/server.h"
#include "supervisor/base/log.h"

namespace {

constexpr const char* kFooter = R"(
The token file holds one line of 16 to 4096 visible characters, such as the output of
  head -c 32 /dev/urandom | base64 > token
Boxes send it as a Bearer token. With --read-token-file the page asks for a password: any user
name, the read token as password. Without it, everybody who reaches the address may read; that is
why an address other than loopback needs TLS and a read token, or --insecure.

Exit codes: 0 stopped by SIGTERM or SIGINT after finishing the requests in flight; 1 trouble with
the environment (address in use, disk); 2 options or files that cannot be served.)";

void addServe(CLI::App& app, warder::collector::ServeOptions& options) {
  auto* serve = app.add_subcommand("serve", "Receives what boxes report and shows it on a page");
  serve->add_option("--listen", options.listen, "IP address and port; port 0 takes a free one")
      ->capture_default_str();
  serve->add_option("--data", options.data, "folder for the database and the blobs; a local disk")
      ->required();
  serve->add_option("--token-file", options.token_file, "token that boxes must send")->required();
  serve->add_option("--read-token-file", options.read_token_file,
                    "token that readers of the page must send");
  serve->add_option("--address-file", options.address_file,
                    "write the bound HOST:PORT to this file");
  serve->add_option("--tls-cert", options.tls_cert, "certificate chain, PEM");
  serve->add_option("--tls-key", options.tls_key, "private key, PEM");
  serve
      ->add_option("--lease", options.lease,
                   "silence after which a run counts as lost: seconds, or 90s, 2m")
      ->capture_default_str();
  serve->add_flag("--insecure", options.insecure,
                  "serve an address other than loopback without TLS or without a read token");
  serve->footer(kFooter);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The endpoint that boxes report to: a store, an API and a page.",
               "warder-collector");
  app.set_version_flag("--version", WARDER_VERSION);
  app.require_subcommand(1);
  warder::collector::ServeOptions options;
  addServe(app, options);
  warder::base::setUpLog("collector");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& failure) {
    return app.exit(failure) == 0 ? 0 : 2;
  }
  try {
    return warder::collector::serve(options);
  } catch (const std::exception& failure) {
    warder::base::log(warder::base::Level::Error, failure.what());
    return 1;
  }
}
