// SPDX-License-Identifier: MIT
#include "replay/crash/dump/living_dump.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <variant>

#include "flowback/base/bytes.h"
#include "replay/crash/dump/core_stack.h"
#include "replay/session/ended_thread.h"

namespace flowback {
namespace {

constexpr size_t kMostPlaces = 16;  // whose stacks are compared

// Whether the recording contains how the thread began: with its process, or in it.
bool BeginIsRecorded(const Recording& recording, int32_t tid) {
  return std::ranges::any_of(recording.sideband, [tid](const SidebandRecord& record) {
    const auto* fork = std::get_if<ForkRecord>(&record);
    const auto* comm = std::get_if<CommRecord>(&record);
    return (fork != nullptr && fork->tid == tid) ||
           (comm != nullptr && comm->exec && comm->tid == tid);
  });
}

bool EndIsRecorded(const Recording& recording, int32_t pid, int32_t tid) {
  const bool is_told = std::ranges::any_of(recording.process_ends,
                                           [pid](const ProcessEnd& end) { return end.pid == pid; });
  return is_told || ThreadExits(recording).IsBefore(tid, UINT64_MAX);
}

class PlaceFinder {
 public:
  explicit PlaceFinder(const LivingInput& input) : input_(input) {}

  Result<LivingDump> Find() {
    LivingDump found;
    for (const int32_t tid : input_.core.tids()) {
      Result<DumpedThread> thread = Find(tid);
      if (!thread) return Fail(thread.error());
      found.threads.push_back(*thread);
    }
    found.keeps_memory = KeepsMemory(found);
    return found;
  }

 private:
  std::optional<size_t> ThreadOf(int32_t tid) const {
    for (size_t i = 0; i < input_.machine.size(); ++i)
      if (input_.machine.thread(i).tid == tid) return i;
    return std::nullopt;
  }

  Result<DumpedThread> Find(int32_t tid) {
    DumpedThread told;
    told.tid = tid;
    told.counter = input_.core.Counter(tid).value_or(0);
    const auto thread = ThreadOf(tid);
    if (!thread) {
      told.call = WaitsInCall(input_.core, tid, nullptr);
      return told;
    }
    told.space = input_.machine.LastOf(*thread).space;
    told.call = WaitsInCall(input_.core, tid, told.space);
    std::vector<uint64_t> places = PlacesOf(*thread, told.counter);
    if (places.size() > 1 && places.size() <= kMostPlaces)
      if (Status status = KeepFitting(*thread, tid, places); !status) return Fail(status.error());
    told.fit = places.empty()      ? DumpFit::kNowhere
               : places.size() > 1 ? DumpFit::kSeveral
               : IsWhole(*thread)  ? DumpFit::kProven
                                   : DumpFit::kOnce;
    if (places.size() == 1) told.number = places.front();
    told.is_end = places.size() == 1 && told.number == input_.machine.thread(*thread).instructions;
    return told;
  }

  // Whether the flow ends there. The flow does not contain a system call's return address.
  bool EndsAt(size_t thread, uint64_t counter) {
    if (const auto end = input_.machine.EndAddressOf(thread)) return *end == counter;
    const CursorInstruction last = input_.machine.LastOf(thread);
    return last.last == InstructionClass::kFarCall && last.address + last.length == counter;
  }

  // The latest first; a few more than are compared at most.
  std::vector<uint64_t> PlacesOf(size_t thread, uint64_t counter) {
    const IndexedThread& flow = input_.machine.thread(thread);
    std::vector<uint64_t> places;
    if (EndsAt(thread, counter)) places.push_back(flow.instructions);
    ThreadCursor cursor(input_.machine.index(), flow, ThreadCursor::Start::kEnd);
    while (places.size() <= kMostPlaces && cursor.PreviousAt(counter))
      places.push_back(cursor.number());
    return places;
  }

  // Those where the flow has the dump's call stack.
  Status KeepFitting(size_t thread, int32_t tid, std::vector<uint64_t>& places) {
    std::vector<uint64_t> kept;
    for (const uint64_t place : places) {
      const auto stack = input_.stacks.At(input_.machine.index_number(thread), place);
      if (!stack) return Fail(stack.error());
      const CoreStack dumped = CoreStackOf(input_.core, tid, **stack, input_.core.mode(), {});
      if (dumped.end != CoreStack::End::kDisagree) kept.push_back(place);
    }
    places = std::move(kept);
    return {};
  }

  // Whether the flow has all that the thread executed.
  bool IsWhole(size_t thread) {
    const Recording& recording = input_.session.recording();
    const IndexedThread& flow = input_.machine.thread(thread);
    if (LeavesCodeOut(input_.session) || !BeginIsRecorded(recording, flow.tid) ||
        !EndIsRecorded(recording, flow.pid, flow.tid))
      return false;
    return !HasLoss(thread);
  }
  bool HasLoss(size_t thread) {
    input_.machine.ToEnd(thread);
    const MachineStop stop = input_.machine.Continue(Direction::kBackward, {.losses = true}, thread,
                                                     [] { return true; });
    return stop.reason == MachineStop::Reason::kLoss || stop.loss || stop.unknown;
  }

  uint64_t LastTime(size_t thread) const {
    uint64_t last = 0;
    for (const FlowShare& share : input_.machine.thread(thread).shares)
      last = std::max(last, share.last_tsc);
    return last;
  }

  // The only thread's memory is as it was at its place. Several must all have executed their last
  // instruction; those that the dump lacks, before one of the others did.
  bool KeepsMemory(const LivingDump& found) const {
    const bool is_only = input_.machine.size() == 1 && found.threads.size() == 1;
    if (is_only) return found.threads.front().fit == DumpFit::kProven;
    uint64_t last = 0;
    for (const DumpedThread& thread : found.threads) {
      if (thread.fit != DumpFit::kProven || !thread.is_end) return false;
      last = std::max(last, LastTime(*ThreadOf(thread.tid)));
    }
    for (size_t i = 0; i < input_.machine.size(); ++i) {
      const int32_t tid = input_.machine.thread(i).tid;
      const bool is_dumped =
          std::ranges::find(found.threads, tid, &DumpedThread::tid) != found.threads.end();
      if (!is_dumped && LastTime(i) > last) return false;
    }
    return true;
  }

  const LivingInput& input_;
};

}  // namespace

const char* Name(DumpFit fit) {
  constexpr std::array<const char*, 5> kNames = {"proven", "once", "several", "nowhere",
                                                 "not-recorded"};
  return kNames[static_cast<size_t>(fit)];
}

std::optional<uint64_t> WaitsInCall(const EndCore& core, int32_t tid, const AddressSpace* space) {
  if (core.mode() != CodeMode::kX86_64) return std::nullopt;
  constexpr uint64_t kLength = 2;
  constexpr std::array<uint8_t, kLength> kSyscall = {0x0f, 0x05};
  // The kernel's ERESTARTSYS to ERESTART_RESTARTBLOCK, which no program ever sees.
  constexpr int64_t kFirst = -512, kLast = -516;
  const auto counter = core.Counter(tid);
  const auto result = core.Register(tid, "rax"), number = core.Register(tid, "orig_rax");
  if (!counter || !result || !number || static_cast<int64_t>(*number) < 0) return std::nullopt;
  if (static_cast<int64_t>(*result) > kFirst || static_cast<int64_t>(*result) < kLast)
    return std::nullopt;
  std::array<uint8_t, kLength> code{};
  size_t read = core.Memory(*counter - kLength, code);
  if (read != kLength && space != nullptr)
    read = space->Read(*counter - kLength, code.data(), code.size());
  return read == kLength && code == kSyscall ? number : std::nullopt;
}

Result<LivingDump> FindLivingDump(const LivingInput& input) { return PlaceFinder(input).Find(); }

// A system call that went on behind the dump has another result than the dump.
void PlaceThreads(const LivingDump& found, EndCore& core) {
  std::map<int32_t, uint64_t> places;
  for (const DumpedThread& thread : found.threads) {
    const bool is_known = thread.is_end || (core.mode() == CodeMode::kX86_64 && !thread.call);
    if (thread.fit == DumpFit::kProven && is_known) places[thread.tid] = thread.number;
  }
  core.SetLiving(std::move(places), found.keeps_memory);
}

}  // namespace flowback
