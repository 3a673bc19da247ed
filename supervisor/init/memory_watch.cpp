#include "supervisor/init/memory_watch.h"

#include "supervisor/watch/poll_interval.h"

namespace warder::init {

using base::Durability;
using base::Event;

MemoryWatch::MemoryWatch(boost::asio::io_context& context, std::vector<int> marks, base::Emit emit)
    : timer_(context), marks_(std::move(marks)), emit_(std::move(emit)) {}

void MemoryWatch::start() {
  auto probe = watch::MemoryProbe::open();
  if (!probe) {
    emit_({"preflight.warning",
           {{"sentence", "memory is not watched: " + probe.error().sentence()}}});
    return;
  }
  probe_ = std::move(*probe);
  if (auto kills = probe_->oomKills()) kills_told_ = *kills;
  look();
}

void MemoryWatch::look() {
  auto sample = probe_->sample();
  if (!sample) {
    emit_({"preflight.warning",
           {{"sentence", "memory is no longer watched: " + sample.error().sentence()}}});
    probe_.reset();
    return;
  }
  latest_ = *sample;
  for (const auto& crossed : marks_.step(*sample))
    emit_({"memory.warning",
           {{"mark_percent", crossed.percent},
            {"used_bytes", crossed.sample.used_bytes},
            {"limit_bytes", crossed.sample.limit_bytes},
            {"source", watch::nameOf(crossed.sample.source)}}});
  tellKills();
  timer_.expires_after(watch::pollInterval(*sample));
  timer_.async_wait([this](const boost::system::error_code& failure) {
    if (!failure && probe_) look();
  });
}

void MemoryWatch::tellKills() {
  auto kills = probe_->oomKills();
  if (!kills || *kills <= kills_told_) return;
  auto sample = probe_->sample();
  const auto source = sample ? sample->source : watch::MemorySource::Meminfo;
  emit_({"memory.oom", {{"kills", *kills - kills_told_}, {"source", watch::nameOf(source)}}});
  kills_told_ = *kills;
}

void MemoryWatch::finish() {
  timer_.cancel();
  if (!probe_) return;
  tellKills();
  if (auto sample = probe_->sample())
    emit_({"memory.summary",
           {{"source", watch::nameOf(sample->source)},
            {"limit_bytes", sample->limit_bytes},
            {"peak_bytes", sample->peak_bytes},
            {"used_bytes", sample->used_bytes}}});
  probe_.reset();
}

}  // namespace warder::init
