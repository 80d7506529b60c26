// SPDX-License-Identifier: MIT
#include "replay/debug/machine/milestones.h"

#include <algorithm>

#include "flowback/decode/schedule.h"

namespace flowback {
namespace {

// How many programs the process had become before the one that the instruction is of, by the
// history of its code.
size_t ProgramOf(const CursorInstruction& instruction) {
  if (instruction.stay == nullptr || instruction.stay->code == nullptr) return 0;
  size_t programs = 0;
  for (const AddressSpaceHistory::Epoch& epoch : instruction.stay->code->epochs) {
    programs += epoch.program ? 1 : 0;
    if (epoch.space.get() == instruction.space) break;
  }
  return programs;
}

// Halves a stretch of the flow until it has found where its programs begin.
class ProgramSearch {
 public:
  ProgramSearch(ThreadWalk& walk, std::vector<Milestone>& found) : walk_(walk), found_(found) {}

  // Between two instructions and their programs.
  void Between(uint64_t first, size_t first_program, uint64_t last, size_t last_program) {
    if (first_program == last_program || found_.size() >= kMost) return;
    if (first + 1 == last) {
      found_.push_back({.kind = MilestoneKind::kProgram, .number = last});
      return;
    }
    const uint64_t middle = first + (last - first) / 2;
    const size_t program = At(middle);
    Between(first, first_program, middle, program);
    Between(middle, program, last, last_program);
  }
  size_t At(uint64_t number) {
    walk_.ToInstruction(number);
    return ProgramOf(walk_.instruction());
  }

 private:
  static constexpr size_t kMost = 4096;

  ThreadWalk& walk_;
  std::vector<Milestone>& found_;
};

}  // namespace

std::vector<Milestone> MilestonesOf(ThreadWalk& walk) {
  std::vector<Milestone> found = {{.kind = MilestoneKind::kThreadBegin, .number = 0}};
  ProgramSearch search(walk, found);
  const uint64_t last = walk.thread().instructions - 1;
  search.Between(0, search.At(0), last, search.At(last));
  walk.ToLast();
  found.push_back({.kind = MilestoneKind::kThreadEnd, .number = walk.number()});
  return found;
}

std::optional<Milestone> NearestMilestone(const std::vector<Milestone>& milestones,
                                          Direction direction, const StopMarks& marks,
                                          uint64_t from, bool counts) {
  const bool forward = direction == Direction::kForward;
  std::optional<Milestone> nearest;
  for (Milestone milestone : milestones) {
    if (!marks.HasMilestone(milestone.kind)) continue;
    if (!forward && milestone.kind == MilestoneKind::kProgram) --milestone.number;
    const bool lies_ahead = forward ? milestone.number > from : milestone.number < from;
    if (!lies_ahead && !(counts && milestone.number == from)) continue;
    if (!nearest || !forward) nearest = milestone;
  }
  return nearest;
}

}  // namespace flowback
