// SPDX-License-Identifier: MIT
// One record of perf.data while it is put together.
#pragma once

#include <cstdint>

#include "capture/record/perf_data/little_endian_buffer.h"
#include "flowback/model/recording.h"

namespace flowback::record {

inline constexpr size_t kRecordUnit = 8;  // records take whole ones

class RecordBuffer : public LittleEndianBuffer {
 public:
  RecordBuffer(uint32_t type, uint16_t misc) {
    U32(type);
    U16(misc);
    U16(0);  // size, set at the end
  }
  void Thread(const SidebandBase& base) {
    U32(static_cast<uint32_t>(base.pid));
    U32(static_cast<uint32_t>(base.tid));
  }
  // What sample_id_all adds to every record; the CPU where the events ask for it.
  void SampleId(const SidebandBase& base, bool with_cpu, uint64_t id) {
    Thread(base);
    U64(base.time);
    if (with_cpu) U64(static_cast<uint32_t>(base.cpu));
    U64(id);
  }
  Bytes Done() {
    SetU16(6, static_cast<uint16_t>(size()));
    return bytes();
  }
};

}  // namespace flowback::record
