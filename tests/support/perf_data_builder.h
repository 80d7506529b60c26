// SPDX-License-Identifier: MIT
// Writes perf.data files for tests: right ones, and wrong ones by hand.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace flowback::support {

// Little-endian fields, one after the other.
class FieldWriter {
 public:
  FieldWriter& U8(uint8_t value) { return Put(value, 1); }
  FieldWriter& U16(uint16_t value) { return Put(value, 2); }
  FieldWriter& U32(uint32_t value) { return Put(value, 4); }
  FieldWriter& U64(uint64_t value) { return Put(value, 8); }
  FieldWriter& Raw(const std::vector<uint8_t>& bytes);
  // With at least one NUL, padded with more of them to a multiple of `alignment`.
  FieldWriter& Text(std::string_view text, size_t alignment = 8);

  std::vector<uint8_t> bytes;

 private:
  FieldWriter& Put(uint64_t value, unsigned width);
};

// What the trailer of a kernel record says; the builder writes the fields its event asks for.
struct Trailer {
  uint64_t time = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  int32_t cpu = 0;
  uint64_t id = 0;
};

struct Event {
  uint32_t type = 8;
  uint64_t config = 0;
  uint64_t sample_type = 0;  // perf::kSample...
  bool sample_id_all = true;
  std::vector<uint64_t> ids;
  uint64_t branch_sample_type = 0;
  bool exclude_kernel = false;  // only what runs in user mode is traced
};

class PerfDataBuilder {
 public:
  // TID, TIME, CPU and IDENTIFIER, as `perf record -e intel_pt//` asks for.
  static const uint64_t kUsualSampleType;

  // An Intel PT event (PMU 8, ids 100) and a dummy event (ids 102) with the usual sample type,
  // whose AUXTRACE_INFO is UsualPtInfo().
  static PerfDataBuilder WithIntelPt();
  // PMU 8, shift 31, multiplier 894784853, zero 1000000000000, masks as Linux has them, TSC:CTC
  // 200/2, nominal ratio 24, no filter.
  static std::vector<uint64_t> UsualPtInfo();

  // Events have to come before the records: their sample type shapes the trailers.
  void AddEvent(Event event) { events_.push_back(std::move(event)); }

  // Any record: header, then body as it is.
  void Record(uint32_t type, uint16_t misc, const FieldWriter& body);
  // A kernel record: with the trailer of the event that has `trailer.id` (or of the first).
  void KernelRecord(uint32_t type, uint16_t misc, FieldWriter body, const Trailer& trailer);
  void AuxtraceInfo(const std::vector<uint64_t>& values, uint32_t type = 1);
  // perf's padding with zeros to eight bytes is added when `pad` says so.
  void Auxtrace(uint64_t offset, uint32_t idx, int32_t tid, int32_t cpu,
                const std::vector<uint8_t>& data, bool pad = true);

  void Mmap2(int32_t pid, uint64_t address, uint64_t size, uint64_t offset, std::string_view path,
             const Trailer& trailer);
  void Comm(int32_t pid, int32_t tid, std::string_view name, bool exec, const Trailer& trailer);
  void Fork(int32_t pid, int32_t tid, int32_t parent_pid, int32_t parent_tid,
            const Trailer& trailer);
  void Exit(int32_t pid, int32_t tid, const Trailer& trailer);
  void ItraceStart(int32_t pid, int32_t tid, const Trailer& trailer);
  void Aux(uint64_t offset, uint64_t size, uint64_t flags, const Trailer& trailer);

  void Feature(unsigned bit, const FieldWriter& content) { features_[bit] = content.bytes; }
  void TextFeature(unsigned bit, std::string_view text);

  // Offset in the file of the next record.
  uint64_t NextOffset() const { return DataOffset() + data_.size(); }
  std::vector<uint8_t> Build() const;

 private:
  uint64_t DataOffset() const;

  std::vector<Event> events_;
  std::vector<uint8_t> data_;
  std::map<unsigned, std::vector<uint8_t>> features_;
};

}  // namespace flowback::support
