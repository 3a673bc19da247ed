// The life of secrets after they were lent: renewed while requests run, over at their time, taken
// back. One thread.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "secrets/lease.h"
#include "secrets/shared.h"
#include "secrets/sourced_secret.h"
#include "supervisor/base/fd.h"

namespace warder::secrets {

/// After a source could not be asked, or gave what is no secret.
inline constexpr std::chrono::milliseconds kAskAgain{30'000};
/// An upstream that goes on to answer 401 makes a source be asked no more often.
inline constexpr std::chrono::milliseconds kRejectedAgain{30'000};
/// No source is asked sooner than this because of an end that it names.
inline constexpr std::chrono::milliseconds kSoonest{5'000};

/// When a source is to be asked again that gave a secret now: after its `refresh`, or when four
/// fifths of the time that it names are over, whichever is sooner. Nothing: not by the clock. Pure.
std::optional<std::chrono::milliseconds> nextAsking(
    const GrantSource& source, std::optional<std::chrono::system_clock::time_point> expires_at,
    std::chrono::system_clock::time_point now);

class Renewals : public std::enable_shared_from_this<Renewals> {
 public:
  /// Asks init to read a source again; its answer comes as handed() or failed(), or not at all.
  using Ask = std::function<void(const std::string& grant)>;

  Renewals(boost::asio::any_io_executor executor, std::shared_ptr<Shared> shared, Ask ask);
  ~Renewals();

  struct Lent {
    Leases leases;
    std::optional<std::chrono::system_clock::time_point> expires_at;  // as the source said
    std::shared_ptr<const vault::SecretBytes> token;                  // of a Vault
  };
  /// From now on this grant's secret is renewed, and ends at its time.
  void add(Lent lent);
  /// The clock of `expires_after` starts.
  void agentStarted();

  /// What init read anew: a secret, or a Vault's token. What cannot be used is told, and what was
  /// lent stays lent.
  void handed(const std::string& grant, base::UniqueFd fd);
  void failed(const std::string& grant, const std::string& sentence);
  /// An upstream does not take the secret of this lease (any more).
  void rejected(const Lease& lease);
  /// Everything is taken back, and calls that are under way are ended.
  void revokeAll();
  /// No timer any more.
  void stop();

 private:
  using Steady = std::chrono::steady_clock;
  struct Kept;

  Kept* find(const std::string& grant);
  void ask(Kept& kept);
  static boost::asio::awaitable<void> askTheVault(std::shared_ptr<Renewals> self, Kept* kept);
  void take(Kept& kept, base::Result<SourcedSecret> sourced);
  void swap(Kept& kept, const Leases& fresh);
  void refuse(Kept& kept, const std::string& sentence);
  void askIn(Kept& kept, std::chrono::milliseconds delay);
  void expireAt(Kept& kept);
  void expire(Kept& kept);

  boost::asio::any_io_executor executor_;
  std::shared_ptr<Shared> shared_;
  Ask ask_;
  std::list<Kept> kept_;  // addresses stay
  bool revoked_ = false;
};

}  // namespace warder::secrets
