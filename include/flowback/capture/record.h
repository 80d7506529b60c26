// SPDX-License-Identifier: MIT
// Recording a program's execution.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/counters.h"
#include "flowback/model/recording.h"

namespace flowback {

struct RecordProgress;

// The clock of an emulated recording's times.
enum class RecordClock : uint8_t {
  kHost,  // real time: the program runs slower than natively, sleeps and waits keep their length
  // One nanosecond for each instruction that any thread executes and for each record of the
  // sideband, from 1 s on; sleeps take none. A program of one thread that does the same again gets
  // the same trace and times, for then addresses and the random numbers at its start are the same
  // every time, too.
  kInstructions,
};

struct RecordTarget {
  std::vector<std::string> command;  // the program, looked up in PATH, and its arguments
  // Instead of a command: processes (all their threads) and threads that run already, which are
  // recorded until they end or the recording is stopped. Only recorders that attach support it.
  std::vector<int32_t> pids;
  std::vector<int32_t> tids;

  bool runs_already() const { return !pids.empty() || !tids.empty(); }
};

// The files to write.
struct RecordFiles {
  std::string output = "perf.data";  // the perf.data file to write; empty: none
  // An open descriptor, maybe of a pipe, to which perf.data is written in pipe mode. `output` is
  // then only its name. Record closes it as soon as the recording is complete. -1: none.
  int pipe = -1;
  std::string raw_directory;  // also writes raw streams and code images here; empty: none
  std::string command_line;   // of the recorder, for the file's header: "flowback record -- ls"
  // Keep the files that ran, and the names that a process gives to code it makes, in
  // `output`.images (not where the output is a pipe). Recordings share copies in `image_store`, a
  // folder of the user's alone, made when missing; empty: each has its own. `image_store_bytes`
  // limits the size of the store's copies that no recording uses any more.
  bool keep_images = true;
  std::string image_store;
  uint64_t image_store_bytes = uint64_t{256} << 20;
  // End the program with the recording: kill it when the output can't be written any more, and send
  // it SIGTERM, five seconds later SIGKILL, when a limit ends the recording. Else it runs on
  // untraced.
  bool kill_on_failure = false;
};

// Which packets of Intel PT are written, and how often.
struct RecordPackets {
  uint32_t psb_period_bytes = 4096;  // distance of sync points: 2 KiB << 0..15, as the hardware has
  bool return_compression = true;    // false: every return has its target in full (noretcomp)
  bool long_tnt = false;             // 47 branches a TNT packet instead of 6, as Atom cores write
  // TSC packets. Without them the times of new mappings are unknown: execve, dlopen at a reused
  // address.
  bool timestamps = true;
  // An MTC packet every 2^n ticks of a ~25 MHz crystal; empty: no MTC packets. Requires
  // `timestamps`.
  std::optional<uint8_t> mtc_shift = 14;
  // CYC packets, at least 2^(n-1) cycles apart (0: all of them; at most 12), which time each packet
  // to the tick. Empty: no CYC packets. A cycle is a tick of the time-stamp counter.
  std::optional<uint8_t> cyc_threshold;
};

// How the trace is cut into streams, and what their times are.
struct RecordStreams {
  // Engine "emulate": one stream for each virtual CPU, which threads take turns on, with SWITCH
  // records; else one for each thread. There are as many as CPUs may be used, and more where a
  // thread does not let others on. Wants timestamps.
  bool per_cpu = false;
  // Keep only this number of the latest bytes of each stream. They are taken when the thread
  // ends, and whenever the process gets SIGUSR2, which must be blocked in its other threads.
  std::optional<uint64_t> snapshot_bytes;
  RecordClock clock = RecordClock::kHost;
  // Engine "emulate": instead of packets of Intel PT, samples with branch stacks of this depth
  // at most, 1 to 1024, one behind the other: together they have every branch that was taken.
  // Streams of threads, whole.
  std::optional<uint32_t> branch_depth;
};

// Stop tracing at this number of instructions (all threads), at this time, or at this number of
// bytes (what was on its way then is still written); the program then runs on untraced to its end.
struct RecordLimits {
  std::optional<uint64_t> instructions;
  std::optional<std::chrono::nanoseconds> duration;
  std::optional<uint64_t> file_bytes;
};

// Record only from the first instruction of one function to the first of another, which is not
// recorded any more; by thread, a new one begins as its maker is. "NAME", "NAME@FILE" or
// "FILE:NAME", in the program or any library it loads, at any time; every function of that name
// counts. Empty: from the start, to the end.
struct WatchedNames {
  std::string from;
  std::string until;
};

// Also makes a recording of each process, in a folder of its own in `folder`, which must be an
// empty folder. If `folder` is "", no such recordings are made. A thread of Record calls `on_end`
// as soon as a process has ended, with the path of its recording (in a format that OpenRecording
// reads); the callee owns it from then on. Until it returns, no trace is taken from the programs,
// which soon wait. An error that it returns ends the recording.
struct RecordProcesses {
  std::string folder;
  std::function<Status(const std::string& recording)> on_end;
};

// Filters an event: an expression for a tracepoint, perf's address filter for a hardware trace. It
// belongs to the last event of the first `words` entries of RecordEvents::words; 0: to the last
// event of all.
struct EventFilter {
  std::string text;
  size_t words = 0;
  bool excludes_recorder = false;  // instead of a text: what the recorder itself does
};

// Fields of samples about the memory access of their instruction, if the event has them.
struct RecordAccesses {
  bool data = false;       // the address, and where its data was found (perf's -d)
  bool weight = false;     // how long it took (-W)
  bool physical = false;   // the address in the machine (--phys-data)
  bool page_size = false;  // of the address (--data-page-size)
};

// Events of the kernel to record, for recorders with RecorderInfo::hardware.
struct RecordEvents {
  std::vector<std::string> words;  // as perf's -e takes them; none: what the engine's name says
  std::string branch_filter;       // perf's -j: "any,u"; empty: the engine's usual one, or none
  bool all_cpus = false;           // all threads, until the command or the recorder ends
  std::string cpus;                // "0-3,8": on those only; empty: on all
  bool per_thread = false;         // a buffer for each thread that is there now, none for each CPU
  std::vector<EventFilter> filters;
  // Control groups, with commas between them: the first is the first event word's and so on, one
  // alone is of all. Wants all_cpus.
  std::string cgroups;
  std::string call_graph;  // perf's "fp", "dwarf[,BYTES]" or "lbr"; empty: no stacks
  RecordAccesses accesses;
  // Each sample has this number of the latest bytes of its group's trace; empty: none.
  std::optional<uint64_t> aux_sample_bytes;
  // Samples a second, of events that name no period; empty: 4000, or as many as the kernel allows.
  std::optional<uint64_t> frequency;
  // Instead of it: the number of events from one sample to the next.
  std::optional<uint64_t> period;
  bool build_ids = true;  // in the records of mappings
  bool switches = false;  // records of thread switches; traces have them anyway
  // Also copies the kernel's code: RecordFiles::output is a folder with the records in the file
  // `data` and the kernel's files in the folder kcore_dir.
  bool kernel_code = false;
  // Count events of each thread as well: what every kernel counts, and what the processors do. Read
  // at the end, and so often before it.
  bool counters = false;
  std::optional<std::chrono::nanoseconds> counter_interval;
  // Size of each buffer; empty: the usual size, or as much as locked memory allows.
  std::optional<uint64_t> record_buffer_bytes;
  std::optional<uint64_t> trace_buffer_bytes;
};

// How a recording by the kernel's events is directed while it runs.
struct RecordDirection {
  // perf's "fifo:CTL[,ACK]" or "fd:CTL[,ACK]": where lines with commands come from (enable,
  // disable, snapshot, evlist, ping, stop), and where each is answered; empty: nowhere.
  std::string control;
  // The events begin so long after the program; negative: once `control` says so.
  std::optional<std::chrono::milliseconds> delay;
  // Keep the latest trace (`RecordStreams::snapshot_bytes`) only if the command is killed by a
  // signal.
  bool on_crash = false;
  // Keep only the trace around each call of this function (named as in WatchedNames) that takes
  // longer than `slow`, from the preceding to the following sync point. Empty: keep all.
  std::string slow_function;
  std::chrono::nanoseconds slow{0};
};

// Several files one after the other, instead of one that grows: by events of the kernel. Full ones
// are `output` with the local time behind it, the last is `output`.
struct RecordRotation {
  std::optional<uint64_t> bytes;                 // of each
  std::optional<std::chrono::nanoseconds> time;  // of each
  bool on_signal = false;                        // at each SIGUSR2, which is to be blocked
  uint64_t most_files = 0;                       // older ones are removed; 0: none

  bool wanted() const { return bytes || time || on_signal; }
};

struct EmulateOptions {
  bool exact = false;  // one instruction a block: slower; for judging the engine
  bool locks = false;  // the addresses of the data of atomic operations and futex calls, too
  // The folder that AArch64 programs find their libraries in, as a root folder; empty: the folder
  // of Debian's cross compilers, if it exists.
  std::string root{};
  // The plugin; empty: lib/flowback/flowback-tcg.so beside this program's folder.
  std::string plugin;
};

struct StepOptions {
  // Keeps recorder and program on one CPU while tracing. Several times faster; the program sees one
  // usable CPU.
  bool one_cpu = true;
};

struct RecordOptions {
  std::string engine = "step";  // a name from Recorders()
  RecordTarget target;
  RecordFiles files;
  RecordPackets packets;
  RecordStreams streams;
  RecordLimits limits;
  WatchedNames watched;
  RecordProcesses processes;  // engine "emulate"
  RecordEvents events;
  RecordDirection direction;
  RecordRotation rotation;
  EmulateOptions emulate;
  StepOptions step;
  // Called a few times a second, by the thread that called Record. May be empty.
  std::function<void(const RecordProgress&)> on_progress;
};

// The reason why a recording ended.
enum class StopReason : uint8_t {
  kProgramEnded,
  kMaxInstructions,
  kDuration,
  kFileSize,
  kSignal,        // to the recorder
  kOutputFailed,  // it could not be written any more
  kControl,       // RecordDirection::control said so
};

// One of RecordLimits.
constexpr bool IsLimit(StopReason reason) {
  return reason == StopReason::kDuration || reason == StopReason::kFileSize ||
         reason == StopReason::kMaxInstructions;
}

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
  StopReason stop_reason = StopReason::kProgramEnded;  // why it ended, if it has
  // Processes that the program started and that run though it has ended: they are recorded until
  // they end.
  uint64_t left_running = 0;
  // Why the output can't be written any more; empty: it can. Tracing has stopped then, and the
  // program runs on.
  std::string failure;
};

// The flow of one thread. The digest is taken from the stepped addresses, not from the packets, so
// that it checks them.
struct RecordedThread {
  int32_t pid = -1;
  int32_t tid = -1;
  uint64_t bytes = 0;  // of its trace stream
  FlowDigest digest;
};

// A request of a program that the emulator answers otherwise than the kernel. The program ran on,
// maybe another way than natively.
struct UnlikeNative {
  std::string call;  // "seccomp"
  int32_t pid = -1;  // of the first process that asked, and its name then
  std::string comm;
  uint64_t times = 0;      // in all processes
  std::string difference;  // "the filter is refused: ..."
  std::string remedy;
};

// The images kept beside the recording.
struct KeptImagesSummary {
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t shared_bytes = 0;          // of these, those that earlier recordings had brought
  std::string why_none;               // why nothing is kept, though it was wanted; else empty
  std::vector<std::string> problems;  // images not kept, and why; a sentence each
};

// Counts of a recording by the kernel's events.
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
  // The part of these that is in no snapshot: later trace took their place, as was asked for.
  uint64_t overwritten_bytes = 0;
  uint64_t file_bytes = 0;  // of the perf.data file; 0 without one
  uint64_t losses = 0;      // places where the flow is not known
  // Where the functions RecordOptions::watched names are: "f in /lib/libx.so at 0x1139" (of the
  // file).
  std::vector<std::string> from_places;
  std::vector<std::string> until_places;
  // Engine "emulate": in the order of the first of each kind.
  std::vector<UnlikeNative> unlike_native;
  // Why the output is incomplete: it could not be written any more. The part written before that
  // can be read: the first `written_bytes` of `bytes`. Instructions are counted until tracing
  // stopped.
  std::optional<Error> failure;
  uint64_t written_bytes = 0;
  // Threads, and programs that a thread became, that no stream contains.
  uint64_t unrecorded = 0;
  uint64_t threads_left_out = 0;         // more ran at once than can be recorded
  std::vector<ProcessEnd> process_ends;  // those that are known, in order of time
  std::vector<NamedRegion> regions;      // that the program named
  std::vector<RecordedThread> threads;   // in order of their start: stream 0, 1, ...
  std::chrono::nanoseconds elapsed{0};   // to the program's end
  // The CPU time that recorder and recorded program used: this process and its children.
  std::chrono::nanoseconds cpu_time{0};
  std::optional<KeptImagesSummary> images;   // empty: none were to be kept
  std::optional<EventCounts> events;         // of recorders with RecorderInfo::hardware
  CountedEvents counters;                    // in all; RecordEvents::counters
  std::optional<SlowCallCounts> slow_calls;  // empty: no function was named
  uint64_t files = 1;                        // of RecordRotation, the last among them
  // Sentences for the user: "the program forked: children are not traced".
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
// are recorded, one stream each. Flow that the engine cannot know is a loss in the trace.
//
// When the output can't be written any more (no space is left, say), tracing stops, the programs
// run on, unless they are to be killed, and the summary has the `failure`.
//
// Errors: kUsage (options), kBusy (another program traces the one to attach to), kCommandMissing
// and kCommandRefused (the command can't be run), kPermission (ptrace is not allowed, the output
// can't be written), kUnsupported (unknown engine or not x86-64), kNoHardware (no emulator is
// installed), kSystem. After an error no process is left behind.
Result<RecordSummary> Record(const RecordOptions& options);

// A way to record, as recorders.def has it.
struct RecorderInfo {
  std::string_view name;   // of `record --engine`
  std::string_view needs;  // what it requires: "an emulator"
  bool hardware = false;   // the kernel's events, of hardware mostly; nothing is emulated
  // Abilities of a recorder.
  bool attaches = false;             // RecordTarget::pids and tids
  bool per_cpu = false;              // RecordStreams::per_cpu
  bool counts_instructions = false;  // RecordLimits::instructions
  bool processes_apart = false;      // RecordProcesses
  bool branch_stacks = false;        // RecordStreams::branch_depth
};

// All there are, in the order in which the help names them.
std::span<const RecorderInfo> Recorders();
// Null if none has that name.
const RecorderInfo* FindRecorder(std::string_view name);

}  // namespace flowback
