// SPDX-License-Identifier: MIT
#include "replay/debug/values/end_core.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace flowback {
namespace {

constexpr uint32_t kThreadStatus = 1;         // NT_PRSTATUS
constexpr uint32_t kSignalInfo = 0x53494749;  // NT_SIGINFO
constexpr uint32_t kSegments32 = 0x200;       // NT_386_TLS
constexpr uint32_t kThreadPointer = 0x401;    // NT_ARM_TLS
constexpr uint32_t kNotes = 4;                // PT_NOTE
// Around a thread pointer, where thread-local variables and glibc's rseq area lie.
constexpr uint64_t kKernelWrites = 4096;

// The header of the thread at its pointer, with the stack protector's number, has neither.
uint64_t ThreadHeader(CodeMode mode) {
  constexpr uint64_t k64 = 0x300, k32 = 0x40;
  if (mode == CodeMode::kAArch64) return 0;
  return mode == CodeMode::kX86_32 ? k32 : k64;
}

template <class Number>
Number NumberAt(Bytes bytes, uint64_t offset) {
  Number number = 0;
  if (offset <= bytes.size() && bytes.size() - offset >= sizeof number)
    std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
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
    : file_(std::move(file)), core_(std::move(core)), layout_(CoreLayoutOf(core_.mode)) {
  const Bytes bytes = file_->bytes();
  const auto header = CoreHeader(bytes);
  const bool is_32 = layout_->word == sizeof(uint32_t);
  const uint64_t count = CoreProgramCount(bytes).value_or(0);
  for (uint64_t i = 0; header && i < count; ++i) {
    const auto program = CoreProgram(bytes, header->e_phoff + i * header->e_phentsize, is_32);
    if (program && program->p_type == kNotes)
      ReadNotes(Slice(bytes, program->p_offset, program->p_filesz));
  }
  FindPrivateMemory();
}

// The thread that was killed is the first one. The notes of a thread follow its status.
void EndCore::ReadNotes(Bytes notes) {
  int32_t tid = -1;
  ForEachNote(notes, [&](uint32_t type, Bytes content) {
    if (type == kSignalInfo && signal_.empty()) signal_ = content;
    ReadThreadPointer(type, content, tid);
    if (type != kThreadStatus ||
        content.size() < layout_->registers_at + layout_->registers.size() * layout_->word)
      return;
    tid = NumberAt<int32_t>(content, layout_->thread_at);
    if (registers_.empty()) killed_tid_ = tid;
    registers_[tid] = content.subspan(layout_->registers_at);
  });
}

// 32-bit x86: rows of struct user_desc; GS names one of them.
void EndCore::ReadThreadPointer(uint32_t type, Bytes content, int32_t tid) {
  if (type == kThreadPointer && layout_->mode == CodeMode::kAArch64 &&
      content.size() >= sizeof(uint64_t))
    thread_pointers_[tid] = NumberAt<uint64_t>(content, 0);
  if (type != kSegments32 || layout_->mode != CodeMode::kX86_32) return;
  constexpr uint64_t kRow = 16;
  const auto selector = Register(tid, "gs");
  for (uint64_t at = 0; selector && at + kRow <= content.size(); at += kRow)
    if (NumberAt<uint32_t>(content, at) == (*selector & 0xffff) >> 3)
      thread_pointers_[tid] = NumberAt<uint32_t>(content, at + sizeof(uint32_t));
}

// A file's data is the process's own copy where the file is a program or a library; anything else
// that a file backs may be shared. The kernel names memory without a file that processes share
// /dev/zero. If the dump does not contain the thread pointers, all but stacks and files may be near
// one. QEMU dumps neither files nor signals, and lets no thread register for rseq.
bool EndCore::IsPrivate(uint64_t address) const {
  uint8_t byte = 0;
  if (Memory(address, {&byte, 1}) != 1) return false;
  if (IsNearThreadPointer(address)) return false;
  const CoreMappedFile* file = core_.FileAt(address);
  if (file != nullptr) return code_files_.contains(file->path);
  if (IsEmulators() || thread_pointers_.size() == registers_.size()) return true;
  const CoreSegment* segment = core_.SegmentAt(address);
  return segment != nullptr && std::ranges::binary_search(stacks_, segment->address);
}

std::optional<bool> EndCore::IsWritable(uint64_t address) const {
  const CoreSegment* segment = core_.SegmentAt(address);
  if (segment == nullptr) return std::nullopt;
  const bool is_told = segment->writable || !segment->executable || !IsEmulators();
  return is_told ? std::optional(segment->writable) : std::nullopt;
}

// A damaged dump may have tens of thousands of threads.
bool EndCore::IsNearThreadPointer(uint64_t address) const {
  const auto above = std::ranges::upper_bound(pointers_, address);
  if (above != pointers_.end() && *above - address <= kKernelWrites) return true;
  const uint64_t header = ThreadHeader(mode());
  if (address < header) return false;
  const auto behind = std::ranges::upper_bound(pointers_, address - header);
  return behind != pointers_.begin() && address - *std::prev(behind) < kKernelWrites;
}

int32_t EndCore::signal_number() const { return NumberAt<int32_t>(signal_, 0); }

int32_t EndCore::signal_code() const {
  constexpr uint64_t kAt = 8;
  return NumberAt<int32_t>(signal_, kAt);
}

// Behind three numbers, at a multiple of a pointer's size.
uint64_t EndCore::SignalUnion() const {
  constexpr uint64_t k64 = 16, k32 = 12;
  return layout_->word == sizeof(uint32_t) ? k32 : k64;
}

int32_t EndCore::signal_sender() const { return NumberAt<int32_t>(signal_, SignalUnion()); }

uint64_t EndCore::signal_address() const {
  if (layout_->word == sizeof(uint32_t)) return NumberAt<uint32_t>(signal_, SignalUnion());
  return NumberAt<uint64_t>(signal_, SignalUnion());
}

bool EndCore::IsOfDeath(const Recording& recording) const {
  constexpr std::array kDumping = {SIGQUIT, SIGILL,  SIGTRAP, SIGABRT, SIGBUS,
                                   SIGFPE,  SIGSEGV, SIGSYS,  SIGXCPU, SIGXFSZ};
  const auto dumps = [&](int number) {
    return std::ranges::find(kDumping, number) != kDumping.end();
  };
  const auto place = Counter(killed_tid_);
  const int32_t signal = signal_number();
  // Not every recorder notes how processes end: then the dump itself must show a death.
  const auto is_ours = [this](const ProcessEnd& end) { return end.pid == pid(); };
  if (std::ranges::none_of(recording.process_ends, is_ours)) return dumps(signal);
  return std::ranges::any_of(recording.process_ends, [&](const ProcessEnd& end) {
    if (end.pid != pid() || !WIFSIGNALED(end.wait_status)) return false;
    const int killed_by = WTERMSIG(end.wait_status);
    return dumps(killed_by) && (!end.ip || end.ip == place) && (signal == 0 || signal == killed_by);
  });
}

void EndCore::SetLiving(std::map<int32_t, uint64_t> places, bool keeps_memory) {
  living_ = true;
  places_ = std::move(places);
  keeps_memory_ = keeps_memory;
}

std::optional<uint64_t> EndCore::PlaceOf(int32_t tid, uint64_t instructions) const {
  if (!living_) return instructions;
  const auto place = places_.find(tid);
  return place == places_.end() ? std::nullopt : std::optional(place->second);
}

void EndCore::NumberThreadAs(const Recording& recording) {
  if (registers_.size() != 1) return;
  const auto place = Counter(killed_tid_);
  for (const ProcessEnd& end : recording.process_ends) {
    const bool is_it = end.pid == pid() && end.ip && end.ip == place && end.tid != killed_tid_;
    if (!is_it || !WIFSIGNALED(end.wait_status)) continue;
    const Bytes registers = registers_.begin()->second;
    registers_ = {{end.tid, registers}};
    if (auto pointer = thread_pointers_.extract(killed_tid_)) {
      pointer.key() = end.tid;
      thread_pointers_.insert(std::move(pointer));
    }
    core_.tids = {end.tid};
    killed_tid_ = end.tid;
    return;
  }
}

void EndCore::FindPrivateMemory() {
  for (const auto& [tid, registers] : registers_) {
    if (const auto pointer = CoreRegister(*layout_, registers, layout_->thread_pointer))
      thread_pointers_[tid] = *pointer;
    // Without a segment there is no pointer.
    if (mode() == CodeMode::kX86_32 && (Register(tid, "gs").value_or(1) & 0xffff) == 0)
      thread_pointers_[tid] = 0;
    const auto stack = StackPointer(tid);
    if (const CoreSegment* segment = stack ? core_.SegmentAt(*stack) : nullptr)
      stacks_.push_back(segment->address);
  }
  for (const auto& [tid, pointer] : thread_pointers_) pointers_.push_back(pointer);
  std::ranges::sort(pointers_);
  std::ranges::sort(stacks_);
  for (const CoreSegment& segment : core_.segments)
    if (const CoreMappedFile* file = core_.FileAt(segment.address); file && segment.executable)
      code_files_.insert(file->path);
}

std::optional<uint64_t> EndCore::Register(int32_t tid, std::string_view name) const {
  const auto registers = registers_.find(tid);
  if (registers == registers_.end()) return std::nullopt;
  if (const auto pointer = thread_pointers_.find(tid);
      pointer != thread_pointers_.end() && name == layout_->thread_pointer)
    return pointer->second;
  return CoreRegister(*layout_, registers->second, name);
}

}  // namespace flowback
