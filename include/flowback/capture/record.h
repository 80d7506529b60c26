// SPDX-License-Identifier: MIT
// Recording a program's execution.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/base/flow_digest.h"
#include "flowback/capture/record_options.h"
#include "flowback/model/counters.h"
#include "flowback/model/recording.h"

namespace flowback {

// How far a recording is.
struct RecordProgress {
  std::chrono::nanoseconds elapsed{0};
  uint64_t instructions = 0;
  uint64_t trace_bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t threads = 0;      // so far, those that ended included
  uint64_t losses = 0;       // places where the flow is not known
  bool interrupted = false;  // Ctrl-C was left to the program, which still runs
  bool complete = false;     // the recording is, and the program still runs
  // Processes that the program started and that run though it has ended: they are recorded until
  // they end.
  uint64_t left_running = 0;
  // Why the output can't be written any more; empty: it can. Tracing has stopped then, and the
  // program runs on.
  std::string failure;
};

// What one thread executed. The digest is taken from the stepped addresses, not from the packets,
// so that it checks them.
struct RecordedThread {
  int32_t pid = -1;
  int32_t tid = -1;
  uint64_t bytes = 0;  // of its trace stream
  FlowDigest digest;
};

// What ended a recording.
enum class StopReason : uint8_t {
  kProgramEnded,
  kMaxInstructions,
  kDuration,
  kFileSize,
  kSignal,        // to the recorder
  kOutputFailed,  // it could not be written any more
  kControl,       // RecordDirection::control said so
};

// What a program asked the emulator for and the emulator does otherwise than the kernel: the
// program ran on, maybe another way than natively.
struct UnlikeNative {
  std::string call;  // "seccomp"
  int32_t pid = -1;  // of the first process that asked, and its name then
  std::string comm;
  uint64_t times = 0;      // in all processes
  std::string difference;  // "the filter is refused: ..."
  std::string remedy;
};

// What stands beside the recording.
struct KeptImagesSummary {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t shared_bytes = 0;          // of these, those that earlier recordings had brought
  std::string why_none;               // why nothing is kept, though it was wanted; else empty
  std::vector<std::string> problems;  // what is not, and why; a sentence each
};

// Of a recording by the kernel's events.
struct EventCounts {
  uint64_t records = 0;
  uint64_t samples = 0;       // of these
  uint64_t lost_records = 0;  // the buffers were full
  uint64_t lost_samples = 0;
  uint64_t trace_gaps = 0;  // AUX records that say that trace is missing
};

// Calls of RecordDirection::slow_function.
struct SlowCallCounts {
  uint64_t calls = 0;   // that began and ended while it was recorded
  uint64_t slow = 0;    // of these
  uint64_t cut = 0;     // of the slow ones, those whose beginning was not in the buffer any more
  uint64_t halves = 0;  // ends of calls that began before, or whose beginning was lost
};

struct RecordSummary {
  int command_status = 0;  // as waitpid gives it; 0 without a command
  StopReason stop_reason = StopReason::kProgramEnded;
  uint64_t instructions = 0;
  uint64_t bytes = 0;  // trace bytes of all threads
  // Of these, those that are in no snapshot: later trace took their place, as was asked for.
  uint64_t overwritten_bytes = 0;
  uint64_t file_bytes = 0;  // of the perf.data file; 0 without one
  uint64_t losses = 0;      // places where the flow is not known
  // Where the functions RecordOptions::watched names are: "f in /lib/libx.so at 0x1139" (of the
  // file).
  std::vector<std::string> from_places;
  std::vector<std::string> until_places;
  // Engine "emulate": in the order of the first of each kind.
  std::vector<UnlikeNative> unlike_native;
  // Why the output is not whole: it could not be written any more. What was written before can be
  // read: the first `written_bytes` of `bytes`. Instructions are counted until tracing stopped.
  std::optional<Error> failure;
  uint64_t written_bytes = 0;
  // Threads, and programs that a thread became, that no stream tells of.
  uint64_t unrecorded = 0;
  uint64_t threads_left_out = 0;         // more ran at once than can be recorded
  std::vector<ProcessEnd> process_ends;  // those that are known, in order of time
  std::vector<NamedRegion> regions;      // that the program named
  std::vector<RecordedThread> threads;   // in order of their start: stream 0, 1, ...
  std::chrono::nanoseconds elapsed{0};   // to the program's end
  // What this process and its children used meanwhile: recorder and recorded program.
  std::chrono::nanoseconds cpu_time{0};
  std::optional<KeptImagesSummary> images;   // empty: none were to be kept
  std::optional<EventCounts> events;         // of recorders with RecorderInfo::hardware
  CountedEvents counters;                    // in all; RecordEvents::counters
  std::optional<SlowCallCounts> slow_calls;  // empty: no function was named
  uint64_t files = 1;                        // of RecordRotation, the last among them
  // What the user should know: "the program forked: children are not traced".
  std::vector<std::string> notes;
};

// Runs the command, and the processes that it starts, to their ends and writes the recording, in a
// thread of its own. An older recording of the output's name is kept as NAME.old, as perf does.
//
// Signals: SIGINT from the terminal (Ctrl-C) is the program's, and the recording is complete when
// that ends of it. A second one, and SIGINT, SIGTERM or SIGHUP sent to this process, end the
// recording; once its file is complete, the program is sent SIGTERM (SIGHUP after SIGHUP), and
// SIGKILL at the next such signal. Once the command has ended, any of them ends the recording at
// once, and the processes that it left run on unrecorded. SIGQUIT, SIGPIPE and SIGXFSZ are ignored.
// Afterwards all are as before. Not to be called from two threads at once.
//
// Engine "step" single-steps the program with ptrace (20,000 to 35,000 instructions a second) and
// writes the packets that user-only Intel PT hardware would write. Threads, child processes and the
// programs they become are recorded, one stream each, until all have ended. A program that blocks
// SIGTRAP loses its handler for it. Page faults and interrupts leave no packets, transactions (RTM)
// abort at once, and the pushed or saved flags never show the trap flag. Address spaces follow
// execve. Threads that are not recorded (`watched`) run at full speed, stopped at system
// calls and signals only, if the processor's debug registers work and `from` names no more than
// four places in a process; else they are stepped as well, and a note says so.
//
// It can also be attached to programs that run: tracing begins where each thread stands, or when it
// comes back from the kernel, and in the end they go on as before. A system call that waits is
// interrupted and restarted; those few that the kernel does not restart, epoll_wait among them, end
// with EINTR, as under any debugger. A recorder that is killed takes such a program with it. One
// that is a child of the calling process is waited for by Record when it ends.
//
// Engine "emulate" runs the program in QEMU's user mode emulator with a plugin that writes those
// packets: several times slower than native. Threads, child processes and the programs they become
// are recorded, one stream each. What the engine can't know is a loss in the trace.
//
// When the output can't be written any more (no space is left, say), tracing stops, the programs
// run on, unless they are to be killed, and the summary tells the `failure`.
//
// Errors: kUsage (options), kBusy (another program traces the one to attach to), kCommandMissing
// and kCommandRefused (the command can't be run), kPermission (ptrace is not allowed, the output
// can't be written), kUnsupported (unknown engine or not x86-64), kNoHardware (no emulator is
// installed), kSystem. After an error no process is left behind.
Result<RecordSummary> Record(const RecordOptions& options);

// A way to record, as recorders.def has it.
struct RecorderInfo {
  std::string_view name;   // of `record --engine`
  std::string_view needs;  // what it takes: "an emulator"
  bool hardware = false;   // the kernel's events, of hardware mostly; nothing is emulated
  // What it can do.
  bool attaches = false;             // RecordTarget::pids and tids
  bool per_cpu = false;              // RecordStreams::per_cpu
  bool counts_instructions = false;  // RecordLimits::instructions
  bool processes_apart = false;      // RecordProcesses
  bool branch_stacks = false;        // RecordStreams::branch_depth
};

// All there are, in the order in which the help names them.
std::span<const RecorderInfo> Recorders();
// Null: there is none of that name.
const RecorderInfo* FindRecorder(std::string_view name);

}  // namespace flowback
