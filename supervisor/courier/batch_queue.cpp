#include "supervisor/courier/batch_queue.h"

#include "supervisor/journal/digest.h"

namespace warder::courier {

void BatchQueue::add(std::vector<journal::Line> lines) {
  for (auto& line : lines) {
    bytes_ += line.text.size() + 1;
    lines_.push_back(std::move(line));
  }
}

Batch BatchQueue::next() const {
  Batch batch;
  for (const auto& line : lines_) {
    const bool hole = batch.last != 0 && line.seq != batch.last + 1;
    const bool full = batch.body.size() + line.text.size() + 1 > limit_;
    if (batch.last != 0 && (hole || full)) break;
    if (batch.first == 0) batch.first = line.seq;
    batch.last = line.seq;
    batch.body += line.text;
    batch.body += '\n';
  }
  if (batch.last != 0) batch.last_hash = journal::sha256Hex(lines_[batch.last - batch.first].text);
  return batch;
}

std::uint64_t BatchQueue::holeAfter(std::uint64_t acked) const {
  return !lines_.empty() && lines_.front().seq > acked + 1 ? acked + 1 : 0;
}

void BatchQueue::acked(std::uint64_t seq) {
  while (!lines_.empty() && lines_.front().seq <= seq) {
    bytes_ -= lines_.front().text.size() + 1;
    lines_.pop_front();
  }
}

bool BatchQueue::halve() {
  const Batch sent = next();
  if (sent.first == sent.last) return false;
  limit_ = sent.body.size() / 2;
  return true;
}

void BatchQueue::clear() {
  lines_.clear();
  bytes_ = 0;
}

}  // namespace warder::courier
