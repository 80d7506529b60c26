// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/perf_sideband.h"

#include <algorithm>

#include "capture/formats/input/field_reader.h"
#include "capture/formats/perf_records/perf_layout.h"

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
  FieldReader fields = record.Fields();
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
  FieldReader fields = record.Fields();
  MmapRecord map = ReadMmapCommon(fields, record, id);
  ReadIdentity(fields, record.misc & kMiscMmapBuildId, map);
  map.executable = fields.U32() & kProtExec;
  fields.Skip(4);  // mmap's flags
  map.path = TextOf(fields.Take(fields.remaining()));
  return Finish(fields, std::move(map));
}

Parsed ParseComm(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto comm = Begin<CommRecord>(id);
  comm.pid = fields.I32();
  comm.tid = fields.I32();
  comm.exec = record.misc & kMiscCommExec;
  // The kernel has 15 letters. A longer name would be inherited, at its length, by each thread
  // made.
  constexpr uint64_t kLongest = 64;
  comm.comm = TextOf(fields.Take(std::min(kLongest, fields.remaining())));
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
  FieldReader fields = record.Fields();
  const TaskFields task = ReadTask(fields);
  auto fork = BeginTask<ForkRecord>(task, id);
  fork.parent_pid = task.parent_pid;
  fork.parent_tid = task.parent_tid;
  return Finish(fields, fork);
}

Parsed ParseExit(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  return Finish(fields, BeginTask<ExitRecord>(ReadTask(fields), id));
}

Parsed ParseSwitch(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto change = Begin<SwitchRecord>(id);
  change.out = record.misc & kMiscSwitchOut;
  change.preempted = change.out && (record.misc & kMiscSwitchOutPreempt);
  if (record.type == kRecordSwitchCpuWide) {
    change.other_pid = fields.I32();
    change.other_tid = fields.I32();
  }
  return Finish(fields, change);
}

Parsed ParseItraceStart(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto start = Begin<ItraceStartRecord>(id);
  start.pid = fields.I32();
  start.tid = fields.I32();
  return Finish(fields, start);
}

Parsed ParseAux(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto aux = Begin<AuxRecord>(id);
  aux.offset = fields.U64();
  aux.size = fields.U64();
  aux.flags = fields.U64();
  return Finish(fields, aux);
}

Parsed ParseLost(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto lost = Begin<LostRecord>(id);
  lost.samples = record.type == kRecordLostSamples;
  if (!lost.samples) fields.Skip(8);  // the event's id
  lost.count = fields.U64();
  return Finish(fields, lost);
}

Parsed ParseAuxOutputHwId(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto output = Begin<AuxOutputHwIdRecord>(id);
  output.hardware_id = fields.U64();
  return Finish(fields, output);
}

Parsed ParseKsymbol(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto symbol = Begin<KsymbolRecord>(id);
  symbol.address = fields.U64();
  symbol.size = fields.U32();
  symbol.type = fields.U16();
  symbol.unregister = fields.U16() & kKsymbolUnregister;
  symbol.name = TextOf(fields.Take(fields.remaining()));
  return Finish(fields, std::move(symbol));
}

Parsed ParseBpfEvent(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto event = Begin<BpfEventRecord>(id);
  event.type = fields.U16();
  fields.Skip(2);  // flags: none so far
  event.id = fields.U32();
  for (uint8_t& byte : event.tag) byte = fields.U8();
  return Finish(fields, event);
}

Parsed ParseTextPoke(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto poke = Begin<TextPokeRecord>(id);
  poke.address = fields.U64();
  const uint16_t old_size = fields.U16();
  const uint16_t new_size = fields.U16();
  const Bytes old_bytes = fields.Take(old_size);
  const Bytes new_bytes = fields.Take(new_size);
  poke.old_bytes.assign(old_bytes.begin(), old_bytes.end());
  poke.new_bytes.assign(new_bytes.begin(), new_bytes.end());
  return Finish(fields, std::move(poke));
}

Parsed ParseNamespaces(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto namespaces = Begin<NamespacesRecord>(id);
  namespaces.pid = fields.I32();
  namespaces.tid = fields.I32();
  for (uint64_t left = fields.U64(); left != 0 && fields.ok(); --left) {
    const uint64_t device = fields.U64();
    namespaces.links.push_back({device, fields.U64()});
  }
  return Finish(fields, std::move(namespaces));
}

Parsed ParseCgroup(const Record& record, const SampleId& id) {
  FieldReader fields = record.Fields();
  auto cgroup = Begin<CgroupRecord>(id);
  cgroup.id = fields.U64();
  cgroup.path = TextOf(fields.Take(fields.remaining()));
  return Finish(fields, std::move(cgroup));
}

// The first form (fmt 0) has no time.
Parsed ParseAuxtraceError(const Record& record, const SampleId&) {
  FieldReader fields = record.Fields();
  AuxtraceErrorRecord error;
  error.type = fields.U32();
  error.code = fields.U32();
  error.cpu = fields.I32();
  error.pid = fields.I32();
  error.tid = fields.I32();
  const uint32_t form = fields.U32();
  error.ip = fields.U64();
  if (form >= 1) error.time = fields.U64();
  constexpr uint64_t kMessageSize = 64;
  error.message = TextOf(fields.Take(std::min(kMessageSize, fields.remaining())));
  return Finish(fields, std::move(error));
}

using Parser = Parsed (*)(const Record& record, const SampleId& id);

struct TypeParser {
  uint32_t type;
  Parser parser;
};

constexpr TypeParser kParsers[] = {
    {kRecordMmap, ParseMmap},
    {kRecordMmap2, ParseMmap2},
    {kRecordComm, ParseComm},
    {kRecordFork, ParseFork},
    {kRecordExit, ParseExit},
    {kRecordSwitch, ParseSwitch},
    {kRecordSwitchCpuWide, ParseSwitch},
    {kRecordItraceStart, ParseItraceStart},
    {kRecordAux, ParseAux},
    {kRecordLost, ParseLost},
    {kRecordLostSamples, ParseLost},
    {kRecordAuxOutputHwId, ParseAuxOutputHwId},
    {kRecordKsymbol, ParseKsymbol},
    {kRecordBpfEvent, ParseBpfEvent},
    {kRecordTextPoke, ParseTextPoke},
    {kRecordNamespaces, ParseNamespaces},
    {kRecordCgroup, ParseCgroup},
    {kRecordAuxtraceError, ParseAuxtraceError},
};

Parser ParserOf(uint32_t type) {
  const auto found = std::find_if(std::begin(kParsers), std::end(kParsers),
                                  [&](const TypeParser& entry) { return entry.type == type; });
  return found == std::end(kParsers) ? nullptr : found->parser;
}

}  // namespace

bool IsSideband(uint32_t type) { return ParserOf(type) != nullptr; }

std::optional<SidebandRecord> ToSideband(Record record, const SampleId& id) {
  const Parser parser = ParserOf(record.type);
  if (!parser || record.body.size() < id.trailer_size) return std::nullopt;
  // The fields end where the trailer begins, even if their own sizes claim more.
  record.body = record.body.first(record.body.size() - id.trailer_size);
  return parser(record, id);
}

std::vector<ThreadMapRecord> ParseThreadMap(const Record& record) {
  std::vector<ThreadMapRecord> threads;
  FieldReader fields = record.Fields();
  constexpr uint64_t kEntry = 8 + 16;  // thread, name
  for (uint64_t left = fields.U64(); left != 0 && fields.remaining() >= kEntry; --left) {
    ThreadMapRecord thread;
    thread.tid = static_cast<int32_t>(fields.U64());
    thread.comm = TextOf(fields.Take(16));
    threads.push_back(std::move(thread));
  }
  return threads;
}

}  // namespace flowback::perf
