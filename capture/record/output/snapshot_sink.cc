// SPDX-License-Identifier: MIT
#include "capture/record/output/snapshot_sink.h"

#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "decode/pt/packets/packet.h"

namespace flowback::record {

void TraceHistory::Add(Bytes bytes) {
  if (bytes.size() > size_) {
    begin_ = end() + bytes.size() - size_;
    bytes_.assign(bytes.end() - static_cast<ptrdiff_t>(size_), bytes.end());
    return;
  }
  // Rarely, so that keeping a byte costs two copies at most.
  if (bytes_.size() + bytes.size() > 2 * size_) {
    const uint64_t old = bytes_.size() + bytes.size() - size_;
    bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(old));
    begin_ += old;
  }
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

TraceHistory::Part TraceHistory::Take() {
  if (taken_ == end()) return {};
  taken_ = end();
  const Bytes kept = Bytes(bytes_).last(std::min<uint64_t>(size_, bytes_.size()));
  const Bytes part = kept.subspan(std::min<size_t>(pt::FindPsb(kept, 0), kept.size()));
  const uint64_t begin = end() - part.size();
  if (!part.empty()) kept_ += end() - std::max(begin, std::exchange(kept_until_, end()));
  return {part, begin};
}

void TraceHistory::Clear() {
  begin_ = end();
  bytes_ = {};
}

Status SnapshotSink::AddStream(const RecordedStream& stream) {
  streams_.resize(std::max<size_t>(streams_.size(), stream.index + 1));
  streams_[stream.index].emplace(stream, TraceHistory(size_));
  return next_->AddStream(stream);
}

Status SnapshotSink::AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) {
  Kept& kept = *streams_[stream.index];
  kept.history.Add(bytes);
  kept.tsc = tsc;
  return {};
}

Status SnapshotSink::Take(Kept& stream, uint64_t tsc) {
  const TraceHistory::Part part = stream.history.Take();
  if (part.bytes.empty()) return {};
  return next_->AddSnapshot(stream.info, part.bytes, part.offset, tsc);
}

// Its bytes would never change again, and threads that come and go may be many.
Status SnapshotSink::EndStream(const RecordedStream& stream) {
  Kept& kept = *streams_[stream.index];
  if (only_of_crash_) {
    LetWait(stream.index);
    return {};
  }
  Status taken = Take(kept, kept.tsc);
  kept.history.Clear();
  return taken;
}

void SnapshotSink::LetWait(size_t index) {
  waiting_.push_back(index);
  waiting_bytes_ += streams_[index]->history.held();
  while (waiting_bytes_ > kMostWaiting && waiting_.size() > 1) {
    TraceHistory& oldest = streams_[waiting_.front()]->history;
    waiting_bytes_ -= oldest.held();
    oldest.Clear();
    waiting_.pop_front();
  }
}

Status SnapshotSink::TakeSnapshot(uint64_t tsc) {
  for (auto& stream : streams_)
    if (stream)
      if (Status taken = Take(*stream, tsc); !taken) return taken;
  return {};
}

uint64_t SnapshotSink::overwritten_bytes() const {
  uint64_t sum = 0;
  for (const auto& stream : streams_)
    if (stream) sum += stream->history.overwritten();
  return sum;
}

Status SnapshotSink::Finish(const RecordSummary& summary) {
  if (only_of_crash_ && !WIFSIGNALED(summary.command_status)) return next_->Finish(summary);
  for (auto& stream : streams_)
    if (stream)
      if (Status taken = Take(*stream, stream->tsc); !taken) return taken;
  return next_->Finish(summary);
}

}  // namespace flowback::record
