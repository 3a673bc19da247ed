// The store's edge: exceptions of the database become Errors. For the store's own files.
#pragma once
#include <cerrno>
#include <new>

#include "collector/database.h"
#include "collector/store.h"

namespace warder::collector {

/// Runs `work`, which returns a T or a Result of it; a DatabaseError becomes Kind::Kernel (ENOSPC
/// when the disk is full).
template <class T, class Work>
base::Result<T> guarded(Work&& work) {
  try {
    return work();
  } catch (const DatabaseError& failure) {
    return base::Error{base::Kind::Kernel, failure.what(), failure.disk_full ? ENOSPC : 0};
  } catch (const std::exception& failure) {
    return base::Error{base::Kind::Internal, failure.what()};
  }
}

struct Renewal {
  Moment now;
  std::chrono::seconds lease;
};

/// A sign of life: seen now, leased anew, found again if it was lost. False when unknown.
bool renewLease(Database& database, const AttemptKey& key, const Renewal& renewal);

}  // namespace warder::collector
