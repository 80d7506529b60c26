// SPDX-License-Identifier: MIT
#include "capture/kernel/call_stacks.h"

#include <algorithm>
#include <string>

#include "capture/kernel/event_terms.h"

namespace flowback::kernel {
namespace {

constexpr uint64_t kMostBytes = 65528;
constexpr uint64_t kUnit = 8;

// Registers that an unwinder may need, by the kernel's numbers.
#if defined(__x86_64__)
constexpr uint64_t kUserRegisters = 0xff0fff;  // all but the segments of data
#else
constexpr uint64_t kUserRegisters = (uint64_t{1} << 33) - 1;
#endif

constexpr uint64_t kOfCalls = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
                              PERF_SAMPLE_BRANCH_NO_CYCLES | PERF_SAMPLE_BRANCH_NO_FLAGS |
                              PERF_SAMPLE_BRANCH_HW_INDEX;

struct Kind {
  std::string_view word;
  StackKind kind;
};
constexpr Kind kKinds[] = {{"no", StackKind::kNone},
                           {"fp", StackKind::kFramePointers},
                           {"dwarf", StackKind::kCopies},
                           {"lbr", StackKind::kBranchRecords}};

}  // namespace

Result<uint32_t> ParseStackBytes(std::string_view text) {
  const auto bytes = ParseTermNumber(text);
  if (bytes && *bytes != 0 && *bytes <= kMostBytes)
    return static_cast<uint32_t>((*bytes + kUnit - 1) / kUnit * kUnit);
  return Fail(Error(ErrorCode::kUsage, "'" + std::string(text) +
                                           "' is no number of bytes from 1 "
                                           "to " +
                                           std::to_string(kMostBytes) +
                                           ", as a copy of the stack has them")
                  .Remedy("--call-graph dwarf,8192"));
}

Result<CallStacks> ParseCallStacks(std::string_view words) {
  const size_t comma = words.find(',');
  const auto kind = std::ranges::find(kKinds, words.substr(0, comma), &Kind::word);
  if (kind == std::end(kKinds) ||
      (comma != std::string_view::npos && kind->kind != StackKind::kCopies))
    return Fail(Error(ErrorCode::kUsage,
                      "--call-graph " + std::string(words) + ": no such way to record stacks")
                    .Remedy("fp (frame pointers), dwarf[,BYTES] (copies of the stack) or lbr"));
  CallStacks stacks{.kind = kind->kind};
  if (comma == std::string_view::npos) return stacks;
  const auto bytes = ParseStackBytes(words.substr(comma + 1));
  if (!bytes) return Fail(bytes.error());
  stacks.copy_bytes = *bytes;
  return stacks;
}

void RecordStacks(const CallStacks& stacks, bool tracks, perf_event_attr& attr) {
  if (stacks.kind == StackKind::kNone) return;
  attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
  if (stacks.kind == StackKind::kBranchRecords && !attr.exclude_user &&
      (attr.sample_type & PERF_SAMPLE_BRANCH_STACK) == 0) {
    attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
    attr.branch_sample_type = kOfCalls;
  }
  if (stacks.kind != StackKind::kCopies) return;
  attr.sample_type |=
      PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_SRC;
  attr.sample_regs_user |= kUserRegisters;
  attr.sample_stack_user = stacks.copy_bytes;
  attr.exclude_callchain_user = 1;
  attr.mmap_data = tracks;
}

}  // namespace flowback::kernel
