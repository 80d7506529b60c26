// SPDX-License-Identifier: MIT
// Recording a program's execution by software: no tracing hardware is needed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/base/flow_digest.h"
#include "flowback/model/recording.h"

namespace flowback {

// What an emulated recording's times are.
enum class RecordClock : uint8_t {
  kHost,  // real time: the program runs slower than natively, sleeps and waits keep their length
  // One nanosecond for each instruction that any thread executes and for each record of the
  // sideband, from 1 s on; sleeps take none. A program of one thread that does the same again gets
  // the same trace and times, for then addresses and the random numbers at its start are the same
  // every time, too.
  kInstructions,
};

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

struct RecordOptions {
  std::string engine = "step";       // a name from RecordEngineNames()
  std::vector<std::string> command;  // the program, looked up in PATH, and its arguments
  // Instead of a command: processes (all their threads) and threads that run already, which are
  // recorded until they end or the recording is stopped. Engine "step" only.
  std::vector<int32_t> pids;
  std::vector<int32_t> tids;
  std::string output = "perf.data";  // the perf.data file to write; empty: none
  // An open descriptor, of a pipe maybe, to which perf.data is written in pipe mode, and `output`
  // is but its name. Record closes it as soon as the recording is complete. -1: none.
  int output_pipe = -1;
  // Engine "emulate": a recording of each process, too, in a folder of its own in this one, which
  // must be empty. `on_process` is called
  // as soon as one has ended, by a thread of Record's, with the path of its recording (of a format
  // that OpenRecording takes), which is the callee's from then on. While it does not return nothing
  // is taken from the programs, which before long wait. Its error ends the recording. Empty: none.
  std::string process_folder;
  std::function<Status(const std::string& recording)> on_process;
  std::string raw_directory;          // also writes raw streams and code images here; empty: none
  std::string recorder_command_line;  // for the file's header, e.g. "flowback record -- ls"
  uint32_t psb_period_bytes = 4096;  // distance of sync points: 2 KiB << 0..15, as the hardware has
  bool return_compression = true;    // false: every return is told in full (noretcomp)
  bool long_tnt = false;             // 47 branches a TNT packet instead of 6, as Atom cores write
  // TSC packets. Without them nothing tells when mappings change: execve, dlopen at a reused
  // address.
  bool timestamps = true;
  // An MTC packet every 2^n ticks of a ~25 MHz crystal; empty: none. Wants `timestamps`.
  std::optional<uint8_t> mtc_shift = 14;
  // CYC packets, which time each packet to the tick, at least 2^(n-1) cycles apart, 0: all, to 12;
  // empty: none. A cycle is a tick of the time-stamp counter.
  std::optional<uint8_t> cyc_threshold;
  // Engine "emulate": one stream for each virtual CPU, which threads take turns on, with SWITCH
  // records; else one for each thread. There are as many as CPUs may be used, and more where a
  // thread does not let others on. Wants `timestamps`.
  bool per_cpu = false;
  // Keep only so many of the latest bytes of each stream. They are taken when the thread
  // ends, and whenever the process gets SIGUSR2, which must be blocked in its other threads.
  std::optional<uint64_t> snapshot_bytes;
  RecordClock clock = RecordClock::kHost;
  // Keep the files that ran, and the names that a process gives to code it makes, in
  // `output`.images (not where the output is a pipe). Recordings share copies in `image_store`, a
  // folder of the user's alone, made when missing; empty: each has its own. There, copies that no
  // recording has any more take so many bytes at most.
  bool keep_images = true;
  std::string image_store;
  uint64_t image_store_bytes = uint64_t{256} << 20;
  // Stop tracing after so many instructions (all threads), so long, or once the file has so many
  // bytes (what was on its way then is still written); the program then runs on untraced to its
  // end.
  std::optional<uint64_t> max_instructions;
  std::optional<std::chrono::nanoseconds> max_duration;
  std::optional<uint64_t> max_file_bytes;
  // Record only from the first instruction of one function to the first of another, which is not
  // recorded any more; by thread, a new one begins as its maker is. "NAME", "NAME@FILE" or
  // "FILE:NAME", in the program or any library it loads, at any time; every function of that name
  // counts. Empty: from the start, to the end.
  std::string from;
  std::string until;
  // When the output can't be written any more: kill the program, which else runs on untraced.
  bool kill_on_failure = false;
  // Called a few times a second, by the thread that called Record. Empty: nobody wants to know.
  std::function<void(const RecordProgress&)> on_progress;
  // Engine "emulate": one instruction a block. Slower; for judging the engine.
  bool exact = false;
  // Engine "emulate": its plugin; empty: lib/flowback/flowback-tcg.so beside this program's folder.
  std::string emulator_plugin;
  // Engine "step": keeps recorder and program on one CPU while tracing. Several times faster; the
  // program sees one usable CPU.
  bool one_cpu = true;
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

struct RecordSummary {
  int command_status = 0;  // as waitpid gives it; 0 without a command
  StopReason stop_reason = StopReason::kProgramEnded;
  uint64_t instructions = 0;
  uint64_t bytes = 0;  // trace bytes of all threads
  // Of these, those that are in no snapshot: later trace took their place, as was asked for.
  uint64_t overwritten_bytes = 0;
  uint64_t file_bytes = 0;  // of the perf.data file; 0 without one
  uint64_t losses = 0;      // places where the flow is not known
  // Where the functions RecordOptions names are: "f in /lib/libx.so at 0x1139" (of the file).
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
  std::vector<RecordedThread> threads;   // in order of their start: stream 0, 1, ...
  std::chrono::nanoseconds elapsed{0};   // to the program's end
  // What this process and its children used meanwhile: recorder and recorded program.
  std::chrono::nanoseconds cpu_time{0};
  std::optional<KeptImagesSummary> images;  // empty: none were to be kept
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
// execve. Threads that are not recorded (`from`, `until`) run at full speed, stopped at system
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

std::vector<std::string_view> RecordEngineNames();

// What an emulator's ELF file says about loading plugins.
struct EmulatorPlugins {
  int interface_version = 0;       // of QEMU's plugin interface, up to the newest known; 0: none
  bool linked_statically = false;  // so it can load none, whatever it was built for
};
EmulatorPlugins PluginsOf(const std::string& emulator);
// How to get an emulator that loads plugins, where there is no emulator.
inline constexpr const char* kInstallEmulator =
    "sudo apt-get install qemu-user (Debian 12's: Debian 13's can't load plugins)";
// Why the emulator loads none, and what can be done about it.
Error NoPlugins(const std::string& emulator, const EmulatorPlugins& plugins);

// Whether the engine "emulate" can work here; the error says what is missing and how to get it.
Status CheckEmulator(const RecordOptions& options);
// The same, and whether the options' command is a program that it can run: of those that this
// machine runs, 32-bit ones are none. A command that can't be run at all is not its matter.
Status CheckEmulated(const RecordOptions& options);

}  // namespace flowback
