// SPDX-License-Identifier: MIT
#include "capture/record/event_recorder/slow_calls.h"

#include <algorithm>
#include <utility>

namespace flowback::record {
namespace {

// Deeper calls mostly ended without a record: the oldest are forgotten.
constexpr size_t kMostOpen = 4096;

// At a return the frame's stack pointer is behind it: on x86 the return address is popped as well.
bool Leaves(uint64_t stack_at_return, uint64_t stack_at_entry) {
#if defined(__x86_64__) || defined(__i386__)
  return stack_at_entry < stack_at_return;
#else
  return stack_at_entry <= stack_at_return;
#endif
}

}  // namespace

void SlowCalls::NoteThread(pid_t tid, size_t buffer) {
  const auto thread = threads_.find(tid);
  if (thread == threads_.end()) return;
  for (Open& open : thread->second) open.buffers.insert(buffer);
}

void SlowCalls::Begin(const ProbeHit& hit) {
  std::vector<Open>& open = threads_[hit.tid];
  // Frames below the new one are gone, even if their ends were not seen.
  while (!open.empty() && open.back().stack < hit.stack) open.pop_back();
  if (open.size() >= kMostOpen) open.erase(open.begin());
  open.push_back({.time = hit.time, .stack = hit.stack, .buffers = {hit.buffer}});
}

bool SlowCalls::End(const ProbeHit& hit, std::vector<SlowCall>& slow) {
  const auto thread = threads_.find(hit.tid);
  if (thread == threads_.end()) return false;
  std::vector<Open>& open = thread->second;
  std::optional<Open> ended;
  while (!open.empty() && open.back().time <= hit.time && Leaves(hit.stack, open.back().stack)) {
    // An older one in the same place was left before, or called this one as its last act.
    if (ended && open.back().stack <= ended->stack) break;
    ended = std::move(open.back());
    open.pop_back();
  }
  if (!ended) return false;
  ++counts_.calls;
  if (hit.time - ended->time <= slow_ns_) return true;
  ++counts_.slow;
  ended->buffers.insert(hit.buffer);
  slow.push_back({.tid = hit.tid,
                  .begin = ended->time,
                  .end = hit.time,
                  .buffers = std::move(ended->buffers)});
  return true;
}

std::vector<SlowCall> SlowCalls::EndRound() {
  std::vector<SlowCall> slow;
  std::vector<ProbeHit> hits = std::exchange(hits_, {});
  std::ranges::stable_sort(hits, {}, &ProbeHit::time);
  for (const ProbeHit& hit : hits) {
    if (!hit.returns) {
      Begin(hit);
    } else if (!End(hit, slow)) {
      if (waited_.emplace(hit.tid, hit.time).second)
        hits_.push_back(hit);
      else
        ++counts_.halves;
    }
  }
  if (hits_.empty()) waited_.clear();
  for (const pid_t tid : gone_) threads_.erase(tid);
  gone_ = std::exchange(ended_, {});
  return slow;
}

}  // namespace flowback::record
