// SPDX-License-Identifier: MIT
// An opened input: trace streams, sideband records, machine description, extra code.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/machine.h"

namespace flowback {

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
  std::string path;  // "[vdso]", "//anon" and the like for memory without a file
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
struct SwitchRecord : SidebandBase {
  bool out = false;
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
};
using SidebandRecord = std::variant<MmapRecord, CommRecord, ForkRecord, ExitRecord, SwitchRecord,
                                    ItraceStartRecord, AuxRecord, LostRecord>;

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

struct Recording {
  std::string path;    // as the user named it
  std::string format;  // "perf.data", "raw Intel PT"
  uint64_t file_size = 0;
  MachineInfo machine;
  PtConfig pt;
  ClockInfo clock;
  std::vector<Stream> streams;
  std::vector<SidebandRecord> sideband;  // in time order; records without time keep file order
  // Build-ids from the header's table, by path, for maps that carry none.
  std::vector<std::pair<std::string, BuildId>> build_ids;
  std::vector<SectionSpec> sections;
  std::vector<ImageSpec> images;
  // How many records of each kind the file holds, by perf's names ("MMAP2"); for `info`.
  std::vector<std::pair<std::string, uint64_t>> record_counts;
  // The recorded events, as the recorder was asked for them ("intel_pt//u").
  std::vector<std::string> events;
  // Damage met while reading that did not stop it: "cut at offset 0x1234 inside an AUX area".
  std::vector<std::string> warnings;
  // Keeps alive what the spans point into.
  std::vector<std::shared_ptr<const void>> storage;
};

}  // namespace flowback
