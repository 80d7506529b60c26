// SPDX-License-Identifier: MIT
#include "capture/record/record_checks.h"

#include <algorithm>
#include <bit>
#include <string>

#include "capture/record/watch/watched_functions.h"

namespace flowback::record {
namespace {

constexpr uint32_t kMinPsbPeriod = 2048;
constexpr uint32_t kMaxPsbPeriod = 2048u << 15;
constexpr uint8_t kMaxMtcShift = 15;
constexpr uint8_t kMaxCycThreshold = 12;
constexpr uint32_t kMostBranchDepth = 1024;
constexpr uint64_t kMaxSnapshot = uint64_t{4} << 30;

Status Refuse(const std::string& why, const std::string& remedy) {
  return Fail(Error(ErrorCode::kUsage, why).Remedy(remedy));
}

Status CheckPerCpu(const RecordOptions& options, const RecorderInfo& able) {
  if (!able.per_cpu)
    return Refuse("the engine '" + options.engine + "' has no CPUs: its buffers are per thread",
                  "--per-thread, or --engine emulate");
  if (!options.packets.timestamps)
    return Refuse("buffers per CPU without TSC packets: the threads of the trace would be unknown",
                  "--per-thread, or leave --no-tsc or tsc=0 out");
  if (!options.files.raw_directory.empty())
    return Refuse("raw streams of CPUs do not contain their threads",
                  "--per-thread, or leave --raw-dir out");
  return {};
}

Status CheckProcessFiles(const RecordOptions& options, const RecorderInfo& able) {
  if (!able.processes_apart)
    return Refuse("the engine '" + options.engine + "' can't record each process by itself",
                  "--engine emulate");
  if (options.streams.per_cpu || options.streams.snapshot_bytes || !options.processes.on_end)
    return Refuse(
        "recordings of processes have streams of threads, whole, and someone to take them",
        "leave per_cpu and snapshot_bytes out, and set on_end");
  return {};
}

Status CheckSnapshots(const RecordOptions& options) {
  const uint64_t least = 2 * uint64_t{options.packets.psb_period_bytes};
  if (*options.streams.snapshot_bytes < least || *options.streams.snapshot_bytes > kMaxSnapshot)
    return Refuse("snapshots of " + std::to_string(*options.streams.snapshot_bytes) +
                      " bytes: not between two PSB periods (" + std::to_string(least) +
                      ") and 4 GiB",
                  "-S" + std::to_string(std::max(least, uint64_t{65536})));
  if (!options.packets.timestamps)
    return Refuse("snapshots without TSC packets: the common part of two of them would be unknown",
                  "leave --no-tsc, tsc=0 or -S out");
  if (!options.files.raw_directory.empty())
    return Refuse("raw streams can't hold snapshots", "leave --raw-dir or -S out");
  return {};
}

Error NotAble(const RecordOptions& options, const std::string& what, const std::string& remedy) {
  return Error(ErrorCode::kUsage, "the engine '" + options.engine + "' can't " + what)
      .Remedy(remedy);
}

Status CheckBranches(const RecordOptions& options, const RecorderInfo& able) {
  const uint32_t depth = *options.streams.branch_depth;
  if (!able.branch_stacks)
    return Fail(NotAble(options, "record branch stacks in software", "--engine emulate"));
  if (depth == 0 || depth > kMostBranchDepth)
    return Refuse("branch stacks of " + std::to_string(depth) + " entries are none that it makes",
                  "use 1 to " + std::to_string(kMostBranchDepth));
  if (options.streams.per_cpu || options.streams.snapshot_bytes)
    return Refuse("branch stacks are those of threads, and all of them",
                  "leave --per-cpu and -S out, or -b");
  if (!options.files.raw_directory.empty())
    return Refuse("raw streams hold packets of Intel PT, not branch stacks",
                  "leave --raw-dir or -b out");
  return {};
}

// Checks the target: a command, or running processes and threads.
Status CheckTarget(const RecordOptions& options, const RecorderInfo& able) {
  const bool has_command = !options.target.command.empty() && !options.target.command[0].empty();
  const bool of_cpus = options.events.all_cpus || !options.events.cpus.empty();
  if (able.hardware && of_cpus && !options.target.runs_already()) return {};
  if (!options.target.runs_already() && !has_command)
    return Refuse("no command to record", "give it after --: flowback record -- CMD");
  if (!options.target.runs_already()) return {};
  if (!options.target.command.empty())
    return Refuse("a command and running processes can't be recorded at once",
                  "either -- CMD, or -p PID");
  if (!able.attaches)
    return Refuse("the engine '" + options.engine +
                      "' can't record a program that runs already: the emulator has to start it "
                      "itself",
                  "--engine step single-steps it where it is");
  return {};
}

// Checks the packets and their periods, which are those of hardware.
Status CheckPackets(const RecordOptions& options) {
  const uint32_t period = options.packets.psb_period_bytes;
  if (!std::has_single_bit(period) || period < kMinPsbPeriod || period > kMaxPsbPeriod)
    return Refuse(
        "a PSB period of " + std::to_string(period) + " bytes is not one the hardware has",
        "use a power of two from 2K to 64M");
  if (options.packets.mtc_shift && *options.packets.mtc_shift > kMaxMtcShift)
    return Refuse("an MTC period of 2^" + std::to_string(*options.packets.mtc_shift) +
                      " crystal ticks is not one the hardware has",
                  "use 0 to 15");
  if (options.packets.cyc_threshold && *options.packets.cyc_threshold > kMaxCycThreshold)
    return Refuse("a CYC threshold of " + std::to_string(*options.packets.cyc_threshold) +
                      " is not one the hardware has",
                  "use 0 (every packet) to 12 (2048 cycles apart)");
  return {};
}

Result<const RecorderRow*> RecorderFor(const RecordOptions& options) {
  const RecorderRow* row = FindRecorderRow(options.engine);
  if (row == nullptr)
    return Fail(Error(ErrorCode::kUnsupported,
                      "this build can't record with the engine '" + options.engine + "'")
                    .Remedy("use --engine step"));
  return row;
}

}  // namespace

Result<const RecorderRow*> CheckOptions(const RecordOptions& options) {
  const auto row = RecorderFor(options);
  if (!row) return row;
  const RecorderInfo& able = (*row)->info;
  if (auto fit = CheckTarget(options, able); !fit) return Fail(fit.error());
  if (const auto watched = UnderstandWatch(options); !watched) return Fail(watched.error());
  if (auto fit = CheckPackets(options); !fit) return Fail(fit.error());
  if (options.limits.instructions && !able.counts_instructions)
    return Fail(NotAble(options, "stop after a number of instructions",
                        "--duration 10s, or --engine step"));
  if (options.streams.per_cpu)
    if (auto fit = CheckPerCpu(options, able); !fit) return Fail(fit.error());
  if (options.streams.snapshot_bytes && able.hardware && options.engine != "pt")
    return Fail(
        NotAble(options, "keep snapshots: it makes no trace", "--engine pt, or leave -S out"));
  if (!options.processes.folder.empty())
    if (auto fit = CheckProcessFiles(options, able); !fit) return Fail(fit.error());
  if (options.streams.branch_depth)
    if (auto fit = CheckBranches(options, able); !fit) return Fail(fit.error());
  if (options.streams.snapshot_bytes)
    if (auto fit = CheckSnapshots(options); !fit) return Fail(fit.error());
  return row;
}

}  // namespace flowback::record
