// SPDX-License-Identifier: MIT
// The report of a thread that ends its process: a status, or a signal and where it struck.
#include "capture/record/perf_data/process_end.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "capture/emulate/emulated_process.h"
#include "capture/record/emulate/program_needs.h"
#include "decode/instruction/processor_extension.h"

namespace flowback::emulate {

std::string EmulatedProcess::CommOf(int32_t tid) {
  const std::lock_guard lock(mutex_);
  const auto found = names_.find(tid);
  return found == names_.end() ? name_ : found->second;
}

std::string EmulatedProcess::OwnComm() { return CommOf(gettid()); }

// Where the refused access went. A fetch of code that is not there reaches no memory of the host's.
std::optional<uint64_t> EmulatedProcess::FaultAddress(const ThreadTracer& thread, int signal,
                                                      uint64_t ip) const {
  constexpr uint64_t kUserEnd = uint64_t{1} << 47;
  if (signal != SIGSEGV && signal != SIGBUS) return std::nullopt;
  if (thread.Faulted().value_or(false) && thread.fault_address() != 0)
    return thread.fault_address() - memory_.base();
  if (signal == SIGSEGV && !code_.Knows(ip) && ip < kUserEnd) return ip;
  return std::nullopt;
}

void EmulatedProcess::TellKilled(unsigned vcpu, int signal, const std::string& core) {
  ThreadTracer& thread = *Thread(vcpu);
  ProcessEnd end;
  end.wait_status = W_EXITCODE(0, signal) | (core.empty() ? 0 : WCOREFLAG);
  end.core = core;
  if (registers_known_ != 0) {
    const std::lock_guard lock(mutex_);
    const uint64_t ip = InstructionPointer(vcpu);
    end.ip = ip;
    end.fault_address = FaultAddress(thread, signal, ip);
    if (const CodeRange* range = code_.Find(ip); range != nullptr && !range->path.empty()) {
      end.file = range->path;
      end.file_offset = range->file_offset + (ip - range->begin);
    }
  }
  if (signal == SIGILL && end.ip) TellMissingExtension(thread, *end.ip);
  TellEnd(thread, std::move(end));
}

// The processor that the emulator imitates may lack the instruction at `ip`, and this machine's may
// have it: then the program would not have died natively.
void EmulatedProcess::TellMissingExtension(ThreadTracer& thread, uint64_t ip) {
  constexpr size_t kLongest = 15;
  std::array<uint8_t, kLongest> code{};
  size_t size = code.size();  // fewer where its page is the last
  while (size != 0 && !memory_.Read(ip, code.data(), size)) --size;
  const auto extension = ExtensionBeyondQemu(Bytes(code).first(size), setup_.mode);
  if (!extension || !record::HostHasFlag(extension->cpu_flag)) return;
  NoteUnlikeNative(thread, record::UnlikeNativeCall::kExtension);
  thread.Send({.kind = record::MessageKind::kNote},
              std::string("the program died of an instruction of ") + extension->name +
                  ", which this machine's processor has and QEMU's has not: natively it would have "
                  "gone on (--engine step)");
}

// By exit_group, or the last thread's exit.
void EmulatedProcess::TellExit(unsigned vcpu, const GuestCall& call) {
  const unsigned count = vcpus_;
  const auto runs = [&](unsigned i) {
    return i != vcpu && Thread(i) != nullptr && Thread(i)->open();
  };
  if (call.number == SYS_exit)
    for (unsigned i = 0; i < count; ++i)
      if (runs(i)) return;
  ProcessEnd end;
  end.wait_status = W_EXITCODE(static_cast<int>(call.arguments[0] & 0xff), 0);
  TellEnd(*Thread(vcpu), std::move(end));
}

void EmulatedProcess::TellEnd(ThreadTracer& thread, ProcessEnd end) {
  if (!thread.open()) return;
  end.pid = getpid();
  end.tid = thread.tid();
  end.comm = CommOf(thread.tid());
  record::FeatureBuffer text;
  record::AppendProcessEnd(end, text);
  thread.Send({.kind = record::MessageKind::kEnd},
              {reinterpret_cast<const char*>(text.bytes().data()), text.size()});
}

}  // namespace flowback::emulate
