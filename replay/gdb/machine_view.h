// SPDX-License-Identifier: MIT
// Texts about a replayed machine for servers: names of threads, functions, times.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/session.h"
#include "replay/debug/machine/machine.h"
#include "replay/debug/machine/never_ran.h"
#include "replay/debug/source/replayed_stacks.h"
#include "replay/debug/values/value_sources.h"
#include "replay/session/ended_thread.h"

namespace flowback::gdb {

// A thread as gdb numbers it.
struct ThreadNumber {
  int64_t pid = 0;
  int64_t tid = 0;
};

// What the server is given. All of it must outlive the server.
struct ServerInput {
  Session& session;
  ReplayedMachine& machine;
  ReplayedStacks& stacks;
  ImageMemory& images;
  const EndCore* core;  // of the process; null: none
  // Moves the machine to the moment that the user typed; begin, end and #N are the thread's.
  std::function<Status(const std::string& word, size_t thread)> go_to;
  // Asked during long runs; false ends them.
  KeepOn keep_on;
};

// Used by one thread.
class MachineView {
 public:
  explicit MachineView(const ServerInput& input)
      : input_(input),
        past_(input.core == nullptr ? nullptr
                                    : std::make_unique<PastValues>(input.session, input.machine,
                                                                   input.images, *input.core)),
        values_({input.images, input.core, past_.get()}),
        exits_(input.session.recording()) {}

  ReplayedMachine& machine() const { return input_.machine; }
  Session& session() const { return input_.session; }
  // Whether the recording has samples, between which it is unknown what ran.
  bool IsSampled() const { return session().source().samples(); }
  // Whether instructions that are not in the flow may have executed.
  bool MayHideMore() const { return IsSampled() || HasLosses(machine()); }
  ImageMemory& images() const { return input_.images; }
  ValueSources& values() { return values_; }
  PastValues* past() { return past_.get(); }  // null: there is no dump
  const ServerInput& input() const { return input_; }

  // A thread without a number is numbered by its place among the others.
  ThreadNumber NumberOf(size_t thread) const;
  // Returns the machine's thread with these numbers. Empty: it has no such thread.
  std::optional<size_t> ThreadOf(int64_t pid, int64_t tid) const;

  // The number of the signal that killed the thread. Empty: none did, by the recording.
  std::optional<int> KilledBy(size_t thread) const;
  // The first such thread.
  std::optional<size_t> KilledThread() const;
  // KilledBy if the thread stands where it died, by its flow.
  std::optional<int> DiesHereOf(size_t thread, const MachineThread& at) const;

  // Whether the recording says that the thread exited before the moment: one whose flow has ended
  // may wait in the kernel.
  bool HasExited(int32_t tid) const;

  std::string NameOf(size_t thread, const MachineThread& at) const;
  // "main+0x12"; the address where no function is known.
  std::string PlaceText(const MachineThread& at) const;
  std::string TimeText(const MachineThread& at) const;
  // "thread 12 (sort) at instruction #5 of 100, time 1.5 s, in main+0x12".
  std::string WhenText(size_t thread) const;
  // "interrupted at 0x401000, on at 0x7f..., value 0x1".
  std::string EventText(const TraceEvent& event) const;
  // "the trace has no record from here to there: ..."
  std::string LossText(const DataLoss& loss) const;
  // The files of the current thread's process. Files that the program loads later are among them,
  // so that breakpoints in them can be set at any moment.
  std::vector<LoadedImage> Images() const;
  // The recorded file of the program that the threads execute; empty: not known.
  std::string ProgramFile() const;

 private:
  const ServerInput& input_;
  std::unique_ptr<PastValues> past_;
  ValueSources values_;
  const ThreadExits exits_;
};

}  // namespace flowback::gdb
