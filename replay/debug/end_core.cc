// SPDX-License-Identifier: MIT
#include "replay/debug/end_core.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace flowback {
namespace {

// The order of struct user_regs_struct of x86-64. fs_base and gs_base have names of their own.
constexpr std::array<std::string_view, 27> kRegisters = {
    "r15",    "r14", "r13", "r12",     "rbp",     "rbx", "r11",      "r10", "r9",
    "r8",     "rax", "rcx", "rdx",     "rsi",     "rdi", "orig_rax", "rip", "cs",
    "eflags", "rsp", "ss",  "fs_base", "gs_base", "ds",  "es",       "fs",  "gs"};
constexpr uint32_t kThreadStatus = 1;         // NT_PRSTATUS
constexpr uint32_t kSignalInfo = 0x53494749;  // NT_SIGINFO
constexpr uint32_t kNotes = 4;                // PT_NOTE
constexpr size_t kThreadAt = 32;              // in struct elf_prstatus
constexpr size_t kRegistersAt = 112;
// Around a thread pointer, where thread-local variables and glibc's rseq area lie. The header of
// the thread, with the stack protector's number, has neither.
constexpr uint64_t kKernelWrites = 4096;
constexpr uint64_t kThreadHeader = 0x300;

template <class Number>
Number NumberAt(Bytes bytes, uint64_t offset) {
  Number number = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof number)
    std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

Bytes PartOf(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size()) return {};
  return bytes.subspan(offset, std::min<uint64_t>(size, bytes.size() - offset));
}

}  // namespace

Result<EndCore> EndCore::Open(const std::string& path) {
  Result<std::shared_ptr<const MappedFile>> file = MappedFile::Open(path);
  if (!file) return Fail(file.error());
  Result<CoreFile> core = ReadCore((*file)->bytes(), path);
  if (!core) return Fail(core.error());
  return EndCore(*std::move(file), *std::move(core));
}

EndCore::EndCore(std::shared_ptr<const MappedFile> file, CoreFile core)
    : file_(std::move(file)), core_(std::move(core)) {
  const Bytes bytes = file_->bytes();
  const uint64_t table = NumberAt<uint64_t>(bytes, 32);
  const auto size = NumberAt<uint16_t>(bytes, 54);
  for (uint64_t i = 0; i < NumberAt<uint16_t>(bytes, 56); ++i) {
    const uint64_t header = table + i * size;
    if (NumberAt<uint32_t>(bytes, header) != kNotes) continue;
    ReadNotes(PartOf(bytes, NumberAt<uint64_t>(bytes, header + 8),
                     NumberAt<uint64_t>(bytes, header + 32)));
  }
  FindPrivateMemory();
}

// The thread that was killed is the first one.
void EndCore::ReadNotes(Bytes notes) {
  ForEachNote(notes, [this](uint32_t type, Bytes content) {
    if (type == kSignalInfo && signal_.empty()) signal_ = content;
    if (type != kThreadStatus || content.size() < kRegistersAt + kRegisters.size() * 8) return;
    const auto tid = NumberAt<int32_t>(content, kThreadAt);
    if (registers_.empty()) killed_tid_ = tid;
    registers_[tid] = content.subspan(kRegistersAt);
  });
}

// A file's data is the process's own copy where the file is a program or a library; anything else
// that a file backs may be shared. The kernel names memory without a file that processes share
// /dev/zero.
bool EndCore::IsPrivate(uint64_t address) const {
  uint8_t byte = 0;
  if (Memory(address, {&byte, 1}) != 1) return false;
  for (const uint64_t pointer : thread_pointers_)
    if (address - pointer + kKernelWrites < 2 * kKernelWrites &&
        (address < pointer || address >= pointer + kThreadHeader))
      return false;
  const CoreMappedFile* file = core_.FileAt(address);
  return file == nullptr || code_files_.contains(file->path);
}

bool EndCore::IsOfDeath(const Recording& recording) const {
  const auto place = Register(killed_tid_, "rip");
  const auto signal = NumberAt<int32_t>(signal_, 0);
  // Not every recorder notes how processes end: then the dump itself must tell of a death.
  const auto is_ours = [this](const ProcessEnd& end) { return end.pid == pid(); };
  if (std::ranges::none_of(recording.process_ends, is_ours)) {
    constexpr std::array kDumping = {SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE,
                                     SIGSEGV, SIGSYS, SIGXCPU, SIGXFSZ};
    return std::ranges::find(kDumping, signal) != kDumping.end();
  }
  return std::ranges::any_of(recording.process_ends, [&](const ProcessEnd& end) {
    return end.pid == pid() && WIFSIGNALED(end.wait_status) && (!end.ip || end.ip == place) &&
           (signal == 0 || signal == WTERMSIG(end.wait_status));
  });
}

void EndCore::NumberThreadAs(const Recording& recording) {
  if (registers_.size() != 1) return;
  const auto place = Register(killed_tid_, "rip");
  for (const ProcessEnd& end : recording.process_ends) {
    const bool is_it = end.pid == pid() && end.ip && end.ip == place && end.tid != killed_tid_;
    if (!is_it || !WIFSIGNALED(end.wait_status)) continue;
    const Bytes registers = registers_.begin()->second;
    registers_ = {{end.tid, registers}};
    core_.tids = {end.tid};
    killed_tid_ = end.tid;
    return;
  }
}

void EndCore::FindPrivateMemory() {
  for (const auto& [tid, registers] : registers_)
    if (const auto pointer = Register(tid, "fs_base")) thread_pointers_.push_back(*pointer);
  for (const CoreSegment& segment : core_.segments)
    if (const CoreMappedFile* file = core_.FileAt(segment.address); file && segment.executable)
      code_files_.insert(file->path);
}

std::optional<uint64_t> EndCore::Register(int32_t tid, std::string_view name) const {
  const auto registers = registers_.find(tid);
  const auto at = std::ranges::find(kRegisters, name);
  if (registers == registers_.end() || at == kRegisters.end()) return std::nullopt;
  return NumberAt<uint64_t>(registers->second, static_cast<uint64_t>(at - kRegisters.begin()) * 8);
}

}  // namespace flowback
