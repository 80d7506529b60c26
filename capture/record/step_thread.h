// SPDX-License-Identifier: MIT
// One thread of the program that the step engine traces.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "capture/record/code_reader.h"
#include "capture/record/packet_generator.h"
#include "capture/record/recording_sink.h"
#include "capture/record/step_engine.h"

namespace flowback::record {

struct StepEngine::Thread {
  Thread(pid_t id, const StreamInfo& info, const PtSettings& settings, const TraceClock& clock)
      : tid(id), stream(info), generator(settings, clock) {}

  pid_t tid;
  StreamInfo stream;
  PacketGenerator generator;
  uint64_t ip = 0;  // next instruction, as far as known
  ExecMode mode = ExecMode::k64Bit;
  FetchedInstruction current;                     // at `ip`, read before it runs
  std::optional<uint64_t> restart;                // a SYSCALL the kernel may go back to
  std::chrono::steady_clock::time_point flushed;  // when its trace was handed on last
  bool signal_sent = false;                       // the last resume delivered a signal
  bool stopped = true;
};

template <class Record>
Record StepEngine::Sideband(Thread& thread) const {
  Record record;
  record.time = clock_.ToNanoseconds(thread.generator.clock().Tick());
  record.pid = pid_;
  record.tid = thread.tid;
  return record;
}

}  // namespace flowback::record
