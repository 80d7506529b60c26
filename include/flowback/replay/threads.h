// SPDX-License-Identifier: MIT
// Whose flow is whose, and what to call it: threads with their names and the pieces of streams that
// are theirs.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/model/recording.h"
#include "flowback/replay/thread_flow.h"

namespace flowback {

// What is shown together: a thread with its pieces of streams, or a stream. A whole stream is one
// piece, without a stay. `tid` -1: not known, or several threads.
struct StreamOwner : ThreadFlow {
  const Stream* stream = nullptr;  // the (first) one
  // A per-CPU buffer of which it is not known who ran.
  bool shared = false;
  std::string label{};  // "4661", "cpu1", or the number of a stream, "0"
};

// Their flows, to be played. As long as the owners live.
std::vector<const ThreadFlow*> FlowsOf(const std::vector<StreamOwner>& owners);

// A thread's name, and from when to when it has it (half-open).
struct CommSpan {
  std::string_view comm;  // "" when not known
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Holds(uint64_t time) const { return time >= begin && time < end; }
};

// Which of them are wanted; an empty list: all.
struct ThreadSelection {
  std::vector<int32_t> tids;
  std::vector<std::string> names;  // that a thread had at any time
  std::vector<int32_t> cpus;       // on which its pieces ran

  bool IsAll() const { return tids.empty() && names.empty() && cpus.empty(); }
};

// What threads can be selected by.
struct ThreadChoices {
  std::set<int32_t> tids;
  std::set<std::string> names;  // one of each thread
  std::set<int32_t> cpus;
};

// Of one recording, which must outlive it. Any thread may use it once it is set up.
class Threads {
 public:
  explicit Threads(const Recording& recording);

  // In printing order: by tid, then streams without one by number.
  const std::vector<StreamOwner>& owners() const { return owners_; }
  // One owner for each thread, and one for each stream's trace that can't be given to any.
  void GroupByThread(const Recording& recording, const StreamInputs& inputs);
  // Changes the labels to "cpuN"; N is the stream's number where it is not bound to a CPU.
  void LabelByCpu();
  // Whether a thread of that number is selected, on whichever CPU.
  bool Wants(int32_t tid, const ThreadSelection& selection) const;
  // Returns what the owners that are there can be selected by.
  ThreadChoices Choices() const;
  // Returns the parts of a selection that no owner matches.
  ThreadSelection Unmatched(const ThreadSelection& selection) const;
  // Keeps what is selected. False: nothing is left of what was there.
  bool Select(const ThreadSelection& selection);

  // The thread's name at `time` (perf nanoseconds; 0: unknown, its last name).
  CommSpan CommAt(int32_t tid, uint64_t time) const;
  // The threads that the recording says were traced: pid by tid.
  const std::map<int32_t, int32_t>& traced() const { return traced_; }

 private:
  struct CommChange {
    int32_t tid;
    uint64_t time;
    std::string comm;
  };

  void CollectComms(const Recording& recording);
  StreamOwner OwnerOf(const Stream& stream, bool raw) const;

  std::vector<StreamOwner> owners_;
  std::map<int32_t, int32_t> traced_;
  std::vector<CommChange> comms_;  // by tid, then time
};

}  // namespace flowback
