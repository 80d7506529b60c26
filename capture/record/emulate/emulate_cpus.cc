// SPDX-License-Identifier: MIT
// The recorder's side of virtual CPUs: their rings become streams, and those of dead threads are
// given to others.
#include "capture/record/emulate/emulate_engine.h"
#include "capture/record/emulate/ring.h"

namespace flowback::record {

const RecordedStream& EmulateEngine::CpuStream(uint32_t cpu) {
  const auto [found, added] = cpu_streams_.try_emplace(cpu);
  if (added) {
    found->second.index = cpu;
    found->second.cpu = static_cast<int32_t>(cpu);
    Check(sink_.AddStream(found->second));
  }
  return found->second;
}

void EmulateEngine::TakeCpuTrace(uint32_t cpu) {
  if (!TakeAll(area_.cpus[cpu].trace, area_.CpuRing(cpu), kTraceRingBytes, buffer_)) return Break();
  if (buffer_.empty()) return;
  summary_.bytes += buffer_.size();
  Check(sink_.AddTrace(CpuStream(cpu), buffer_, clock_.Now()));
}

void EmulateEngine::TakeCpuTraces(uint64_t least) {
  for (uint32_t cpu = 0; cpu < kMaxVirtualCpus; ++cpu)
    if (InRing(area_.cpus[cpu].trace) >= least) TakeCpuTrace(cpu);
}

// The CPU that the slot's thread runs on. One that ended by itself is on none; if it became another
// program, the numbers are that one's now.
std::optional<uint32_t> EmulateEngine::CpuOf(const Slot& slot) const {
  if (slot.state.load() != SlotState::kLive) return std::nullopt;
  for (uint32_t cpu = 0; per_cpu() && cpu < kMaxVirtualCpus; ++cpu) {
    const CpuHolder holder = CpuHolder::Of(area_.cpus[cpu].holder.load());
    if (holder.running && holder.Is(slot.pid, slot.tid)) return cpu;
  }
  return std::nullopt;
}

// The slot's thread was killed. `rest` is its flow on its CPU that no packet contains.
void EmulateEngine::FreeCpu(const Slot& slot, Bytes rest) {
  for (uint32_t cpu = 0; cpu < kMaxVirtualCpus; ++cpu) {
    uint64_t word = area_.cpus[cpu].holder.load();
    const CpuHolder holder = CpuHolder::Of(word);
    if (!holder.Is(slot.pid, slot.tid)) continue;
    // While it says "running", no other thread writes there.
    if (holder.running) TakeCpuTrace(cpu);
    if (holder.running && !rest.empty()) {
      summary_.bytes += rest.size();
      Check(sink_.AddTrace(CpuStream(cpu), rest, clock_.Now()));
    }
    const uint64_t now = clock_.Tick();
    if (!area_.cpus[cpu].holder.compare_exchange_strong(word, 0)) continue;
    SwitchRecord out;
    out.time = clock_.ToNanoseconds(now);
    out.pid = slot.pid;
    out.tid = slot.tid;
    out.cpu = static_cast<int32_t>(cpu);
    out.out = true;
    on_cpu_.erase(out.cpu);
    Check(sink_.AddSideband(out));
  }
}

// The one it has, or had last. But a reader takes the CPU of a thread's end for where it ran: a
// thread that was killed while another one had that CPU was on none.
int32_t EmulateEngine::CpuFor(const Message& message) const {
  const auto cpu = static_cast<int32_t>(message.header.cpu);
  if (message.header.kind != MessageKind::kExit) return cpu;
  const auto holder = on_cpu_.find(cpu);
  return holder != on_cpu_.end() && holder->second == message.tid ? cpu : -1;
}

void EmulateEngine::TellSwitch(const Message& message) {
  const MessageHeader& header = message.header;
  SwitchRecord record;
  record.time = clock_.ToNanoseconds(header.tsc);
  record.cpu = static_cast<int32_t>(header.cpu);
  record.out = header.kind == MessageKind::kSwitchOut;
  record.preempted = record.out && header.offset != 0;
  record.pid = record.out ? static_cast<int32_t>(header.address) : message.pid;
  record.tid = record.out ? static_cast<int32_t>(header.size) : message.tid;
  if (record.out)
    on_cpu_.erase(record.cpu);
  else
    on_cpu_[record.cpu] = record.tid;
  Check(sink_.AddSideband(record));
}

}  // namespace flowback::record
