#include "secrets/renewals.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include "secrets/vault_client.h"

namespace warder::secrets {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using std::chrono::system_clock;

namespace {

/// The machine's clock may be set meanwhile, so an end that it names is looked at again and again.
constexpr milliseconds kLookAtClock{30'000};

bool sameSecret(const LentSecret& left, const LentSecret& right) {
  const auto a = left.credential.hidden();
  const auto b = right.credential.hidden();
  return left.credential.kind() == right.credential.kind() &&
         std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

struct Renewals::Kept {
  Kept(const asio::any_io_executor& executor, Lent lent)
      : grant(lent.leases.front()->grant),
        leases(std::move(lent.leases)),
        token(std::move(lent.token)),
        expires_at(lent.expires_at),
        again(executor),
        end(executor) {}

  std::shared_ptr<const Grant> grant;
  Leases leases;
  std::shared_ptr<const vault::SecretBytes> token;
  std::optional<system_clock::time_point> expires_at;
  asio::steady_timer again;  // until the source is asked
  asio::steady_timer end;    // until the grant is over
  std::optional<Steady::time_point> over_at, rejected_at;
  std::uint64_t renewals = 0;
};

std::optional<milliseconds> nextAsking(const GrantSource& source,
                                       std::optional<system_clock::time_point> expires_at,
                                       system_clock::time_point now) {
  if (source.kind == GrantSource::Kind::Handed) return std::nullopt;
  std::optional<milliseconds> next = source.refresh;
  if (!expires_at) return next;
  const auto left = std::chrono::duration_cast<milliseconds>(*expires_at - now);
  const milliseconds early = std::max(left * 4 / 5, kSoonest);
  return next ? std::min(*next, early) : early;
}

Renewals::Renewals(asio::any_io_executor executor, std::shared_ptr<Shared> shared, Ask ask)
    : executor_(std::move(executor)), shared_(std::move(shared)), ask_(std::move(ask)) {}

Renewals::~Renewals() = default;

void Renewals::add(Lent lent) {
  Kept& kept = kept_.emplace_back(executor_, std::move(lent));
  if (const auto next = nextAsking(kept.grant->source, kept.expires_at, system_clock::now()))
    askIn(kept, *next);
  if (kept.grant->terms.expires_at) expireAt(kept);
}

void Renewals::agentStarted() {
  for (Kept& kept : kept_) {
    if (!kept.grant->terms.expires_after || kept.over_at) continue;
    kept.over_at = Steady::now() + *kept.grant->terms.expires_after;
    expireAt(kept);
  }
}

Renewals::Kept* Renewals::find(const std::string& grant) {
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& kept) { return kept.grant->name == grant; });
  return found == kept_.end() ? nullptr : &*found;
}

void Renewals::askIn(Kept& kept, milliseconds delay) {
  kept.again.expires_after(delay);
  kept.again.async_wait([self = weak_from_this(), at = &kept](boost::system::error_code failure) {
    const auto here = self.lock();
    if (!failure && here && !here->revoked_) here->ask(*at);
  });
}

/// A Vault is asked from here; everybody else by init.
void Renewals::ask(Kept& kept) {
  if (kept.grant->source.kind != GrantSource::Kind::Vault) {
    if (ask_) ask_(kept.grant->name);
    return;
  }
  asio::co_spawn(executor_, askTheVault(shared_from_this(), &kept), asio::detached);
}

asio::awaitable<void> Renewals::askTheVault(std::shared_ptr<Renewals> self, Kept* kept) {
  try {
    base::Result<SourcedSecret> sourced = co_await askVault(kept->grant, kept->token);
    self->take(*kept, std::move(sourced));
  } catch (const std::exception& e) {
    self->refuse(*kept, std::string("the Vault could not be asked: ") + e.what());
  }
}

void Renewals::handed(const std::string& grant, base::UniqueFd fd) {
  Kept* kept = find(grant);
  if (kept == nullptr || revoked_) return;
  if (kept->grant->source.kind != GrantSource::Kind::Vault)
    return take(*kept, readSourced(fd.get(), *kept->grant));
  auto token = vault::SecretBytes::read(fd.get(), grant + " (the Vault's token)");
  if (!token) return refuse(*kept, token.error().sentence());
  kept->token = std::make_shared<const vault::SecretBytes>(std::move(*token));
  ask(*kept);
}

void Renewals::failed(const std::string& grant, const std::string& sentence) {
  if (Kept* kept = find(grant)) refuse(*kept, sentence);
}

void Renewals::take(Kept& kept, base::Result<SourcedSecret> sourced) {
  if (revoked_ || kept.leases.front()->revoked) return;
  if (!sourced) return refuse(kept, sourced.error().sentence());
  const auto fresh = makeLeases(*kept.grant, sourced->secret);
  if (!fresh) return refuse(kept, fresh.error().sentence());
  kept.expires_at = sourced->expires_at;
  if (!sameSecret(*kept.leases.front()->secret, *fresh->front()->secret)) swap(kept, *fresh);
  if (const auto next = nextAsking(kept.grant->source, kept.expires_at, system_clock::now()))
    askIn(kept, *next);
}

/// Requests that run keep what they began with; it is wiped when the last of them is over.
void Renewals::swap(Kept& kept, const Leases& fresh) {
  for (std::size_t i = 0; i < kept.leases.size(); ++i) {
    Lease& lease = *kept.leases[i];
    lease.secret = fresh.at(i)->secret;
    for (const std::string_view hidden : lease.secret->credential.hidden())
      shared_->gate.hide(lease.secret, hidden, kept.grant->placeholder);
  }
  shared_->pool.forget(kept.grant->name);
  ++kept.renewals;
  kept.rejected_at.reset();
  shared_->emit(
      {"broker.secret_renewed", {{"grant", kept.grant->name}, {"renewals", kept.renewals}}});
}

void Renewals::refuse(Kept& kept, const std::string& sentence) {
  if (revoked_ || kept.leases.front()->revoked) return;
  shared_->emit({"broker.secret_refused",
                 {{"grant", kept.grant->name},
                  {"sentence", sentence + "; what was lent before stays lent"}}});
  const auto next = nextAsking(kept.grant->source, kept.expires_at, system_clock::now());
  if (next) askIn(kept, std::min(*next, kAskAgain));
}

void Renewals::rejected(const Lease& lease) {
  Kept* kept = find(lease.grant->name);
  const auto now = Steady::now();
  if (kept == nullptr || revoked_ || lease.revoked) return;
  if (kept->rejected_at && now - *kept->rejected_at < kRejectedAgain) return;
  kept->rejected_at = now;
  shared_->emit({"broker.secret_rejected",
                 {{"grant", lease.grant->name},
                  {"host", lease.to.host},
                  {"sentence", "the upstream answered 401; the secret's source is asked again"}}});
  ask(*kept);
}

void Renewals::expireAt(Kept& kept) {
  const auto now = system_clock::now();
  auto left = std::chrono::duration_cast<milliseconds>(Steady::duration::max());
  if (kept.over_at)
    left = std::chrono::ceil<milliseconds>(*kept.over_at - Steady::now());
  else
    left = std::chrono::ceil<milliseconds>(*kept.grant->terms.expires_at - now);
  if (left <= milliseconds(0)) return expire(kept);
  kept.end.expires_after(std::min(left, kLookAtClock));
  kept.end.async_wait([self = weak_from_this(), at = &kept](boost::system::error_code failure) {
    const auto here = self.lock();
    if (!failure && here && !here->revoked_) here->expireAt(*at);
  });
}

/// Calls that are under way go on to their end.
void Renewals::expire(Kept& kept) {
  for (const auto& lease : kept.leases) lease->revoked = lease->expired = true;
  kept.again.cancel();
  shared_->pool.forget(kept.grant->name);
  shared_->emit({"broker.grant_expired",
                 {{"grant", kept.grant->name},
                  {"sentence", "the time for which the secret was lent is over (expires)"}}});
}

void Renewals::revokeAll() {
  if (std::exchange(revoked_, true)) return;
  std::size_t cut = 0;
  base::json::array grants;
  for (Kept& kept : kept_) {
    for (const auto& lease : kept.leases) cut += revoke(*lease);
    shared_->pool.forget(kept.grant->name);
    grants.emplace_back(kept.grant->name);
  }
  stop();
  if (!grants.empty())
    shared_->emit({"broker.revoked", {{"grants", std::move(grants)}, {"calls_ended", cut}}});
}

void Renewals::stop() {
  for (Kept& kept : kept_) {
    kept.again.cancel();
    kept.end.cancel();
  }
}

}  // namespace warder::secrets
