// SPDX-License-Identifier: MIT
#include "capture/record/perf_data/sideband_buffers.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/record/perf_data/perf_data_events.h"
#include "capture/record/perf_data/perf_data_header.h"

namespace flowback::record {
namespace {

using namespace perf;

constexpr uint16_t kMiscUser = PERF_RECORD_MISC_USER;

void PutBuildId(RecordBuffer& record, const BuildId& id) {
  record.U8(static_cast<uint8_t>(id.bytes.size()));
  record.Zeros(3);
  record.Append(id.bytes);
  record.Zeros(kBuildIdField - id.bytes.size());
}

}  // namespace

RecordBuffer EncodeSideband(const MmapRecord& map) {
  const bool has_id = !map.build_id.empty();
  RecordBuffer record(kRecordMmap2,
                      static_cast<uint16_t>(kMiscUser | (has_id ? kMiscMmapBuildId : 0)));
  record.Thread(map);
  record.U64(map.address);
  record.U64(map.size);
  record.U64(map.file_offset);
  if (has_id)
    PutBuildId(record, map.build_id);
  else
    record.Zeros(4 + kBuildIdField);  // device and inode, not known
  record.U32(PROT_READ | PROT_EXEC);
  record.U32(MAP_PRIVATE);
  record.Text(map.path, kRecordUnit);
  return record;
}

RecordBuffer EncodeSideband(const CommRecord& comm) {
  RecordBuffer record(kRecordComm, comm.exec ? kMiscCommExec : 0);
  record.Thread(comm);
  record.Text(comm.comm, kRecordUnit);
  return record;
}

namespace {

RecordBuffer EncodeTask(uint32_t type, const SidebandBase& base, int32_t parent_pid,
                        int32_t parent_tid) {
  RecordBuffer record(type, 0);
  record.U32(static_cast<uint32_t>(base.pid));
  record.U32(static_cast<uint32_t>(parent_pid));
  record.U32(static_cast<uint32_t>(base.tid));
  record.U32(static_cast<uint32_t>(parent_tid));
  record.U64(base.time);
  return record;
}

}  // namespace

RecordBuffer EncodeSideband(const ForkRecord& fork) {
  return EncodeTask(kRecordFork, fork, fork.parent_pid, fork.parent_tid);
}

RecordBuffer EncodeSideband(const ExitRecord& exit) {
  return EncodeTask(kRecordExit, exit, exit.pid, exit.tid);
}

RecordBuffer EncodeSideband(const ItraceStartRecord& start) {
  RecordBuffer record(kRecordItraceStart, 0);
  record.Thread(start);
  return record;
}

RecordBuffer EncodeSideband(const AuxRecord& aux) {
  RecordBuffer record(kRecordAux, 0);
  record.U64(aux.offset);
  record.U64(aux.size);
  record.U64(aux.flags);
  return record;
}

RecordBuffer EncodeSideband(const SwitchRecord& change) {
  if (!change.out) return RecordBuffer(kRecordSwitch, 0);
  return RecordBuffer(
      kRecordSwitch,
      static_cast<uint16_t>(kMiscSwitchOut | (change.preempted ? kMiscSwitchOutPreempt : 0)));
}

RecordBuffer EncodeSideband(const LostRecord& lost) {
  RecordBuffer record(kRecordLost, 0);
  record.U64(kTraceEventId);
  record.U64(lost.count);
  return record;
}

}  // namespace flowback::record
