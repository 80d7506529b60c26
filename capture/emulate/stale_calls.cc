// SPDX-License-Identifier: MIT
// When the emulator's translations are compared with memory, and dropped: see stale_code.h.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "base/proc_path.h"
#include "capture/emulate/emulated_process.h"

namespace flowback::emulate {
namespace {

// The descriptor of the file that the call writes to; negative: it is none of those calls.
int WrittenFile(const GuestCall& call) {
  const auto& [first, second, third, a4, a5, a6] = call.arguments;
  switch (call.number) {
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_ftruncate:
    case SYS_fallocate:
    case SYS_sendfile:
      return static_cast<int>(first);
    case SYS_copy_file_range:
    case SYS_splice:
      return static_cast<int>(third);
    default:
      return -1;
  }
}

// As the kernel's list of mappings has it; empty: it is no regular file. The device differs there
// on file systems that consist of others.
std::string InodeOf(int descriptor) {
  struct stat about{};
  if (descriptor < 0 || fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) return {};
  return std::to_string(about.st_ino);
}

// Returns the process whose memory the descriptor opens; empty: it is no such file.
std::string MemoryBehind(int descriptor) {
  char target[64] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  if (readlink(link.c_str(), target, sizeof target - 1) <= 0) return {};
  const std::string file = target;
  return file.starts_with("/proc/") && file.ends_with("/mem") ? file : std::string();
}

}  // namespace

void EmulatedProcess::KeepShared(Block& block, Bytes code) {
  block.SetShared();
  stale_.Keep(block.start, code, memory_.base());
}

void EmulatedProcess::BeforeCall() {
  if (!stale_.any()) return;
  const std::lock_guard lock(mutex_);
  stale_.Disarm();
}

void EmulatedProcess::AfterCall(ThreadTracer* thread, const GuestCall& call) {
  bool changed = WroteToCode(thread, call);
  if (!changed && !stale_.any()) return;
  {
    const std::lock_guard lock(mutex_);
    changed = changed || stale_.HasChanged(0, ~uint64_t{0}, memory_);
    if (!changed) stale_.Arm(memory_.base());
  }
  if (changed) drop_translations_();
}

// Whether the call changed code that was translated, by writing to a file.
bool EmulatedProcess::WroteToCode(ThreadTracer* thread, const GuestCall& call) {
  const int descriptor = WrittenFile(call);
  const std::string inode = InodeOf(descriptor);
  if (inode.empty()) return false;
  const std::lock_guard lock(mutex_);
  const bool is_code = code_.HasFile(inode);
  const std::string memory = is_code ? std::string() : MemoryBehind(descriptor);
  if (!is_code && memory.empty()) return false;
  if (!memory.empty() && memory != "/proc/self/mem" && memory != ProcPath(getpid(), "mem")) {
    if (thread != nullptr) NoteUnlikeNative(*thread, record::UnlikeNativeCall::kStaleCode);
    return false;
  }
  const auto changed = blocks_.FindChanged(memory_);
  for (const auto& [begin, end] : changed) versions_.NoteWritable(begin, end);
  return !changed.empty();
}

// What another process wrote can be found here only: this run of the block is of the old code.
void EmulatedProcess::CheckShared(ThreadTracer& thread, const Block& block) {
  {
    const std::lock_guard lock(mutex_);
    if (!stale_.HasChanged(block.start, block.end, memory_)) return;
  }
  NoteUnlikeNative(thread, record::UnlikeNativeCall::kStaleCode);
  drop_translations_();
}

void EmulatedProcess::OnDropped() {
  const std::lock_guard lock(mutex_);
  stale_.Forget();
}

}  // namespace flowback::emulate
