// SPDX-License-Identifier: MIT
// The replayed machine: all threads of a recording at one moment, which moves forward and backward.
//
//   ReplayedMachine machine(index, threads);
//   machine.ToEnd();
//   const MachineStop stop = machine.Continue(Direction::kBackward, marks, std::nullopt, keep_on);
//   Show(machine.At(stop.thread).pc);
//
// Nothing of the flow is held in memory but a few segments. Moving one thread moves the time of
// all: the others stand where they were at that time. Used by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "flowback/model/machine.h"
#include "replay/debug/machine/machine_threads.h"
#include "replay/debug/machine/milestones.h"
#include "replay/debug/machine/moment.h"
#include "replay/debug/machine/recent_blocks.h"
#include "replay/debug/machine/stop_search.h"
#include "replay/debug/machine/visit_count.h"

namespace flowback {

struct MachineStop {
  enum class Reason : uint8_t {
    kStep,         // the step is done
    kAddress,      // the thread came to an address or a system call that stops it
    kLoss,         // flow is missing between the place before and this one
    kUnknown,      // what ran between them was not to be recorded: two samples lie there
    kEvent,        // an event lies between
    kMilestone,    // a thread begins or ends there, or becomes another program
    kBegin,        // of the recording, or of the one thread that was to move: `of_thread`
    kEnd,          // the end of the recording
    kInterrupted,  // the caller ended the search: nothing has moved
  };
  Reason reason = Reason::kStep;
  size_t thread = 0;               // that stopped
  std::optional<DataLoss> loss{};  // that the thread went past
  std::optional<TraceEvent> event{};
  std::optional<MilestoneKind> milestone{};
  std::optional<uint32_t> call{};  // the number of the system call that it is about to make
  bool unknown = false;            // it went past flow that was not to be recorded
  // The flow of the thread alone begins or ends there. The others stand where they were at that
  // time.
  bool of_thread = false;
};

// Returns the reason of a step that went past missing flow where the marks stop it, else its own.
MachineStop::Reason ReasonOf(const MachineStop& step, const StopMarks& marks);

// A thread at the moment.
struct MachineThread {
  uint64_t pc = 0;  // the next instruction to execute
  uint64_t number = 0;
  uint64_t tsc = 0;
  ThreadState state = ThreadState::kRunning;
  int32_t tid = -1;
  int32_t cpu = -1;               // on which it executes there; -1: not known
  bool is_end = false;            // the thread's last place, behind all that others executed
  bool never_executed = false;    // the instruction at `pc`: the flow ends ahead of it
  CursorInstruction instruction;  // that one; if it never executed, the one before it
};

class ReplayedMachine {
 public:
  // `threads`: numbers of threads of the index, at least one; those without instructions are left
  // out. Stands at the begin. The index must outlive it.
  ReplayedMachine(FlowIndex& index, const std::vector<size_t>& threads);

  // Threads are known by their numbers here.
  size_t size() const { return threads_.size(); }
  const IndexedThread& thread(size_t thread) const { return threads_.thread(thread); }
  size_t index_number(size_t thread) const { return threads_.index_number(thread); }
  FlowIndex& index() { return threads_.index(); }
  const MachineMoment& moment() const { return moment_; }
  // The thread that the moment is of.
  size_t current() const { return moment_.thread; }
  MachineThread At(size_t thread);
  // The last instruction that the thread executed in the recording.
  CursorInstruction LastOf(size_t thread) { return threads_.Walk(thread).last(); }

  // Where the thread's flow ends, ahead of an instruction that did not execute. Empty: unknown.
  std::optional<uint64_t> EndAddressOf(size_t thread);

  // To the first place of the current thread, or its last one, before or behind all the others.
  void ToBegin() { ToBegin(current()); }
  void ToEnd() { ToEnd(current()); }
  // To a moment that the machine had.
  void To(const MachineMoment& moment) {
    moment_ = moment;
    others_from_.reset();
  }
  void ToBegin(size_t thread);
  void ToEnd(size_t thread);
  // Moves to the first place of any thread whose time is not before `tsc`; behind all, if all are
  // before. The current thread goes first.
  void ToTime(uint64_t tsc);
  // To the place before the thread's instruction of that number, from 0. False: it has fewer, and
  // nothing moves.
  bool ToInstruction(size_t thread, uint64_t number);

  // Whether others that come to a mark while one thread moves stop it first.
  enum class Others : uint8_t { kMayStop, kAreHeld };

  // Moves one thread by an instruction.
  MachineStop Step(size_t thread, Direction direction, const StopMarks& marks,
                   const KeepOn& keep_on, Others others = Others::kMayStop);
  // Moves one thread on until it leaves the addresses or comes to a mark.
  MachineStop StepOut(size_t thread, const AddressRange& range, const StopMarks& marks,
                      const KeepOn& keep_on, Others others = Others::kMayStop);
  // Runs to the nearest mark of any thread, or of `only` that one.
  MachineStop Continue(Direction direction, const StopMarks& marks, std::optional<size_t> only,
                       const KeepOn& keep_on);

  // How often the thread came to the address. Empty: the caller ended the search.
  std::optional<VisitCount> CountVisits(size_t thread, uint64_t address, const KeepOn& keep_on) {
    return flowback::CountVisits(threads_, thread, moment_, address, keep_on);
  }
  // What led the thread to where it stands.
  std::vector<InstructionBlock> Recent(size_t thread, const RecentBounds& bounds) {
    return RecentBlocks(threads_.Settle(thread, moment_).walk, bounds);
  }

 private:
  struct Nearest {
    MachineMoment moment;
    MachineStop stop;
  };
  // What keeps a search from going on.
  struct Bounds {
    std::optional<MachineMoment> limit{};  // exclusive
    std::optional<size_t> only{};
    std::optional<size_t> but{};
  };

  std::optional<Nearest> Find(Direction direction, const StopMarks& marks, const Bounds& bounds,
                              const KeepOn& keep_on, bool& interrupted);
  std::optional<Nearest> FindOf(size_t thread, Direction direction, const StopMarks& marks,
                                const std::optional<MachineMoment>& limit, const KeepOn& keep_on,
                                bool& interrupted);
  std::optional<Nearest> MilestoneOf(size_t thread, Direction direction, const StopMarks& marks);
  void NoteMilestone(size_t thread, Direction direction, const StopMarks& marks, uint64_t from,
                     MachineStop& stop);
  const std::vector<Milestone>& Milestones(size_t thread, const StopMarks& marks);
  MachineMoment Placed(size_t thread, Direction direction, const ThreadWalk& walk) const;
  bool IsEnd(size_t thread, const ThreadWalk& walk) const;
  const MachineMoment& From(size_t thread, Direction direction) const;
  // Where the thread's walk stands, as a moment that is not before the one at hand, or, going back,
  // not behind it.
  MachineMoment Towards(size_t thread, Direction direction);
  bool IsOver(const MachineThreads::At& at, size_t thread, Direction direction) const;
  MachineStop RunToEndOf(size_t thread, Direction direction);
  MachineStop Arrive(size_t thread, Direction direction, MachineStop stop, const StopMarks& marks,
                     const KeepOn& keep_on, Others others);

  MachineThreads threads_;
  std::map<size_t, std::vector<Milestone>> milestones_;  // of threads that were asked about
  MachineMoment moment_;
  // Where the other threads stood before the steps of one: a debugger takes the marks away while it
  // steps over one, and puts them back. What the others came to meanwhile is found from there.
  std::optional<MachineMoment> others_from_;
};

}  // namespace flowback
