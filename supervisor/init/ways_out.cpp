// The agent's network, and the broker that serves it. Part of supervisor.h.
#include <unistd.h>

#include <algorithm>

#include "secrets/grant_plan.h"
#include "supervisor/base/log.h"
#include "supervisor/init/in_place.h"
#include "supervisor/init/lent_files.h"
#include "supervisor/init/resolver_file.h"
#include "supervisor/init/supervisor.h"
#include "supervisor/init/tokens.h"
#include "supervisor/launch/confine.h"
#include "supervisor/launch/trust_place.h"

namespace warder::init {

using base::Error;
using base::Kind;
using base::Status;
using launch::StageStart;
namespace json = base::json;

namespace {

/// The ports that some rule speaks of, each once.
std::vector<std::uint16_t> portsOf(const policies::Policy& policy) {
  std::vector<std::uint16_t> ports;
  for (const auto* rules : {&policy.allow, &policy.deny})
    for (const auto& rule : *rules)
      if (std::find(ports.begin(), ports.end(), rule.port) == ports.end())
        ports.push_back(rule.port);
  return ports;
}

std::string listOf(const std::vector<std::uint16_t>& ports) {
  std::string list;
  for (const auto port : ports) list += (list.empty() ? "" : ", ") + std::to_string(port);
  return list;
}

}  // namespace

/// What a run made outside of its own folders goes with it.
Supervisor::~Supervisor() {
  if (!trust_folder_.empty()) launch::removeTrustFolder(trust_folder_);
}

/// Processes take their time to start, so those that wait for nobody are started first.
void Supervisor::startNetwork() {
  if (config_.inPlace() && !launch::mayMakeNetworks()) return;
  auto stage = launch::startNetworkStage();
  if (stage) pending_network_ = std::move(*stage);
  if (!stage) base::log(base::Level::Error, stage.error().sentence());
}

/// While the scribe stores the start; the agent waits for both.
void Supervisor::makeNetworkAndBroker() {
  if (auto network = makeNetwork(); !network) return setupFailed("network", network.error());
  SecretSources::HelperUser user;
  if (!config_.one_id) {
    user.uid = launch::kSourceUid;
    user.gid = launch::kBrokerUid;
  }
  if (config_.one_id && !config_.home.empty()) user.home = config_.home;
  sources_ = std::make_unique<SecretSources>(context_, job_, config_.secret_fds, user);
  sources_->gather(
      [this](SecretSources::Gathered gathered) { secretsGathered(std::move(gathered)); });
}

/// Programs that were asked for secrets are over; whoever stopped the run meanwhile has stopped
/// them.
void Supervisor::secretsGathered(SecretSources::Gathered gathered) {
  if (!gathered) return setupFailed("secrets", gathered.error());
  for (std::size_t i = 0; i < gathered->size(); ++i) {
    base::UniqueFd& written = gathered->at(i);
    if (!written) continue;
    ::close(config_.secret_fds[i]);  // held its place
    config_.secret_fds[i] = written.release();
  }
  if (auto started = startBroker(); !started) return setupFailed("broker", started.error());
  if (start_stored_) buildBox();
}

/// What is new goes to the broker, unread.
void Supervisor::watchSources() {
  if (!sources_ || !broker_.link) return;
  SecretSources::Handlers handlers;
  handlers.renewed = [this](const std::string& secret, int fd) {
    if (broker_.link) broker_.link->send({{"secret", secret}}, {fd});
  };
  handlers.failed = [this](const std::string& secret, const std::string& sentence) {
    if (broker_.link) broker_.link->send({{"not_renewed", secret}, {"sentence", sentence}});
  };
  sources_->watch(std::move(handlers));
}

/// Nothing is lent any more, and nobody is asked for anything.
void Supervisor::revokeSecrets() {
  if (sources_) sources_->stop();
  if (broker_.link) broker_.link->send({{"revoke", true}});
}

/// A network of the agent's own where that can be had. Where it cannot, the policy does not bind
/// what goes past the broker: only a policy that says so lets the run start.
Status Supervisor::makeNetwork() {
  Error why = noNetworkHere();
  if (pending_network_) {
    auto network = launch::awaitNetwork(*pending_network_,
                                        {config_.secret_fds.size(), portsOf(orders_.policy)});
    if (network) {
      network_ = std::move(*network);
      warnAboutNetwork();
      return {};
    }
    why = network.error();
  }
  if (!config_.inPlace()) return why;
  if (!orders_.policy.allow_degraded) return refuseDegraded(why);
  auto here = launch::listenHere(config_.secret_fds.size());
  if (!here) return here.error();
  network_ = std::move(*here);
  mechanism_ = "advisory";
  record({"preflight.warning",
          {{"sentence",
            "mechanism advisory (allow_degraded): the agent shares this container's network; " +
                why.sentence()}}});
  return {};
}

/// What programs will miss in a network that is not all that it could be.
void Supervisor::warnAboutNetwork() {
  if (!network_.ports_left.empty())
    record({"preflight.warning",
            {{"sentence",
              "capture ports: the broker listens on " + std::to_string(launch::kMostCapturedPorts) +
                  " ports of the policy, and the rest is refused: " + listOf(network_.ports_left) +
                  "; name fewer, or start the run as root, whose broker gets every "
                  "port (" +
                  network_.why_not_all + ")"}}});
  if (!network_.ipv6)
    record({"preflight.warning",
            {{"sentence",
              "the agent's network has no IPv6: this kernel has none or it is switched off "
              "(net.ipv6.conf.default.disable_ipv6); connections to its addresses fail at once"}}});
  if (!config_.inPlace()) return;  // the box has a file of ours
  if (const auto sentence = lookAtNameServers(network_.ipv6); !sentence.empty())
    record({"preflight.warning", {{"sentence", sentence}}});
}

/// The data of box.ready that concern the network.
json::object Supervisor::describeNetwork() const {
  json::array doors;
  for (const auto& door : facts_.doors)
    doors.push_back({{"grant", door.secret}, {"url", door.url}, {"socket", door.socket}});
  json::object data = {{"mechanism", mechanism_}, {"doors", std::move(doors)}};
  if (network_.how == launch::Capture::None) return data;
  data["capture"] = launch::nameOf(network_.how);
  data["ipv6"] = network_.ipv6;
  if (network_.how == launch::Capture::SkLookup) return data;
  data["ports"] = json::array(network_.ports_served.begin(), network_.ports_served.end());
  data["why_not_all"] = network_.why_not_all;
  return data;
}

/// Nobody serves the agent's network any more, at least not from here: the kernel refuses.
void Supervisor::closeDoors() {
  network_.listeners.clear();
  for (auto* sockets :
       {&network_.proxy, &network_.transparent, &network_.dns_udp, &network_.dns_tcp})
    sockets->clear();
  unix_doors_.sockets().clear();
}

/// A run can do without them, unless its preset points the agent at one.
Status Supervisor::makeUnixDoors() {
  std::vector<std::string> names;
  for (const auto& secret : job_.secrets) names.push_back(secret.name);
  auto made = config_.inPlace() ? launch::UnixDoors::makeInPlace(names, config_.run_id)
                                : launch::UnixDoors::make(names);
  if (made) unix_doors_ = std::move(*made);
  if (made || !job_.agent.unix_socket_env.empty()) return made ? Status() : made.error();
  record({"preflight.warning",
          {{"sentence", "the broker has no Unix sockets for the agent, only its ports: " +
                            made.error().sentence()}}});
  return {};
}

/// Where nothing is lent and nothing is allowed there is nothing to serve, and no way out.
Status Supervisor::startBroker() {
  if (job_.secrets.empty() && orders_.policy.allow.empty()) {
    closeDoors();
    return {};
  }
  secrets::BrokerConfig broker;
  broker.policy = orders_.policy;
  broker.run_id = config_.run_id;
  // Other programs of a container reach what listens in its network.
  broker.shared_network = network_.how == launch::Capture::None;
  if (auto made = makeUnixDoors(); !made) return made;
  std::vector<secrets::GrantRequest> requests;
  for (const auto& secret : job_.secrets) requests.push_back(grantRequestOf(secret));
  auto grants = secrets::planGrants(requests);
  if (!grants) return grants.error();
  broker.grants = std::move(*grants);
  StageStart start;
  start.stage = "broker";
  LentFiles lent(start);
  for (std::size_t i = 0; i < broker.grants.size(); ++i) {
    auto& grant = broker.grants[i];
    facts_.doors.push_back({grant.name, secrets::doorUrl(network_.ports[i]), grant.placeholder,
                            unix_doors_.pathOf(grant.name)});
    grant.secret_fd = lent.lend(config_.secret_fds.at(i));
    grant.listener_fds = lent.lendAll(network_.listeners[i]);
    if (!facts_.doors.back().socket.empty())
      grant.unix_fd = lent.lend(unix_doors_.sockets()[i].get());
    auto ca_file = lent.lendFile(grant.upstream.ca_file);
    if (!ca_file) return ca_file.error();
    grant.upstream.ca_file = std::move(*ca_file);
    for (secrets::Upstream& also : grant.also) also.ca_file = grant.upstream.ca_file;
    auto vault_ca = lent.lendFile(grant.source.vault.ca_file);
    if (!vault_ca) return vault_ca.error();
    grant.source.vault.ca_file = std::move(*vault_ca);
  }
  broker.doors = {lent.lendAll(network_.transparent), lent.lendAll(network_.proxy),
                  lent.lendAll(network_.dns_udp), lent.lendAll(network_.dns_tcp)};
  start.config = secrets::toJson(broker);
  start.uid = serviceUid(config_.one_id, launch::kBrokerUid);
  start.gid = start.uid;
  auto stage = launch::startStage(start);
  if (!stage) return stage.error();
  broker_.pid = stage->pid;
  pending_broker_ = std::move(*stage);
  closeDoors();
  for (const int fd : config_.secret_fds) ::close(fd);
  return {};
}

Status Supervisor::awaitBroker() {
  if (!pending_broker_) return {};
  auto ready = launch::awaitReady(*pending_broker_, kStartLimit);
  broker_ = adopt(std::move(*pending_broker_), &Supervisor::onBroker);
  pending_broker_.reset();
  if (!ready) return ready.error();
  const json::value* ca = ready->body.if_contains("ca_pem");
  if (ca != nullptr && ca->is_string()) ca_pem_ = std::string(ca->get_string());
  watchSources();
  return {};
}

/// Certificates and variables by which the agent's programs believe whom the broker speaks for.
base::Result<launch::PreparedTrust> Supervisor::prepareTrust() {
  launch::TrustOrder order;
  order.ca_pem = ca_pem_;
  order.job_env = job_.agent.env;
  order.inherited = facts_.inherited;
  order.path = job_.agent.path;
  order.transparent = network_.how != launch::Capture::None;
  order.proxy_port = network_.proxy_port;
  const std::string& image = job_.agent.root;
  auto trust = config_.inPlace()
                   ? launch::trustInPlace(order, config_.run_id)
                   : launch::trustForBox(order, image.empty() ? std::string("/") : image);
  if (!trust) return trust;
  for (const auto& sentence : trust->environment.warnings)
    record({"preflight.warning", {{"sentence", sentence}}});
  facts_.trust = trust->environment;
  if (config_.inPlace()) trust_folder_ = trust->folder;
  return trust;
}

}  // namespace warder::init
