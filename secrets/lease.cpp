#include "secrets/lease.h"

#include "secrets/grant_plan.h"

namespace warder::secrets {

namespace {

struct Place {
  const Upstream& to;
  const std::vector<models::SecretKind>& kinds;
  const std::vector<models::Route>& routes;
};

base::Result<std::shared_ptr<Lease>> makeLease(const Lease& common, const Place& place,
                                               const vault::SecretBytes& secret) {
  auto kind = carriageOf(*common.grant, place.kinds, secret.reveal());
  if (!kind) return kind.error();
  auto credential = vault::Credential::make(*kind, secret);
  if (!credential) return credential.error().during("the secret \"" + common.grant->name + "\"");
  auto lease = std::make_shared<Lease>(common);
  lease->to = place.to;
  lease->routes = place.routes;
  // Moving a credential leaves its pages where they are, so the views stay good.
  auto hidden = vault::HiddenForms::make(credential->hidden(), common.grant->placeholder);
  if (!hidden) return hidden.error();
  lease->secret =
      std::make_shared<const LentSecret>(LentSecret{std::move(*credential), std::move(*hidden)});
  return lease;
}

}  // namespace

base::Result<Leases> makeLeases(const Grant& grant, const vault::SecretBytes& secret) {
  auto provider = models::providerNamed(grant.provider);
  if (!provider) return provider.error();
  Lease common;
  common.grant = std::make_shared<const Grant>(grant);
  common.provider = std::make_shared<const models::Provider>(std::move(*provider));
  common.budget = std::make_shared<models::Budget>(grant.terms.budget);
  std::vector<Place> places{{grant.upstream, common.provider->kinds, common.provider->routes}};
  const auto& hosts = common.provider->hosts;
  for (std::size_t i = 0; i < std::min(hosts.size(), grant.also.size()); ++i)
    places.push_back({grant.also[i], hosts[i].kinds, hosts[i].routes});
  Leases leases;
  for (const Place& place : places) {
    auto lease = makeLease(common, place, secret);
    if (!lease) return lease.error();
    leases.push_back(std::move(*lease));
  }
  return leases;
}

std::size_t revoke(Lease& lease) {
  lease.revoked = true;
  const Lease::Cuts cuts = lease.cuts;  // a call that ends takes its own off the list
  for (const auto& cut : cuts) cut();
  return cuts.size();
}

void OpenCall::begin(std::shared_ptr<Lease> lease, std::function<void()> cut) {
  lease_ = std::move(lease);
  place_ = lease_->cuts.insert(lease_->cuts.end(), std::move(cut));
}

OpenCall::~OpenCall() {
  if (lease_) lease_->cuts.erase(place_);
}

}  // namespace warder::secrets
