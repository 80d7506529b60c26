// SPDX-License-Identifier: MIT
// How a thread's trace gets into the streams of virtual CPUs.
//
// A thread that takes another one's CPU writes that one's end there and its own beginning, and its
// trace goes on with a PSB: nothing of what the other wrote is needed to read it. Its earlier work
// is in the ring by then, because a holder leaves only after its last packet.
#include "capture/emulate/thread_tracer.h"

namespace flowback::emulate {

using record::MessageKind;

void ThreadTracer::Start() {
  TakeCpu();
  Send({.kind = MessageKind::kStart});
}

void ThreadTracer::TakeCpu() {
  if (!cpus_ || cpus_->running() || !open()) return;
  auto turn = cpus_->Take();
  for (unsigned waits = 0; !turn; turn = cpus_->Take(), ++waits) {
    constexpr uint32_t kEnds = record::kAttentionEnd | record::kAttentionStop;
    const bool ends = (attention() & kEnds) != 0;
    if (!ends && cpus_->Wait(waits) && writer_.StillWanted(waits)) continue;
    cpus_->StopWaiting();
    return End((attention() & record::kAttentionEnd) != 0);
  }
  writer_.UseCpu(turn->cpu);
  // The state names its place in the ring.
  writer_.SetFlow(digest_, generator_.pending(), {}, 0);
  if (turn->same) return;
  generator_.StartElsewhere();
  if (turn->before.tid != 0)
    Send({.kind = MessageKind::kSwitchOut,
          .address = static_cast<uint64_t>(turn->before.pid),
          .size = static_cast<uint64_t>(turn->before.tid),
          .offset = turn->before.preempted});
  Send({.kind = MessageKind::kSwitchIn});
}

// At the beginning of its last block, and would go on.
void ThreadTracer::GiveWay() {
  const Block* last = TakeUp();
  generator_.Interrupted(last->start);
  SetDown(nullptr);
  cpus_->Release(true);
  CpuTurns::StandBack();
  TakeUp();
  TakeCpu();
  if (!open()) return;
  generator_.Begin(last->start, CodeMode::kX86_64);
  SetDown(last);
}

void ThreadTracer::LeaveCpu() {
  if (!cpus_ || !cpus_->Leave()) return;
  Send({.kind = MessageKind::kSwitchOut,
        .address = static_cast<uint64_t>(cpus_->pid()),
        .size = static_cast<uint64_t>(tid_)});
}

}  // namespace flowback::emulate
