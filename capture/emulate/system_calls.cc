// SPDX-License-Identifier: MIT
// System calls that change what the tracer knows: mappings, signal handlers, names, programs.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/linux/linux_calls.h"
#include "capture/emulate/emulated_process.h"
#include "capture/emulate/short_calls.h"
#include "capture/record/emulate/program_needs.h"
#include "capture/record/target/program_file.h"

namespace flowback::emulate {

using record::MessageHeader;
using record::MessageKind;

namespace {

bool ChangesMappings(int64_t number) {
  return number == SYS_mmap || number == SYS_mprotect || number == SYS_munmap ||
         number == SYS_mremap || number == SYS_pkey_mprotect || number == SYS_shmat ||
         number == SYS_shmdt;
}

// Returns whether the call's first argument is a futex's address.
bool IsFutex(int64_t number, CodeMode mode) {
  constexpr int64_t kI386Futex = 240;
  constexpr int64_t kI386FutexTime64 = 422;
  if (mode == CodeMode::kX86_64) return number == SYS_futex;
  return mode == CodeMode::kX86_32 && (number == kI386Futex || number == kI386FutexTime64);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

GuestCall EmulatedProcess::AsLong(const GuestCall& made) {
  if (setup_.mode == CodeMode::kX86_64) return made;
  if (setup_.mode == CodeMode::kAArch64) {
    GuestCall call = made;
    call.number =
        Renumbered(made.number, LinuxAbi::kAArch64, LinuxAbi::kX86_64).value_or(kOtherShortCall);
    return call;
  }
  const std::lock_guard lock(mutex_);
  return AsLongCall(made, memory_);
}

void EmulatedProcess::OnSystemCall(unsigned vcpu, const GuestCall& made) {
  if (vcpu >= kMaxVcpus) return;
  ThreadTracer* thread = Thread(vcpu);
  if (thread == nullptr) return;
  {
    const std::lock_guard telling(thread->telling());
    if (setup_.tells_addresses && IsFutex(made.number, setup_.mode))
      thread->TellFutex(made.arguments[0]);
    thread->EnterKernel();
  }
  const GuestCall call = AsLong(made);
  calls_[vcpu] = call;
  BeforeCall();
  const auto& [path, arguments, environment, at_environment, a5, a6] = call.arguments;
  switch (call.number) {
    case SYS_exit:
      TellExit(vcpu, call);
      return thread->End(true);
    case SYS_exit_group:
      TellExit(vcpu, call);
      thread->End(true);
      return EndOthers(vcpu);
    case SYS_rt_sigaction:
    case kOldSigaction:
    case kOldSignal:
      return NoteHandler(call);
    case SYS_prctl:
      return NoteName(*thread, call);
    case SYS_execve:
      return Execute(vcpu, path, arguments, environment);
    case SYS_execveat:
      return ExecuteAt(vcpu, call);
    default:
      return;
  }
}

bool EmulatedProcess::MustFail(unsigned vcpu) {
  constexpr int kOldestWithoutTables = 2;  // version of the plugin interface: QEMU 9.0
  if (setup_.plugin_interface >= kOldestWithoutTables || vcpu >= kMaxVcpus) return false;
  const GuestCall& call = calls_[vcpu];
  if (call.number != SYS_mmap && call.number != SYS_mremap) return false;
  const auto& [address, size, new_size, flags, a5, a6] = call.arguments;
  const bool fixed = call.number == SYS_mmap && (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0;
  {
    const std::lock_guard lock(mutex_);
    if (fixed ? address_tables_.HasRoomAt(address, size)
              : address_tables_.HasRoomFor(call.number == SYS_mmap ? size : new_size))
      return false;
  }
  if (ThreadTracer* thread = Thread(vcpu); thread != nullptr)
    NoteUnlikeNative(*thread, record::UnlikeNativeCall::kReservation);
  return true;
}

void EmulatedProcess::OnSystemCallDone(unsigned vcpu, int64_t own_number, int64_t result) {
  if (vcpu >= kMaxVcpus || calls_[vcpu].own_number != own_number) return;
  const int64_t number = calls_[vcpu].number;
  ThreadTracer* thread = Thread(vcpu);
  if (std::exchange(calls_[vcpu].untraced, false) && thread != nullptr)
    thread->Send({.kind = MessageKind::kUntraced});  // the kernel refused it
  if (thread != nullptr && result < 0) TellUnlikeNative(*thread, calls_[vcpu], result);
  constexpr int64_t kLastError = -4095;
  if (!ChangesMappings(number) || (result < 0 && result >= kLastError))
    return AfterCall(thread, calls_[vcpu]);
  const uint64_t now = thread != nullptr ? thread->Tick() : clock_.Tick();
  const auto address = static_cast<uint64_t>(result);
  // A 32-bit one came as a signed number.
  OnMappingsChanged(calls_[vcpu], address & TraitsOf(setup_.mode).address_mask, now);
  AfterCall(thread, calls_[vcpu]);
}

// Each kind once a process: some programs ask again and again.
void EmulatedProcess::TellUnlikeNative(ThreadTracer& thread, const GuestCall& call,
                                       int64_t result) {
  const auto found = record::FindUnlikeNative(call.number, call.arguments[0], result);
  if (found) NoteUnlikeNative(thread, *found);
}

void EmulatedProcess::NoteUnlikeNative(ThreadTracer& thread, record::UnlikeNativeCall call) {
  const auto row = static_cast<uint32_t>(call);
  area_.unlike_native[row].fetch_add(1);
  if (unlike_native_told_[row].exchange(true)) return;
  thread.Send({.kind = MessageKind::kUnlikeNative, .address = row}, name_);
}

void EmulatedProcess::OnMappingsChanged(const GuestCall& call, uint64_t result, uint64_t now) {
  const std::lock_guard lock(mutex_);
  const auto& [address, size, third, fourth, fifth, sixth] = call.arguments;
  const auto changed = [&](uint64_t begin, uint64_t bytes, bool executable) {
    // The emulator has unmapped or mapped it already.
    if (executable)
      code_.Learn(begin, begin + (bytes + 4095) / 4096 * 4096, memory_.base(), Announcer(now));
    else
      code_.Forget(begin, begin + (bytes + 4095) / 4096 * 4096);
  };
  const auto replaced = [&](uint64_t begin, uint64_t bytes) {
    versions_.Forget(begin, begin + bytes);
    stale_.Forget(begin, begin + bytes);
    code_.Forget(begin, begin + (bytes + 4095) / 4096 * 4096);
  };
  const bool writable = (third & PROT_WRITE) != 0;
  const bool executable = (third & PROT_EXEC) != 0;
  switch (call.number) {
    case SYS_mmap:
      address_tables_.Add(result, result + size);
      replaced(result, size);
      if (writable && (fourth & MAP_ANONYMOUS) == 0) versions_.NoteWritable(result, result + size);
      if (executable) changed(result, size, true);
      break;
    case SYS_mprotect:
    case SYS_pkey_mprotect:
      if (writable && code_.Knows(address)) versions_.NoteWritable(address, address + size);
      changed(address, size, executable);
      break;
    case SYS_munmap:
      replaced(address, size);
      break;
    case SYS_mremap:
      replaced(address, size);
      address_tables_.Add(result, result + third);
      replaced(result, third);
      break;
    default:  // shared memory, whose size the call does not have
      versions_.Forget(0, ~uint64_t{0});
      stale_.Forget();
      code_.Forget(0, ~uint64_t{0});
      break;
  }
  stale_.OnMappingsChanged();
  AwaitRecorder();
  mappings_tsc_ = now;
}

// A handler that the kernel then refuses does no harm here. Behind the handler stand its flags; in
// what the older call of 32-bit programs is given the mask lies between.
void EmulatedProcess::NoteHandler(const GuestCall& call) {
  constexpr uint64_t kSaSiginfo = 4;
  const std::lock_guard lock(mutex_);
  const auto [signal, action, a3, a4, a5, a6] = call.arguments;
  if (action == 0 || signal == 0 || signal >= wants_siginfo_.size()) return;
  const uint64_t words_between = call.number == kOldSigaction ? 1 : 0;
  const bool is_plain = call.number == kOldSignal;
  const std::optional<uint64_t> handler = is_plain ? std::optional(action) : memory_.Word(action);
  const std::optional<uint64_t> flags =
      is_plain ? std::optional<uint64_t>(0)
               : memory_.Word(action + (1 + words_between) * memory_.word_size());
  if (!handler || !flags || *handler <= 1) return;  // SIG_DFL, SIG_IGN
  wants_siginfo_[signal] = (*flags & kSaSiginfo) != 0;
  blocks_.AddHandler(*handler);
}

void EmulatedProcess::NoteName(ThreadTracer& thread, const GuestCall& call) {
  constexpr uint64_t kMaxName = 15;
  if (call.arguments[0] != PR_SET_NAME) return;
  const std::lock_guard lock(mutex_);
  char name[kMaxName + 1] = {};
  for (uint64_t i = 0; i < kMaxName; ++i)
    if (!memory_.Read(call.arguments[1] + i, name + i, 1) || name[i] == 0) break;
  names_[thread.tid()] = name;
  thread.Send({.kind = MessageKind::kComm}, name);
}

// With a path of its own, or one from the current folder on, it is an execve.
void EmulatedProcess::ExecuteAt(unsigned vcpu, const GuestCall& call) {
  const auto [folder, path, arguments, environment, flags, unused] = call.arguments;
  uint8_t first = 0;
  {
    const std::lock_guard lock(mutex_);
    memory_.Read(path, &first, 1);
  }
  const bool from_here = first == '/' || static_cast<int>(folder) == AT_FDCWD;
  if (from_here && first != 0 && flags == 0) return Execute(vcpu, path, arguments, environment);
  calls_[vcpu].untraced = true;
  Thread(vcpu)->Send({.kind = MessageKind::kUntraced},
                     "a program was run by its file descriptor (execveat): it ran untraced");
}

// Another user, another root folder, or a recorder that has gone may put the emulator or the
// recording out of reach. `area` is opened, for the new program, to which it stays when the
// recorder goes meanwhile.
std::string EmulatedProcess::OutOfReach(const record::EmulatorSetup& setup,
                                        Descriptor& area) const {
  for (const auto& [file, access] :
       {std::pair{&setup.emulator, X_OK}, std::pair{&setup.plugin, R_OK}})
    if (faccessat(AT_FDCWD, file->c_str(), access, AT_EACCESS) != 0) return *file;
  const Descriptor opened(open(setup_.area.c_str(), O_RDWR | O_CLOEXEC));
  // Not among the standard streams: the program may have closed one.
  area = Descriptor(fcntl(*opened, F_DUPFD, STDERR_FILENO + 1));
  return *area < 0 ? setup_.area : std::string();
}

// QEMU runs the program natively, then; a loss, if the kernel runs it at all.
void EmulatedProcess::RunsUntraced(unsigned vcpu, const std::string& why) {
  calls_[vcpu].untraced = true;
  Thread(vcpu)->Send({.kind = MessageKind::kUntraced}, why + ": it ran untraced");
}

// The recorder is gone. The emulator would take the link to itself for the program.
void EmulatedProcess::ExecuteNatively(const std::string& file,
                                      const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& environment) {
  execve(file.c_str(), Pointers(arguments).data(), Pointers(environment).data());
}

// QEMU would run the new program without emulation. So its emulator is run with it. What
// the kernel would refuse is left to it, so that the program sees the error.
void EmulatedProcess::Execute(unsigned vcpu, uint64_t path, uint64_t arguments,
                              uint64_t environment) {
  ThreadTracer* thread = Thread(vcpu);
  std::vector<std::string> command;
  std::vector<std::string> variables;
  Descriptor area;
  record::EmulatorSetup setup;
  {
    const std::lock_guard lock(mutex_);
    const auto name = memory_.Text(path, 4096);
    const auto words = memory_.Texts(arguments);
    const auto values = memory_.Texts(environment);
    if (!name || !words || !values) return;
    const std::string file = record::BehindExeLink(*name, setup_.emulator, setup_.other.path);
    const auto program = record::FindProgram(file, setup_.ForeignRoot());
    if (program && area_.recording.load() != record::Recording::kGoesOn)
      return ExecuteNatively(file, *words, *values);
    setup = setup_.For(program ? program->mode : setup_.mode);
    std::string obstacle;
    // The kernel finds the emulator where the program looks for itself.
    const bool gone = !program && program.error().error != 0 && file != *name;
    const bool unreadable = !program && program.error().unreadable;
    if (!program && program.error().error != 0 && !gone && !unreadable) return;
    if (unreadable)
      obstacle = "may be executed but not read by this user";
    else if (gone)
      obstacle = "is '" + file + "', which is not there any more";
    else if (!program)
      obstacle = "is a program for " + program.error().machine;
    else if (setup.emulator.empty())
      obstacle = std::string("needs ") + record::EmulatorName(setup.mode) +
                 " (package qemu-user), which is not in PATH or takes no plugins";
    else if (const std::string reason =
                 record::ObstacleInEmulator(*program, setup.plugin_interface);
             !reason.empty())
      return RunsUntraced(vcpu, reason);
    else if (const std::string missing = OutOfReach(setup, area); !missing.empty())
      obstacle = "could not reach " + missing + " when it was run";
    if (!obstacle.empty()) return RunsUntraced(vcpu, "'" + *name + "' " + obstacle);
    if (program->changes_identity)
      thread->Send({.kind = MessageKind::kNote}, record::IdentityNote(*program));
    auto split = record::SplitEnvironment(*values, setup.WantsSamePlaces());
    setup.starts_on = !thread->off();
    setup.open_area = *area;
    command = record::EmulatorCommand(setup, *program, *name, *words);
    command.insert(command.begin() + 1, split.words.begin(), split.words.end());
    variables = std::move(split.variables);
  }
  const auto command_pointers = Pointers(command);
  const auto variable_pointers = Pointers(variables);
  thread->End(false);
  holding_ = true;
  EndOthers(vcpu);
  area_.presence.Enter(getpid());
  execve(setup.emulator.c_str(), command_pointers.data(), variable_pointers.data());
  // Refused: the arguments may be too long. The program goes on, and so does its trace.
  area_.presence.Leave(getpid());
  const std::lock_guard lock(mutex_);
  ending_ = false;
  holding_ = false;
  SetThread(vcpu, NewTracer(thread->off()));
  delete thread;
}

}  // namespace flowback::emulate
