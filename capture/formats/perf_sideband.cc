// SPDX-License-Identifier: MIT
#include "capture/formats/perf_sideband.h"

#include <algorithm>

#include "capture/formats/field_reader.h"
#include "capture/formats/perf_layout.h"

namespace flowback::perf {
namespace {

using Parsed = std::optional<SidebandRecord>;

// A sideband record with what the trailer says; the record's own fields come on top.
template <class T>
T Begin(const SampleId& id) {
  T result;
  result.time = id.time;
  result.pid = id.pid;
  result.tid = id.tid;
  result.cpu = id.cpu;
  return result;
}

template <class T>
Parsed Finish(const FieldReader& fields, T&& result) {
  if (!fields.ok()) return std::nullopt;
  return SidebandRecord(std::forward<T>(result));
}

bool IsKernel(uint16_t misc) {
  const uint16_t mode = misc & kMiscCpuModeMask;
  return mode == kMiscKernel || mode == kMiscGuestKernel;
}

MmapRecord ReadMmapCommon(FieldReader& fields, const Record& record, const SampleId& id) {
  auto map = Begin<MmapRecord>(id);
  map.pid = fields.I32();
  map.tid = fields.I32();
  map.address = fields.U64();
  map.size = fields.U64();
  map.file_offset = fields.U64();
  map.kernel = IsKernel(record.misc);
  return map;
}

Parsed ParseMmap(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  MmapRecord map = ReadMmapCommon(fields, record, id);
  map.executable = !(record.misc & kMiscMmapData);
  map.path = TextOf(fields.Take(fields.remaining()));
  return Finish(fields, std::move(map));
}

// 24 bytes: the file's device and inode, or its build-id.
void ReadIdentity(FieldReader& fields, bool is_build_id, MmapRecord& map) {
  if (!is_build_id) return fields.Skip(24);
  const size_t size = fields.U8();
  fields.Skip(3);
  const Bytes bytes = fields.Take(20);
  const Bytes used = bytes.first(std::min(size, bytes.size()));
  map.build_id.bytes.assign(used.begin(), used.end());
}

Parsed ParseMmap2(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  MmapRecord map = ReadMmapCommon(fields, record, id);
  ReadIdentity(fields, record.misc & kMiscMmapBuildId, map);
  map.executable = fields.U32() & kProtExec;
  fields.Skip(4);  // mmap's flags
  map.path = TextOf(fields.Take(fields.remaining()));
  return Finish(fields, std::move(map));
}

Parsed ParseComm(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  auto comm = Begin<CommRecord>(id);
  comm.pid = fields.I32();
  comm.tid = fields.I32();
  comm.exec = record.misc & kMiscCommExec;
  comm.comm = TextOf(fields.Take(fields.remaining()));
  return Finish(fields, std::move(comm));
}

struct TaskFields {
  int32_t pid, parent_pid, tid, parent_tid;
  uint64_t time;
};

TaskFields ReadTask(FieldReader& fields) {
  TaskFields task{};
  task.pid = fields.I32();
  task.parent_pid = fields.I32();
  task.tid = fields.I32();
  task.parent_tid = fields.I32();
  task.time = fields.U64();
  return task;
}

template <class T>
T BeginTask(const TaskFields& task, const SampleId& id) {
  auto result = Begin<T>(id);
  result.pid = task.pid;
  result.tid = task.tid;
  if (result.time == 0) result.time = task.time;
  return result;
}

Parsed ParseFork(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  const TaskFields task = ReadTask(fields);
  auto fork = BeginTask<ForkRecord>(task, id);
  fork.parent_pid = task.parent_pid;
  fork.parent_tid = task.parent_tid;
  return Finish(fields, fork);
}

Parsed ParseExit(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  return Finish(fields, BeginTask<ExitRecord>(ReadTask(fields), id));
}

Parsed ParseSwitch(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  auto change = Begin<SwitchRecord>(id);
  change.out = record.misc & kMiscSwitchOut;
  if (record.type == kRecordSwitchCpuWide) {
    change.other_pid = fields.I32();
    change.other_tid = fields.I32();
  }
  return Finish(fields, change);
}

Parsed ParseItraceStart(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  auto start = Begin<ItraceStartRecord>(id);
  start.pid = fields.I32();
  start.tid = fields.I32();
  return Finish(fields, start);
}

Parsed ParseAux(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  auto aux = Begin<AuxRecord>(id);
  aux.offset = fields.U64();
  aux.size = fields.U64();
  aux.flags = fields.U64();
  return Finish(fields, aux);
}

Parsed ParseLost(const Record& record, const SampleId& id) {
  FieldReader fields(record.body);
  auto lost = Begin<LostRecord>(id);
  fields.Skip(8);  // the event's id
  lost.count = fields.U64();
  return Finish(fields, lost);
}

using Parser = Parsed (*)(const Record& record, const SampleId& id);

Parser ParserOf(uint32_t type) {
  switch (type) {
    case kRecordMmap:
      return ParseMmap;
    case kRecordMmap2:
      return ParseMmap2;
    case kRecordComm:
      return ParseComm;
    case kRecordFork:
      return ParseFork;
    case kRecordExit:
      return ParseExit;
    case kRecordSwitch:
    case kRecordSwitchCpuWide:
      return ParseSwitch;
    case kRecordItraceStart:
      return ParseItraceStart;
    case kRecordAux:
      return ParseAux;
    case kRecordLost:
      return ParseLost;
    default:
      return nullptr;
  }
}

uint64_t TimeOf(const SidebandRecord& record) {
  return std::visit([](const SidebandBase& base) { return base.time; }, record);
}

}  // namespace

bool IsSideband(uint32_t type) { return ParserOf(type) != nullptr; }

std::optional<SidebandRecord> ToSideband(const Record& record, const SampleId& id) {
  const Parser parser = ParserOf(record.type);
  return parser ? parser(record, id) : std::nullopt;
}

void SortByTime(std::vector<SidebandRecord>& sideband) {
  std::stable_sort(sideband.begin(), sideband.end(),
                   [](const auto& a, const auto& b) { return TimeOf(a) < TimeOf(b); });
}

}  // namespace flowback::perf
