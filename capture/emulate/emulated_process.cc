// SPDX-License-Identifier: MIT
#include "capture/emulate/emulated_process.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "capture/emulate/signal_stack.h"
#include "capture/record/emulate/mapped_file_text.h"

namespace flowback::emulate {

using record::MessageHeader;
using record::MessageKind;
using record::SharedSettings;
using record::TraceClock;

namespace {

record::PtSettings SettingsOf(const SharedSettings& shared) {
  record::PtSettings settings{
      .psb_period_bytes = shared.psb_period_bytes,
      .return_compression = shared.return_compression,
      // Many outcomes at once: the clock is read before each packet of them. With CYC packets it is
      // read for each outcome, and fewer outcomes per packet give more exact times.
      .long_tnt = shared.long_tnt || !shared.has_cyc,
      .short_tnt_where_smaller = !shared.long_tnt && !shared.has_cyc,
      .timestamps = shared.timestamps,
      .times_ends = true};
  if (shared.has_mtc) settings.mtc_shift = shared.mtc_shift;
  if (shared.has_cyc) settings.cyc_threshold = shared.cyc_threshold;
  return settings;
}

TraceClock ClockOf(record::SharedArea& area) {
  const SharedSettings& shared = area.settings;
  if (shared.instruction_clock) return TraceClock::OfInstructions(area.ticks);
  return TraceClock(
      TimeConversion{shared.conversion_shift, shared.conversion_mult, shared.conversion_zero});
}

}  // namespace

EmulatedProcess::EmulatedProcess(record::SharedArea& area, record::EmulatorSetup setup,
                                 std::string name, ThreadTable& threads,
                                 DropTranslations drop_translations)
    : area_(area),
      setup_(std::move(setup)),
      name_(std::move(name)),
      clock_(ClockOf(area)),
      settings_(SettingsOf(area.settings)),
      threads_(threads),
      drop_translations_(drop_translations),
      tids_(new std::atomic<int32_t>[kMaxVcpus]()),
      makers_(new std::atomic<int32_t>[kMaxVcpus]()),
      starts_off_(new std::atomic<bool>[kMaxVcpus]()),
      calls_(new GuestCall[kMaxVcpus]),
      registers_(new const GuestRegisters*[kMaxVcpus]()),
      blocks_({.quick_outcomes = !area.settings.has_cyc,
               .branches = area.settings.branch_depth != 0,
               .mode = setup_.mode}),
      code_(area.settings.keeps_images),
      memory_(setup_.mode),
      address_tables_(AddressTables::MostBytesHere()),
      watch_(setup_.watched) {}

ThreadMaker EmulatedProcess::AsMaker() const {
  const unsigned vcpu = OwnVcpu();
  return {.tid = gettid(), .off = vcpu < kMaxVcpus ? Thread(vcpu)->off() : !setup_.starts_on};
}

void EmulatedProcess::OnThreadMade(unsigned vcpu, const std::optional<ThreadMaker>& maker) {
  if (vcpu >= kMaxVcpus) return;
  // One that has a vCPU is no new one.
  const ThreadMaker made_by = maker && OwnVcpu() == kMaxVcpus ? *maker : AsMaker();
  // The number's former thread is gone.
  const std::lock_guard lock(mutex_);
  tids_[vcpu] = 0;
  delete threads_.threads[vcpu].exchange(nullptr);
  makers_[vcpu] = made_by.tid;
  starts_off_[vcpu] = made_by.off;
}

unsigned EmulatedProcess::OwnVcpu() const {
  const int32_t tid = gettid();
  const unsigned count = vcpus_;
  for (unsigned i = 0; i < count; ++i)
    if (tids_[i] == tid) return i;
  return kMaxVcpus;
}

void EmulatedProcess::SetThread(unsigned vcpu, ThreadTracer* thread) {
  threads_.threads[vcpu] = thread;
  tids_[vcpu] = thread->tid();
  if (vcpu >= vcpus_) vcpus_ = vcpu + 1;
}

// ---- code ----

Block& EmulatedProcess::OnTranslated(uint64_t start, uint64_t base, Bytes code,
                                     std::vector<uint8_t> lengths) {
  const std::lock_guard lock(mutex_);
  memory_.SetBase(base);
  Block& block = blocks_.Add(start, code, std::move(lengths));
  if (!code_.Knows(start)) LearnCode(start);
  if (!code_.Knows(block.end - 1)) LearnCode(block.end - 1);
  AwaitRecorder();
  if (watch_.At(start) != record::RecordingSwitch::kNone) block.SetMaySwitch();
  const Bytes own = code.first(std::min(code.size(), block.end - start));
  const bool shared = code_.IsShared(start);
  if (shared) KeepShared(block, own);
  if (shared || code_.InNoFile(start) || versions_.IsWritable(start)) KeepCode(start, own);
  return block;
}

// Code that no system call announced: what the program's start brought with it, or memory that is
// executable because all is. It has been there since the mappings changed last, at the latest.
void EmulatedProcess::LearnCode(uint64_t address) {
  if (mappings_tsc_ == 0) {
    clock_.Tick();  // the program's name stands before its code, behind what another program did
    mappings_tsc_ = clock_.Tick();
  }
  code_.LearnAt(address, memory_.base(), Announcer(mappings_tsc_));
}

// Memory that is in no file is recorded by pages, once there is code in them.
CodeMap::Announce EmulatedProcess::Announcer(uint64_t tsc) {
  return [this, tsc](const CodeRange& range) {
    if (range.path.empty()) return;
    std::string text = range.path;
    if (const auto file = record::MappedFileText::Parse(range.file)) {
      text += '\0' + range.file;
      if (area_.Opened(file->key) != file->key) awaited_.push_back(file->key);
    }
    Broadcast(tsc,
              {.kind = MessageKind::kMapping,
               .address = range.begin,
               .size = range.end - range.begin,
               .offset = range.file_offset},
              text);
    WatchFunctions(tsc, range);
    versions_.Repeat(range.begin, range.end, CodeTeller(tsc + 1));
  };
}

// The recorder is to open a file while it is mapped: the program may delete it at once, and end. It
// looks every few milliseconds, once for each file of a recording; where it is busy with others,
// the program does not wait for long.
void EmulatedProcess::AwaitRecorder() {
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 100'000};
  constexpr int kMostPauses = 1000;
  if (!unsent_.empty()) return;
  const auto is_opened = [this](uint64_t key) { return area_.Opened(key) == key; };
  for (int i = 0; i < kMostPauses && area_.recording != record::Recording::kOver &&
                  !std::ranges::all_of(awaited_, is_opened);
       ++i)
    nanosleep(&kPause, nullptr);
  awaited_.clear();
}

CodeVersions::Tell EmulatedProcess::CodeTeller(uint64_t tsc) {
  return [this, tsc](uint64_t page, Bytes bytes) {
    Broadcast(tsc, {.kind = MessageKind::kCode, .address = page},
              {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
}

// For the process, not for one thread: any thread of it writes the message.
void EmulatedProcess::Broadcast(uint64_t tsc, MessageHeader message, std::string_view text) {
  if (const unsigned vcpu = OwnVcpu(); vcpu < kMaxVcpus)
    return Thread(vcpu)->SendAt(tsc, message, text);
  unsent_.push_back({tsc, {message, std::string(text)}});
}

// All threads are to put a time between what they ran and what they run from now on. The other
// threads find the new code only after the emulator has added it, and so after this.
void EmulatedProcess::KeepCode(uint64_t start, Bytes code) {
  const unsigned own = OwnVcpu();
  const CodeVersions::Tell tell = CodeTeller(own < kMaxVcpus ? Thread(own)->Tick() : clock_.Tick());
  versions_.Update(start, code, memory_, [&](uint64_t page, Bytes bytes) {
    tell(page, bytes);
    const unsigned count = vcpus_;
    for (unsigned i = 0; i < count; ++i)
      if (ThreadTracer* thread = Thread(i); thread != nullptr)
        thread->CallAttention(record::kAttentionCode);
  });
  clock_.Tick();  // what runs from now on is later
}

// ---- threads ----

ThreadTracer* EmulatedProcess::NewTracer(bool off) {
  const int32_t tid = gettid();
  std::optional<CpuTurns> cpus;
  if (area_.cpu_count.load() != 0) cpus.emplace(area_, getpid(), tid);
  auto* thread = new ThreadTracer(settings_, clock_,
                                  ending_ ? SlotWriter() : SlotWriter::Take(area_, getpid(), tid),
                                  tid, cpus, area_.settings.branch_depth, &blocks_);
  if (off) thread->SwitchOff();
  return thread;
}

ThreadTracer* EmulatedProcess::StartThread(unsigned vcpu, const GuestRegisters* registers,
                                           uint64_t start) {
  const std::lock_guard lock(mutex_);
  ThreadTracer* thread = NewTracer(starts_off_[vcpu]);
  if (!started_) {
    registers_known_ = CountAtProgramStart(ReadRegisters(registers, setup_.mode), memory_, start);
    thread->SendAt(mappings_tsc_ - 1, {.kind = MessageKind::kComm, .offset = 1}, name_);
  } else {
    MessageHeader fork{.kind = MessageKind::kFork};
    fork.address = static_cast<uint64_t>(getpid());
    fork.size = static_cast<uint64_t>(makers_[vcpu].load());
    thread->Send(fork);
  }
  started_ = true;
  for (const auto& [tsc, message] : std::exchange(unsent_, {}))
    thread->SendAt(tsc, message.first, message.second);
  AwaitRecorder();
  registers_[vcpu] = registers;
  SetThread(vcpu, thread);
  return thread;
}

void EmulatedProcess::OnBlock(unsigned vcpu, const Block& block, GuestRegisters* registers) {
  if (vcpu >= kMaxVcpus) return;
  if (block.may_be_handler()) AlignStack(*registers);
  ThreadTracer* thread = Thread(vcpu);
  if (thread == nullptr) {
    thread = StartThread(vcpu, registers, block.start);
    thread->Start();
  }
  if (thread->EnterLessQuickly(block)) return;
  if (!thread->open()) return;
  const uint32_t attention = thread->attention();
  if (block.is_shared()) CheckShared(*thread, block);
  if (block.may_switch())
    EnterFunction(*thread, block, *registers);
  else
    EnterBlock(*thread, block, *registers);
  if (attention != 0 && thread->open()) LookUp(vcpu, block, attention);
}

// A program's own registers are changed, and before the block's first instruction: nothing of the
// generated code has read them yet.
void EmulatedProcess::AlignStack(GuestRegisters& registers) {
  const std::lock_guard lock(mutex_);
  if (registers_known_ != 0 && setup_.mode == CodeMode::kX86_64)
    AlignSignalStack(registers, memory_);
}

void EmulatedProcess::EnterBlock(ThreadTracer& thread, const Block& block,
                                 const GuestRegisters& registers) {
  if (block.may_be_handler())
    EnterPossibleHandler(thread, block, registers);
  else
    thread.Enter(block);
}

void EmulatedProcess::EnterPossibleHandler(ThreadTracer& thread, const Block& block,
                                           const GuestRegisters& registers) {
  std::optional<Interruption> interruption;
  bool known = false;
  {
    const std::lock_guard lock(mutex_);
    known = registers_known_ != 0;
    if (known)
      interruption = ReadSignalFrame(ReadRegisters(&registers, setup_.mode), memory_,
                                     [this](uint64_t ip) { return blocks_.IsHandler(ip); });
    // Where the handler gets no siginfo, what lies in its place is something else.
    if (interruption && interruption->fault.value_or(false) &&
        !wants_siginfo_[static_cast<size_t>(interruption->signal)])
      interruption->fault.reset();
    if (interruption && !interruption->fault) interruption->fault = thread.Faulted();
  }
  if (!known)
    thread.EnterUnknown(block);
  else if (interruption)
    thread.EnterHandler(block, *interruption);
  else
    thread.Enter(block);
}

// ---- fork ----

void EmulatedProcess::BeforeFork() {
  mutex_.lock();
  blocks_.Lock();
  parent_pid_ = getpid();
  parent_tid_ = gettid();
  forking_ = OwnVcpu();
  forking_off_ = forking_ < kMaxVcpus && Thread(forking_)->off();
}

void EmulatedProcess::AfterForkInChild() {
  ending_ = holding_ = false;
  // The other threads did not come along; their tracers' slots stay theirs.
  for (unsigned i = 0; i < kMaxVcpus; ++i) {
    threads_.threads[i] = nullptr;
    tids_[i] = 0;
  }
  ThreadTracer* thread = NewTracer(forking_off_);
  MessageHeader fork{.kind = MessageKind::kFork};
  fork.address = static_cast<uint64_t>(parent_pid_);
  fork.size = static_cast<uint64_t>(parent_tid_);
  thread->Send(fork);
  if (forking_ < kMaxVcpus) SetThread(forking_, thread);
  blocks_.Unlock();
  mutex_.unlock();
  thread->Start();
}

}  // namespace flowback::emulate
