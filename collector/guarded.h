// The store's edge: exceptions of the database become Errors. For the store's own files.
#pragma once
#include <cerrno>
#include <new>
#include <string_view>

#include "collector/database.h"
#include "collector/store.h"

namespace warder::collector {

/// Runs `work`, which returns a T or a Result of it; a DatabaseError becomes Kind::Kernel (ENOSPC
/// when the disk is full). `doing` says what did not work: the log has nothing else to go by.
template <class T, class Work>
base::Result<T> guarded(std::string_view doing, Work&& work) {
  try {
    return work();
  } catch (const DatabaseError& failure) {
    const base::Error error{base::Kind::Kernel, failure.what(), failure.disk_full ? ENOSPC : 0};
    return error.during(doing);
  } catch (const std::exception& failure) {
    return base::Error{base::Kind::Internal, failure.what()}.during(doing);
  }
}

struct Renewal {
  Moment now;
  std::chrono::seconds lease;
};

/// The summary of an attempt, folded anew from the lines that are kept.
json::object foldSummary(Database& database, const AttemptKey& key);

/// A sign of life: seen now, leased anew, found again if it was lost. False when unknown.
bool renewLease(Database& database, const AttemptKey& key, const Renewal& renewal);

}  // namespace warder::collector
