// SPDX-License-Identifier: MIT
// An opened input: trace streams, sideband records, machine description, extra code.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/base/joined_bytes.h"
#include "flowback/model/counters.h"
#include "flowback/model/execution.h"
#include "flowback/model/machine.h"

namespace flowback {

class MappedFile;  // base/mapped_file.h

// A GNU build-id: 1 to 20 bytes; empty when unknown.
struct BuildId {
  std::vector<uint8_t> bytes;

  bool empty() const { return bytes.empty(); }
  std::string ToHex() const;
  bool operator==(const BuildId&) const = default;
};

// A part of a stream that the recorder says is missing or damaged, in stream offsets.
struct StreamGap {
  uint64_t offset = 0;  // bytes before it are good; what follows starts anew
  std::string reason;   // "AUX data truncated"
};

// The bytes one CPU or one thread wrote, in writing order.
struct Stream {
  uint32_t index = 0;  // position among the recording's streams, from 0
  int32_t cpu = -1;    // -1: not bound to one CPU
  int32_t pid = -1;    // -1: unknown or many
  int32_t tid = -1;    // -1: unknown or many (a per-CPU buffer)
  Bytes bytes;
  std::string file;          // where the bytes come from
  uint64_t file_offset = 0;  // of the first byte, when they are contiguous there
  std::vector<StreamGap> gaps;
  // Bytes that consecutive snapshots of one buffer have in common: read once, so not in `bytes`.
  uint64_t repeated_bytes = 0;
  // Bytes that the recorder says it wrote and the file does not hold: at gaps, so not in `bytes`.
  uint64_t missing_bytes = 0;
  // Owns `bytes`, which are then read through StreamWindows only. Null: all bytes can be read.
  std::shared_ptr<JoinedBytes> joined{};
};

// Sideband: what the kernel said about processes while the trace was taken. `time` is in
// nanoseconds of perf's clock, 0 when the record carries none.
struct SidebandBase {
  uint64_t time = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
};
struct MmapRecord : SidebandBase {
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t file_offset = 0;
  std::string path;  // a name such as "[vdso]" or "//anon" for memory without a file
  BuildId build_id;
  bool executable = true;
  bool kernel = false;
};
struct CommRecord : SidebandBase {
  std::string comm;
  bool exec = false;
};
struct ForkRecord : SidebandBase {
  int32_t parent_pid = -1;
  int32_t parent_tid = -1;
};
struct ExitRecord : SidebandBase {};
// From SWITCH, SWITCH_CPU_WIDE, and samples of the tracepoint sched:sched_switch, which give two:
// one thread goes out, the other comes in. That tracepoint names threads, not their processes: -1.
struct SwitchRecord : SidebandBase {
  bool out = false;
  bool preempted = false;  // out, and it could have gone on
  int32_t other_pid = -1;
  int32_t other_tid = -1;
};
struct ItraceStartRecord : SidebandBase {};
struct AuxRecord : SidebandBase {
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t flags = 0;
};
struct LostRecord : SidebandBase {
  uint64_t count = 0;
  bool samples = false;  // LOST_SAMPLES: only samples were lost
};
struct AuxOutputHwIdRecord : SidebandBase {
  uint64_t hardware_id = 0;  // which PEBS counter the event's records in the trace are of
};
// Kernel code that comes (a JIT-compiled BPF program, a trampoline) or goes.
struct KsymbolRecord : SidebandBase {
  uint64_t address = 0;
  uint32_t size = 0;
  uint16_t type = 0;  // PERF_RECORD_KSYMBOL_TYPE_*: 1 BPF, 2 out of line
  bool unregister = false;
  std::string name;
};
struct BpfEventRecord : SidebandBase {
  uint16_t type = 0;  // PERF_BPF_EVENT_*: 1 load, 2 unload
  uint32_t id = 0;
  std::array<uint8_t, 8> tag{};
};
// The kernel changed its own code: old_bytes.size() bytes at `address` became new_bytes. One of
// the two is empty where code was added or taken away.
struct TextPokeRecord : SidebandBase {
  uint64_t address = 0;
  std::vector<uint8_t> old_bytes;
  std::vector<uint8_t> new_bytes;
};
struct NamespacesRecord : SidebandBase {
  struct Link {
    uint64_t device = 0;
    uint64_t inode = 0;
  };
  std::vector<Link> links;  // net, uts, ipc, pid, user, mnt, cgroup, in this order
};
struct CgroupRecord : SidebandBase {
  uint64_t id = 0;
  std::string path;
};
// A thread that the recorder was asked to trace.
struct ThreadMapRecord : SidebandBase {
  std::string comm;  // often empty
};
// An error that another decoder met in the trace and wrote into the file.
struct AuxtraceErrorRecord : SidebandBase {
  uint32_t type = 0;
  uint32_t code = 0;
  uint64_t ip = 0;
  std::string message;
};
using SidebandRecord = std::variant<MmapRecord, CommRecord, ForkRecord, ExitRecord, SwitchRecord,
                                    ItraceStartRecord, AuxRecord, LostRecord, AuxOutputHwIdRecord,
                                    KsymbolRecord, BpfEventRecord, TextPokeRecord, NamespacesRecord,
                                    CgroupRecord, ThreadMapRecord, AuxtraceErrorRecord>;

// Code given by the user: --section FILE:OFFSET:SIZE:ADDRESS, or --image ELF[@LOAD_ADDRESS].
struct SectionSpec {
  std::string file;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t address = 0;
};
struct ImageSpec {
  std::string file;
  // Added to nothing: the run-time address of the image's first loadable page (perf's "base").
  // Empty: where the file's program headers say (right for non-PIE executables).
  std::optional<uint64_t> load_address;
};

// perf's clock, for times of day: at one moment it showed `clock_ns`, and the wall clock `wall_ns`.
struct ClockInfo {
  std::optional<int32_t> clock_id;  // of clock_gettime; empty: perf's own clock
  uint64_t wall_ns = 0;             // since 1970; 0: not recorded
  uint64_t clock_ns = 0;
};

// A problem of an input that did not stop its reading.
struct Warning {
  std::string text;    // one sentence with the place: "cut at offset 0x1234 inside an AUX area"
  std::string remedy;  // the command or step that helps; empty: none is needed

  bool operator==(const Warning&) const = default;
};

// Something that the recorder says it lost, and that no place in a stream shows.
struct RecorderLoss {
  LossCause cause{};
  uint64_t count = 0;  // of records, or of the items that the records count

  bool operator==(const RecorderLoss&) const = default;
};

// How a process ended, as its recorder wrote it. The end of other processes is unknown.
struct ProcessEnd {
  int32_t pid = -1;
  int32_t tid = -1;     // the thread that ended it; -1: the recorder does not know it
  uint64_t time = 0;    // as in SidebandBase
  int wait_status = 0;  // as waitpid gives it: an exit status or a signal
  std::string comm;     // the thread's name, or the first one's where it is not known
  // Where that thread stood when a signal killed it: at the instruction that raised a fault.
  std::optional<uint64_t> ip;
  std::optional<uint64_t> fault_address;  // the access that failed (SIGSEGV, SIGBUS)
  std::string file;                       // what was mapped at `ip`; empty: no file
  uint64_t file_offset = 0;               // of `ip` in it
  std::string core;                       // its core dump; empty: none was made
};

struct Recording {
  std::string path;    // as the user named it
  std::string format;  // "perf.data", "raw Intel PT"
  // The kind of trace in its streams: a row of decode/sources.def.
  std::string source = "intel_pt";
  uint64_t file_size = 0;
  MachineInfo machine;
  // Instruction set of its code, as the table of code modes names it: files of another set cannot
  // have run. Empty: unknown.
  std::string_view instruction_set = "x86";
  TraceConfig config;   // the settings of that kind
  TimeConversion time;  // of the trace's ticks
  TracedLevels levels;
  // Processes that samples with callers show in the kernel, even if `levels` exclude it.
  std::set<int32_t> sampled_in_kernel;
  ClockInfo clock;
  // Folder with copies of the kernel's code and symbols: kcore, kallsyms, modules. Often empty.
  std::string kcore_dir;
  std::vector<Stream> streams;
  // In time order. A record without time stands where the file has it: before what the kernel had
  // still to say when it was written.
  std::vector<SidebandRecord> sideband;
  // Build-ids from the header's table, by path, for maps that carry none.
  std::vector<std::pair<std::string, BuildId>> build_ids;
  std::vector<SectionSpec> sections;
  std::vector<ImageSpec> images;
  std::vector<ProcessEnd> process_ends;
  CountedEvents counters;  // of events beside the trace
  // How many records of each kind the file holds, by perf's names ("MMAP2"); for `info`.
  std::vector<std::pair<std::string, uint64_t>> record_counts;
  // The recorded events, as the recorder was asked for them ("intel_pt//u").
  std::vector<std::string> events;
  // Damage met while reading that did not stop it.
  std::vector<Warning> warnings;
  // Why the rest was not read, where reading on would have cost too much; a warning says the same.
  // The part read before is valid, but reports on it should not end as if it were complete.
  std::optional<Error> refusal;
  std::vector<RecorderLoss> losses;  // one for each cause
  // Keeps alive what the spans point into.
  std::vector<std::shared_ptr<const void>> storage;
  // The mapped files among it. CheckWhole(files) returns whether everything read from them so far
  // existed.
  std::vector<std::shared_ptr<const MappedFile>> files;
};

// All regions of one name that a program gave to parts of its run (flowback/self.h), in all
// threads. A region that began and did not end ran to the end of its thread or of the recording.
struct NamedRegion {
  std::string name;
  uint64_t begun = 0;
  uint64_t ended = 0;
  uint64_t total_ns = 0;  // of those that ended, by the program's clock or the recording's
  uint64_t longest_ns = 0;
};

}  // namespace flowback
