// SPDX-License-Identifier: MIT
// The processes and threads that the step engine traces.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "capture/record/generate/packet_generator.h"
#include "capture/record/output/recording_sink.h"
#include "capture/record/step/code_reader.h"
#include "capture/record/step/step_engine.h"
#include "capture/record/watch/function_watch.h"

namespace flowback::record {

struct StepEngine::Process {
  Process(pid_t id, uint64_t memory_number, bool files_are_kept)
      : pid(id), memory(memory_number), code(id, files_are_kept) {}

  pid_t pid;
  uint64_t memory;  // the same number: the same memory (vfork)
  StoppedCodeReader code;
  FunctionWatch watch;
  size_t threads = 0;
  bool announced = false;           // its mappings
  std::optional<ProcessEnd> end{};  // as far as its threads have reported
  bool end_decided = false;         // no other thread's end changes that
  bool lost_threads = false;        // some were killed: they may not have reported a child
};

struct StepEngine::Thread {
  Thread(pid_t id, Process& of, const RecordedStream& info, const PtSettings& settings,
         const TraceClock& clock)
      : tid(id), process(of), stream(info), generator(settings, clock) {}

  pid_t tid;
  Process& process;
  RecordedStream stream;
  PacketGenerator generator;
  uint64_t ip = 0;  // next instruction, as far as known
  CodeMode mode = CodeMode::kX86_64;
  FetchedInstruction current;          // at `ip`, read before it runs
  std::optional<uint64_t> restart;     // a SYSCALL the kernel may go back to
  int last_signal = 0;                 // delivered to it, and no handler has run since
  std::optional<uint64_t> last_fault;  // the access that raised that
  bool undisturbed = false;            // if it does: only because the program is being traced
  std::chrono::steady_clock::time_point flushed;  // when its trace was handed on last
  bool signal_sent = false;                       // the last resume delivered a signal
  bool made_child = false;  // the last system call did, and the child is traced
  bool begun = false;       // it stopped for the first time
  bool named = false;       // its name is known, be it as its maker's
  bool stopped = false;
  bool passes = false;               // it runs unrecorded, without being stepped
  std::vector<uint64_t> stops_at{};  // while it passes: before these instructions
  bool in_system_call = false;       // while it passes
  bool redirected = false;           // it was interrupted, to learn of other such instructions
  std::optional<int> held_signal{};  // it waits for redirected ones; what it goes on with
};

template <class Record>
Record StepEngine::Sideband(pid_t pid, pid_t tid) {
  Thread* thread = Find(tid);
  Record record;
  record.time =
      clock_.ToNanoseconds(thread != nullptr ? thread->generator.clock().Tick() : clock_.Tick());
  record.pid = pid;
  record.tid = tid;
  return record;
}

template <class Record>
Record StepEngine::Sideband(const Thread& thread) {
  return Sideband<Record>(thread.process.pid, thread.tid);
}

}  // namespace flowback::record
