// SPDX-License-Identifier: MIT
// What the emulator's callbacks do, for all threads of the process. Its parts lie in
// emulated_process.cc (threads and blocks), system_calls.cc, thread_ends.cc, process_end.cc,
// function_switches.cc, stale_calls.cc.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "capture/emulate/address_tables.h"
#include "capture/emulate/block.h"
#include "capture/emulate/code_map.h"
#include "capture/emulate/code_versions.h"
#include "capture/emulate/guest.h"
#include "capture/emulate/stale_code.h"
#include "capture/emulate/thread_tracer.h"
#include "capture/record/emulate/emulator_command.h"
#include "capture/record/emulate/shared_area.h"
#include "capture/record/generate/trace_clock.h"
#include "flowback/model/recording.h"

namespace flowback::emulate {

// A system call with its first arguments, as 64-bit programs make it.
struct GuestCall {
  int64_t number = 0;
  int64_t own_number = 0;  // as the program made it
  std::array<uint64_t, 6> arguments{};
  bool untraced = false;  // it would run a program that can't be traced
};

// The thread that makes another, as it is then.
struct ThreadMaker {
  int32_t tid = 0;
  bool off = false;  // it is not recorded
};

// The tracers by vCPU; null: none yet. What a block's callback goes by, so it is found in one step.
struct ThreadTable {
  static constexpr unsigned kSize = 1u << 14;

  std::atomic<ThreadTracer*> threads[kSize];

  ThreadTracer* Get(unsigned vcpu) const {
    return vcpu < kSize ? threads[vcpu].load(std::memory_order_relaxed) : nullptr;
  }
};

// One for the process; a fork's child goes on with its copy. Each vCPU is a thread of the program
// while that lives; the numbers are used again.
class EmulatedProcess {
 public:
  // Asks the emulator to drop all its translations before it runs another block, and then to call
  // OnDropped. The emulator locks its plugins meanwhile, and calls some of these functions with
  // that lock held: so no lock of ours may be held. Async-signal-safe, as far as the signal comes
  // out of generated code.
  using DropTranslations = void (*)();

  // `name` is the program's, as the kernel would show it. `threads`, empty, must outlive it.
  EmulatedProcess(record::SharedArea& area, record::EmulatorSetup setup, std::string name,
                  ThreadTable& threads, DropTranslations drop_translations);

  // Before a thread's first block: QEMU 7 and 8 call in the thread that makes it, later ones in the
  // new one, whose maker has to be given.
  void OnThreadMade(unsigned vcpu, const std::optional<ThreadMaker>& maker);
  // The calling thread.
  ThreadMaker AsMaker() const;
  CodeMode mode() const { return setup_.mode; }
  // The block was translated. What to pass to OnBlock when it runs.
  Block& OnTranslated(uint64_t start, uint64_t base, Bytes code, std::vector<uint8_t> lengths);
  // Returns the instructions of such a block before which recording may be switched, by number, and
  // what to pass to OnSwitchInside when they are about to run.
  std::vector<std::pair<size_t, Block*>> SwitchesInside(const Block& block, Bytes code,
                                                        const std::vector<uint8_t>& lengths);
  void OnSwitchInside(unsigned vcpu, const Block& rest);
  // Where EnterQuickly refused.
  void OnBlock(unsigned vcpu, const Block& block, GuestRegisters* registers);
  void OnSystemCall(unsigned vcpu, const GuestCall& call);
  // Whether the call is to fail with ENOMEM, for the emulator would fill the memory.
  bool MustFail(unsigned vcpu);
  void OnSystemCallDone(unsigned vcpu, int64_t number, int64_t result);
  // The calling thread dies of a signal, and the process with it. `core`: its core dump's path;
  // empty: no dump was written.
  void OnFatalSignal(int signal, const std::string& core);
  // The calling thread ran into a host's SIGSEGV or SIGBUS; `handled`: the emulator let it go on.
  // `address` of the host's memory; 0: not known.
  void OnHostFault(bool handled, uint64_t address);
  // The calling thread wrote to the host's `address`, which faulted. True: that was our doing, and
  // it may write there now. Async-signal-safe.
  bool OnWriteFault(uint64_t address) {
    if (!stale_.OnWriteFault(address)) return false;
    drop_translations_();
    return true;
  }
  void OnDropped();
  // The calling thread's name, as the kernel would show it.
  std::string OwnComm();

  // Around fork, in the thread that forks.
  void BeforeFork();
  void AfterForkInParent() {
    blocks_.Unlock();
    mutex_.unlock();
  }
  void AfterForkInChild();

 private:
  static constexpr unsigned kMaxVcpus = ThreadTable::kSize;

  ThreadTracer* Thread(unsigned vcpu) const { return threads_.Get(vcpu); }
  // The calling thread's vCPU; kMaxVcpus: none. Async-signal-safe.
  unsigned OwnVcpu() const;
  void SetThread(unsigned vcpu, ThreadTracer* thread);
  ThreadTracer* StartThread(unsigned vcpu, const GuestRegisters* registers, uint64_t start);
  ThreadTracer* NewTracer(bool off);
  void AlignStack(GuestRegisters& registers);
  void EnterBlock(ThreadTracer& thread, const Block& block, const GuestRegisters& registers);
  void EnterPossibleHandler(ThreadTracer& thread, const Block& block,
                            const GuestRegisters& registers);
  void EnterFunction(ThreadTracer& thread, const Block& block, const GuestRegisters& registers);
  record::RecordingSwitch SwitchAt(uint64_t address);
  std::string RegionName(const GuestRegisters& registers);
  void TellRegion(ThreadTracer& thread, record::RecordingSwitch turns,
                  const GuestRegisters& registers);
  void WatchFunctions(uint64_t tsc, const CodeRange& range);
  CodeMap::Announce Announcer(uint64_t tsc);
  CodeVersions::Tell CodeTeller(uint64_t tsc);
  void Broadcast(uint64_t tsc, record::MessageHeader message, std::string_view text);
  void KeepCode(uint64_t start, Bytes code);
  void LearnCode(uint64_t address);
  void AwaitRecorder();

  // Ends of threads.
  void LookUp(unsigned vcpu, const Block& block, uint32_t attention);
  bool CallOthers(unsigned own);
  void EndOthers(unsigned own);
  void EndStopped(unsigned own);
  std::string CommOf(int32_t tid);
  std::optional<uint64_t> FaultAddress(const ThreadTracer& thread, int signal, uint64_t ip) const;
  void TellMissingExtension(ThreadTracer& thread, uint64_t ip);
  void TellKilled(unsigned vcpu, int signal, const std::string& core);
  void TellExit(unsigned vcpu, const GuestCall& call);
  void TellEnd(ThreadTracer& thread, ProcessEnd end);

  // System calls.
  GuestCall AsLong(const GuestCall& made);
  void NoteHandler(const GuestCall& call);
  void NoteName(ThreadTracer& thread, const GuestCall& call);
  // Returns it for a thread outside of the emulator's generated code. REQUIRES: registers_known_.
  uint64_t InstructionPointer(unsigned vcpu) const {
    return ReadRegisters(registers_[vcpu], setup_.mode).Rip(registers_known_);
  }
  void Execute(unsigned vcpu, uint64_t path, uint64_t arguments, uint64_t environment);
  void ExecuteAt(unsigned vcpu, const GuestCall& call);
  void RunsUntraced(unsigned vcpu, const std::string& why);
  std::string OutOfReach(const record::EmulatorSetup& setup, Descriptor& area) const;
  static void ExecuteNatively(const std::string& file, const std::vector<std::string>& arguments,
                              const std::vector<std::string>& environment);
  void TellUnlikeNative(ThreadTracer& thread, const GuestCall& call, int64_t result);
  void NoteUnlikeNative(ThreadTracer& thread, record::UnlikeNativeCall row);
  void OnMappingsChanged(const GuestCall& call, uint64_t result, uint64_t now);

  // Translations out of date.
  void KeepShared(Block& block, Bytes code);
  void BeforeCall();
  void AfterCall(ThreadTracer* thread, const GuestCall& call);
  bool WroteToCode(ThreadTracer* thread, const GuestCall& call);
  void CheckShared(ThreadTracer& thread, const Block& block);

  record::SharedArea& area_;
  const record::EmulatorSetup setup_;
  const std::string name_;
  const record::TraceClock clock_;
  const record::PtSettings settings_;
  ThreadTable& threads_;
  const DropTranslations drop_translations_;
  std::unique_ptr<std::atomic<int32_t>[]> tids_;        // by vCPU; 0: no thread seen yet
  std::unique_ptr<std::atomic<int32_t>[]> makers_;      // by vCPU: who made the thread
  std::unique_ptr<std::atomic<bool>[]> starts_off_;     // by vCPU: as its maker was
  std::unique_ptr<GuestCall[]> calls_;                  // by vCPU: the one being done
  std::unique_ptr<const GuestRegisters*[]> registers_;  // by vCPU
  std::atomic<unsigned> vcpus_ = 0;                     // numbers seen so far
  std::array<std::atomic<bool>, record::kUnlikeNativeCalls> unlike_native_told_{};
  std::atomic<bool> ending_ = false;   // a thread ends the process
  std::atomic<bool> holding_ = false;  // then: the others wait for that

  std::mutex mutex_;  // over what follows
  EmulatedBlocks blocks_;
  CodeMap code_;
  CodeVersions versions_;
  StaleCode stale_;
  GuestMemory memory_;
  AddressTables address_tables_;
  record::FunctionWatch watch_;
  std::array<bool, 65> wants_siginfo_{};  // by signal: its handler gets a siginfo
  std::map<int32_t, std::string> names_;  // of threads that gave themselves one
  uint64_t mappings_tsc_ = 0;             // when they changed last
  std::vector<std::pair<uint64_t, std::pair<record::MessageHeader, std::string>>> unsent_;
  std::vector<uint64_t> awaited_;  // keys of mapped files that were announced
  bool started_ = false;
  unsigned registers_known_ = 0;  // how many general registers there are; 0: not where they are
  unsigned forking_ = 0;          // the vCPU whose thread forks
  bool forking_off_ = false;
  int32_t parent_pid_ = 0;
  int32_t parent_tid_ = 0;
};

}  // namespace flowback::emulate
