// SPDX-License-Identifier: MIT
// A core dump shows a process's memory at one moment, near the end of the recording. So it can only
// speak for mappings that were still there then: the sideband is replayed once to find out which
// record made each of them (LastMappings), and the dump's executable memory is cut into ranges by
// those records. What another mapping replaced before the end has no bytes in the dump.
//
// The dump must be of the same run. Its process number says so first; then the files that both
// the recording and the dump know: at one address there can't be two, and where both have a
// build-id, the two must agree.
#include "decode/code/core/core_code.h"

#include <algorithm>
#include <set>
#include <variant>

#include "base/hex.h"
#include "decode/code/core/last_mappings.h"
#include "decode/code/images/image_search.h"

namespace flowback {
namespace {

constexpr const char* kVsyscall = "[vsyscall]";
constexpr uint64_t kVsyscallPage = 0xffffffffff600000;
constexpr const char* kAnonymous = "//anon";
constexpr size_t kNamedProcesses = 8;  // in a message

using LastOfProcesses = std::map<int32_t, LastMappings>;

LastOfProcesses ReplayMappings(const std::vector<SidebandRecord>& sideband) {
  LastOfProcesses processes;
  for (size_t i = 0; i < sideband.size(); ++i) {
    if (const auto* map = std::get_if<MmapRecord>(&sideband[i]); map && !map->kernel)
      processes[map->pid].Map(map->address, map->size, i);
    else if (const auto* comm = std::get_if<CommRecord>(&sideband[i]); comm && comm->exec)
      processes[comm->pid].Exec(i);
    else if (const auto* fork = std::get_if<ForkRecord>(&sideband[i]);
             fork && fork->pid != fork->parent_pid)
      processes[fork->pid].Fork(i, processes[fork->parent_pid]);
  }
  return processes;
}

// Every process that the recording names.
std::set<int32_t> KnownProcesses(const Recording& recording) {
  std::set<int32_t> known;
  for (const Stream& stream : recording.streams)
    if (stream.pid > 0) known.insert(stream.pid);
  for (const SidebandRecord& record : recording.sideband)
    std::visit(
        [&](const SidebandBase& base) {
          if (base.pid > 0) known.insert(base.pid);
        },
        record);
  return known;
}

// The process of a thread, for dumps without a process of their own.
int32_t ProcessOfThread(const Recording& recording, int32_t tid) {
  for (const Stream& stream : recording.streams)
    if (stream.tid == tid && stream.pid > 0) return stream.pid;
  for (const SidebandRecord& record : recording.sideband) {
    const auto& base =
        std::visit([](const SidebandBase& b) -> const SidebandBase& { return b; }, record);
    if (base.tid == tid && base.pid > 0) return base.pid;
  }
  return -1;
}

// Returns the processes that were traced, as a stream or an ITRACE_START record shows. Messages
// name these only, as a recording may name every process of the machine.
std::set<int32_t> TracedProcesses(const Recording& recording) {
  std::set<int32_t> traced;
  for (const Stream& stream : recording.streams)
    if (stream.pid > 0) traced.insert(stream.pid);
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* start = std::get_if<ItraceStartRecord>(&record); start && start->pid > 0)
      traced.insert(start->pid);
  return traced.empty() ? KnownProcesses(recording) : traced;
}

std::string ListOf(const std::set<int32_t>& processes) {
  std::string text;
  size_t count = 0;
  for (const int32_t pid : processes) {
    if (count++ == kNamedProcesses) return text + ", ...";
    text += (text.empty() ? "" : ", ") + std::to_string(pid);
  }
  return text;
}

std::unexpected<Error> OtherRun(const std::string& path, const std::string& why) {
  return Fail(
      Error(ErrorCode::kUsage, "--core " + path + " is of another run than the recording: " + why)
          .Remedy("name the core dump of the recorded run, or decode without --core"));
}

}  // namespace

class CoreCode::Builder {
 public:
  Builder(const Recording& recording, ImageStore& store, CoreCode& code)
      : recording_(recording),
        store_(store),
        code_(code),
        known_(KnownProcesses(recording)),
        last_(ReplayMappings(recording.sideband)) {}

  Status Add(const std::string& path) {
    auto opened = store_.Open(path);
    if (!opened)
      return Fail(Error(ErrorCode::kUnreadable, opened.error().message())
                      .While("opening --core " + path)
                      .Remedy("check FILE in --core FILE, and that it may be read"));
    auto core = ReadCore((*opened)->bytes, path);
    if (!core) return Fail(std::move(core.error()));
    const Result<int32_t> pid = FindProcess(*core, path);
    if (!pid) return Fail(pid.error());
    if (code_.Has(*pid))
      return Fail(
          Error(ErrorCode::kUsage, "--core " + path + " is the second core dump of " +
                                       (*pid < 0 ? "the trace" : "process " + std::to_string(*pid)))
              .Remedy("name one core dump for each process"));
    if (Status status = CheckRun(*core, path, *pid); !status) return status;
    Cut(*core, *opened, *pid);
    return {};
  }

 private:
  Result<int32_t> FindProcess(const CoreFile& core, const std::string& path) const {
    if (known_.empty()) return kNoProcess;
    int32_t pid = core.pid;
    for (size_t i = 0; pid <= 0 && i < core.tids.size(); ++i)
      pid = ProcessOfThread(recording_, core.tids[i]);
    if (known_.contains(pid)) return pid;
    const std::string whose = pid <= 0 ? "does not say of which process it is"
                                       : "is of process " + std::to_string(pid) +
                                             (core.comm.empty() ? "" : " (" + core.comm + ")");
    return Fail(Error(ErrorCode::kUsage, "--core " + path + " " + whose + "; the recording has " +
                                             ListOf(TracedProcesses(recording_)))
                    .Remedy("name the core dump of a recorded process; a dump made in a container "
                            "has that container's numbers: take code from it with --section"));
  }

  const MmapRecord* RecordAt(size_t owner) const {
    return owner < recording_.sideband.size() ? std::get_if<MmapRecord>(&recording_.sideband[owner])
                                              : nullptr;
  }

  const BuildId& RecordedBuildId(const MmapRecord& record) const {
    if (!record.build_id.empty()) return record.build_id;
    for (const auto& [path, build_id] : recording_.build_ids)
      if (path == record.path) return build_id;
    return record.build_id;
  }

  // The first page of the file that `record` maps, as the dump knows it.
  static BuildId CoreBuildId(const CoreFile& core, const MmapRecord& record) {
    if (record.path == kVdso) return core.BuildIdAt(record.address);
    const CoreMappedFile* file = core.FileAt(record.address);
    return file == nullptr ? BuildId() : core.BuildIdOf(*file);
  }

  // Whether the dump is of the emulator that ran the program: QEMU's own file is mapped, which the
  // recording does not have.
  bool IsOfEmulator(const CoreFile& core) const {
    const auto is_emulator = [](const std::string& path) {
      return BaseName(path).starts_with("qemu-");
    };
    const auto is_recorded = [&](const SidebandRecord& record) {
      const auto* map = std::get_if<MmapRecord>(&record);
      return map != nullptr && is_emulator(map->path);
    };
    return std::ranges::any_of(core.files, is_emulator, &CoreMappedFile::path) &&
           std::ranges::none_of(recording_.sideband, is_recorded);
  }
  static Status OfEmulator(const std::string& path) {
    return Fail(Error(ErrorCode::kUsage, "--core " + path +
                                             " is a dump of the emulator, whose registers are not "
                                             "the program's")
                    .Remedy("kill -QUIT PID ends the program and makes the emulator dump it"));
  }

  Status CheckRun(const CoreFile& core, const std::string& path, int32_t pid) {
    if (IsOfEmulator(core)) return OfEmulator(path);
    bool recorded = false;  // mapped at the recording's end, so the dump should have the file, too
    bool confirmed = false;
    std::set<const MmapRecord*> seen;
    for (const CoreSegment& segment : core.segments) {
      if (!segment.executable) continue;
      Status status;
      last_[pid].ForEach(
          segment.address, segment.size, [&](uint64_t, uint64_t, LastMappings::Owner owner) {
            const MmapRecord* record = RecordAt(owner.record);
            if (record == nullptr || !record->executable || !seen.insert(record).second || !status)
              return;
            status = CheckMapping(core, path, *record, confirmed);
          });
      if (!status) return status;
    }
    for (size_t i = 0; i < recording_.sideband.size(); ++i)
      if (const MmapRecord* map = RecordAt(i); map && map->pid == pid && map->executable)
        recorded |= !IsPathless(map->path) && last_[pid].OwnerOf(map->address).record == i;
    if (recorded && !confirmed && !core.files.empty())
      return OtherRun(path, "none of the files that the recording saw mapped is where it was");
    return {};
  }

  Status CheckMapping(const CoreFile& core, const std::string& path, const MmapRecord& record,
                      bool& confirmed) {
    const BuildId recorded = RecordedBuildId(record);
    const BuildId found = CoreBuildId(core, record);
    if (const CoreMappedFile* file = core.FileAt(record.address);
        file && !IsPathless(record.path)) {
      const bool same_place =
          file->address - file->file_offset == record.address - record.file_offset;
      if (!same_place ||
          BaseName(WithoutDeleted(file->path)) != BaseName(WithoutDeleted(record.path)))
        return OtherRun(path, "at " + Hex(record.address) + " it has " + file->path +
                                  ", the recording " + record.path);
      confirmed = true;
    }
    if (!recorded.empty() && !found.empty() && recorded != found)
      return OtherRun(path, "its " + record.path + " has build-id " + found.ToHex() +
                                ", the recorded one " + recorded.ToHex());
    if (recorded.empty() && !found.empty()) code_.build_ids_.emplace(&record, found);
    return {};
  }

  // CheckRun has compared them.
  bool IsVerified(const CoreFile& core, const MmapRecord& record) const {
    return !RecordedBuildId(record).empty() && !CoreBuildId(core, record).empty();
  }

  void Cut(const CoreFile& core, const ImageStore::FilePointer& file, int32_t pid) {
    RangesOfOwners& owners = code_.processes_[pid];
    const LastMappings& last = last_[pid];
    for (const CoreSegment& segment : core.segments) {
      if (!segment.executable) continue;
      last.ForEach(segment.address, segment.size,
                   [&](uint64_t address, uint64_t size, LastMappings::Owner owner) {
                     CutByFiles(core, segment, file, pid, address, size, RecordAt(owner.record),
                                owners[owner.since]);
                   });
    }
  }

  // Files begin and end inside a segment only where dumps of other makers join them.
  void CutByFiles(const CoreFile& core, const CoreSegment& segment,
                  const ImageStore::FilePointer& core_file, int32_t pid, uint64_t address,
                  uint64_t size, const MmapRecord* record, std::vector<DumpedRange>& ranges) {
    for (uint64_t done = 0; done < size;) {
      const uint64_t at = address + done;
      const CoreMappedFile* file = core.FileAt(at);
      uint64_t part = size - done;
      if (file != nullptr) {
        part = std::min(part, file->address + file->size - at);
      } else {
        const auto next = std::ranges::upper_bound(core.files, at, {}, &CoreMappedFile::address);
        if (next != core.files.end()) part = std::min(part, next->address - at);
      }
      DumpedRange range{.record = record, .address = at, .size = part, .dump = {}, .core = nullptr};
      const uint64_t skipped = at - segment.address;
      range.dumped = Slice(segment.bytes, skipped, part).size();
      range.file_offset = segment.file_offset + skipped;
      if (record != nullptr) range.verified = IsVerified(core, *record);
      if (range.record == nullptr || !range.record->executable)
        range.record = MakeRecord(core, file, pid, range);
      if (range.record != nullptr) {
        range.core = store_.Alias(core_file, core_file->path + ":" + range.record->path);
        range.dump = core_file->path;
        ranges.push_back(std::move(range));
      }
      done += part;
    }
  }

  // Makes the record that the recorder would have written had it seen the mapping. Null for memory
  // that is neither in a file nor in the dump.
  const MmapRecord* MakeRecord(const CoreFile& core, const CoreMappedFile* file, int32_t pid,
                               const DumpedRange& range) {
    if (file == nullptr && range.dumped == 0) return nullptr;
    MmapRecord record;
    record.pid = record.tid = pid;
    record.address = range.address;
    record.size = range.size;
    if (file != nullptr) {
      record.path = file->path;
      record.file_offset = file->file_offset + (range.address - file->address);
      record.build_id = core.BuildIdOf(*file);
    } else {
      record.path = core.vdso == range.address && core.vdso != 0 ? kVdso
                    : range.address == kVsyscallPage             ? kVsyscall
                                                                 : kAnonymous;
      if (record.path == kVdso) record.build_id = core.BuildIdAt(core.vdso);
    }
    code_.made_.push_back(std::move(record));
    return &code_.made_.back();
  }

  const Recording& recording_;
  ImageStore& store_;
  CoreCode& code_;
  std::set<int32_t> known_;
  LastOfProcesses last_;
};

Result<CoreCode> CoreCode::Load(const std::vector<std::string>& paths, const Recording& recording,
                                ImageStore& store) {
  CoreCode code;
  if (paths.empty()) return code;
  Builder builder(recording, store, code);
  for (const std::string& path : paths)
    if (Status status = builder.Add(path); !status) return Fail(std::move(status.error()));
  return code;
}

std::vector<int32_t> CoreCode::Processes() const {
  std::vector<int32_t> list;
  for (const auto& [pid, ranges] : processes_) list.push_back(pid);
  return list;
}

const std::vector<DumpedRange>& CoreCode::Dumped(int32_t pid, size_t since) const {
  static const std::vector<DumpedRange> kNone;
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return kNone;
  const auto ranges = process->second.find(since);
  return ranges == process->second.end() ? kNone : ranges->second;
}

const BuildId* CoreCode::BuildIdOf(const MmapRecord& record) const {
  const auto known = build_ids_.find(&record);
  return known == build_ids_.end() ? nullptr : &known->second;
}

}  // namespace flowback
