#include "supervisor/init/disk_watch.h"

#include <sys/statvfs.h>

#include "supervisor/base/units.h"

namespace warder::init {

namespace {

constexpr std::uint64_t kFewBytes = 16ULL << 20;

bool isShort(std::uint64_t all, std::uint64_t free, unsigned percent) {
  return all > 0 && free < all / 100 * percent + all % 100 * percent / 100;
}

std::optional<DiskSample> look(const std::string& path) {
  struct statvfs facts {};
  if (::statvfs(path.c_str(), &facts) != 0) return std::nullopt;
  return DiskSample{std::uint64_t{facts.f_blocks} * facts.f_frsize,
                    std::uint64_t{facts.f_bavail} * facts.f_frsize, facts.f_files, facts.f_favail};
}

}  // namespace

bool DiskState::step(const DiskSample& sample) {
  const bool no_bytes =
      sample.free_bytes < kFewBytes && isShort(sample.bytes, sample.free_bytes, 1);
  const bool no_inodes = isShort(sample.inodes, sample.free_inodes, 1);
  const bool was = full_;
  if (no_bytes || no_inodes) full_ = true;
  if (!isShort(sample.bytes, sample.free_bytes, 5) &&
      !isShort(sample.inodes, sample.free_inodes, 5))
    full_ = false;
  return full_ && !was;
}

DiskWatch::DiskWatch(std::vector<Place> places, base::Emit emit) : emit_(std::move(emit)) {
  for (auto& place : places) watched_.push_back({std::move(place), {}});
}

void DiskWatch::look() {
  for (auto& [place, state] : watched_) {
    const auto sample = init::look(place.path);
    if (!sample || !state.step(*sample)) continue;
    emit_({"disk.full",
           {{"mount", place.shown},
            {"bytes", sample->bytes},
            {"free_bytes", sample->free_bytes},
            {"inodes", sample->inodes},
            {"free_inodes", sample->free_inodes},
            {"sentence", place.shown + " is full: " + base::printSize(sample->free_bytes) + " of " +
                             base::printSize(sample->bytes) + " and " +
                             std::to_string(sample->free_inodes) + " inodes are free; programs " +
                             "fail in odd ways. Give it more, or move TMPDIR with agent.env"}}});
  }
}

}  // namespace warder::init
