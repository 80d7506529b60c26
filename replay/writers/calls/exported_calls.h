// SPDX-License-Identifier: MIT
// The calls of a flow, for formats with each call.
//
//   class Lines : public CallsTeller { void OnEnter(const ExportedEntry& entry) override ... };
//   Lines lines;
//   ExportedCalls calls(input, lines);
//   if (Status status = calls.Tell(); !status) return status;
//
// A system call is a call of the function that executed it, without instructions of its own. Calls
// lie within each other, and times never go back: a thread that goes from one stack to
// another leaves the calls of the one and enters those of the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "flowback/replay/call_stack.h"
#include "replay/calls/exec_times.h"
#include "replay/timeline/function_table.h"
#include "replay/writers/export/export_input.h"

namespace flowback {

struct ExportedThread {
  size_t number = 0;  // in the order of the threads
  int32_t pid = -1;
  int32_t tid = -1;     // -1: of one stream, in which it is not known who ran
  std::string name;     // its last one, as recorded; "" where it is not known
  std::string process;  // the same for its process
};

// A function as all formats show it.
struct ExportedFunction {
  std::string name;    // printable.h; cut behind kMostName bytes
  std::string object;  // the file of code, also as text; "" if unknown
  uint64_t entry_ip = 0;
  const AddressSpace* space = nullptr;
  bool is_system_call = false;
};

// Perfetto, Excel and others take less than 32 KiB.
inline constexpr size_t kMostName = 32000;
// Returns the text as a terminal may show it, in UTF-8. Text longer than kMostName is cut, and ends
// in its length and `number`, so that two names that begin alike stay two.
std::string ExportedName(std::string_view text, uint32_t number);

struct ExportedEntry {
  uint32_t function = 0;
  uint64_t time = 0;
  bool again = false;                   // the thread comes back to the stack that the call is on
  uint64_t site = 0;                    // of the call; 0: not seen
  const AddressSpace* space = nullptr;  // in which it lies
  uint64_t call = 0;  // the number of the call among the thread's; the same if it is entered again
  uint64_t position = 0;  // the thread's instructions before it
};

struct ExportedExit {
  uint32_t function = 0;
  uint64_t time = 0;
  bool goes_on = false;  // the thread leaves the stack, and the call stays there: no more is known
  uint64_t begin = 0;    // when the call was entered first
  uint64_t instructions = 0;  // since then on its stack, of what it called, too
  uint64_t self = 0;          // its own
  uint64_t position = 0;      // the thread's instructions before the exit
};

// Receives one thread after the other. Functions are numbers in ExportedCalls::functions. Times are
// nanoseconds of the recording's clock, or its ticks if their length is unknown.
class CallsTeller {
 public:
  virtual ~CallsTeller() = default;
  virtual void OnThread(const ExportedThread& thread) = 0;
  virtual void OnEnter(const ExportedEntry& entry) = 0;
  // The innermost call is left.
  virtual void OnExit(const ExportedExit& exit) = 0;
  // The trace has no record of what came next.
  virtual void OnLoss(std::string_view /*cause*/, uint64_t /*time*/) {}
  // The thread had no flow from then on, until `end`. Absences do not overlap each other, but they
  // overlap calls.
  virtual void OnAbsence(const Absence& /*absence*/) {}
  virtual void OnThreadEnd(uint64_t /*time*/) {}
  // Nothing more is wanted.
  virtual bool Done() const { return false; }
};

class ExportedCalls final : public PlayConsumer, private CallListener {
 public:
  // Both must outlive it.
  ExportedCalls(const CallsExport& input, CallsTeller& teller);

  // Plays the part, or all selected threads, and adds losses to the session's. Errors: as
  // Player::Play's; kUnsupported for samples, because the calls between them are not known.
  Status Tell();
  // All functions so far; a later one may move them.
  const std::vector<ExportedFunction>& functions() const { return shown_; }
  // The first moment of the recording; 0: it has no times. Valid once a thread has come.
  uint64_t begin() const { return begin_; }

  void OnThreadBegin(const ThreadFlow& thread, size_t number) override;
  void OnThreadEnd(const ThreadFlow& thread, size_t number) override;
  void OnBlock(const BlockRun& run) override;
  void OnBlocks(const BlockBatch& batch) override;
  void OnEvent(const TraceEvent& event) override;
  void OnLoss(const DataLoss& loss) override;
  void OnAbsence(const Absence& absence) override;
  bool Done() const override { return teller_.Done(); }

 private:
  // A call that is open, on any stack.
  struct Open {
    uint32_t function = 0;
    uint64_t begin = 0;
    uint64_t site = 0;
    const AddressSpace* space = nullptr;
    uint64_t call = 0;
  };

  void Show();
  void OnEnter(const Call& call, size_t depth) override;
  void OnExit(const Call& call, size_t depth, CallExit how, uint64_t instructions,
              const ExitTime& time) override;
  bool WantsCallNumbers() const override { return true; }
  void OnGap(const UntracedGap& gap, size_t) override;
  void OnSwitch(uint32_t stack) override;

  void Know(uint64_t tsc);

  Session& session_;
  const ThreadPart part_;
  std::vector<ExportedFunction> shown_;  // those of functions_
  const CallsPart calls_part_;
  const std::unique_ptr<CallsTeller> cut_;  // null: all is told
  CallsTeller& teller_;
  FunctionTable functions_;
  size_t threads_ = 0;  // that have begun
  RecordingClock clock_;
  uint64_t begin_ = 0;  // of the recording
  // State of the current thread.
  std::optional<ExecTimes> execs_;
  std::optional<CallStack> stack_;
  uint64_t time_ = 0;
  uint64_t told_ = 0;          // the time of what was told last
  uint64_t instructions_ = 0;  // as far as it was told
  uint64_t calls_ = 0;         // number that have begun
  uint64_t absent_until_ = 0;  // as far as absences were told
  std::vector<Open> open_;     // of the stack that it is on, the outermost first
  uint32_t on_ = 0;            // that stack
  std::unordered_map<uint32_t, std::vector<Open>> waiting_;  // of the others
};

}  // namespace flowback
