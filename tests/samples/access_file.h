// SPDX-License-Identifier: MIT
// Writes perf.data files with samples of accesses to memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/perf_records/perf_sample_id.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::support {

// perf_mem_data_src, field by field as linux/perf_event.h has them.
struct DataSourceWord {
  uint64_t op = 1, levels = 1, snoop = 1, lock = 1, tlb = 1, number = 0, remote = 0;

  uint64_t word() const {
    return op | levels << 5 | snoop << 19 | lock << 24 | tlb << 26 | number << 33 | remote << 37;
  }
};

struct WrittenAccess {
  uint64_t ip = 0, address = 0, time = 0;
  int32_t tid = 42;
  uint64_t weight = 0, data_source = 0, physical = 0;
  bool exact = true;
};

class AccessFile {
 public:
  static constexpr int32_t kProcess = 42;
  static constexpr uint64_t kMemoryId = 100, kOpId = 101, kFetchId = 102;
  static constexpr uint32_t kOpType = 11, kFetchType = 10;

  // `weight_type`: perf::kSampleWeight or kSampleWeightStruct; `more`: further fields of samples.
  // `ibs`: with the events of IBS.
  explicit AccessFile(uint64_t weight_type = perf::kSampleWeight, uint64_t more = 0,
                      bool ibs = true) {
    using namespace perf;
    const uint64_t usual = kSampleIdentifier | kSampleIp | kSampleTid | kSampleTime | kSampleCpu;
    file_.AddEvent({.type = 4,
                    .config = 0x1cd,
                    .sample_type = usual | kSampleAddr | weight_type | kSampleDataSource |
                                   kSamplePhysicalAddress | more,
                    .sample_id_all = true,
                    .ids = {kMemoryId}});
    if (!ibs) return;
    file_.AddEvent({.type = kOpType,
                    .config = 0,
                    .sample_type = usual | kSampleRaw,
                    .sample_id_all = true,
                    .ids = {kOpId}});
    file_.AddEvent({.type = kFetchType,
                    .config = 0,
                    .sample_type = usual | kSampleRaw,
                    .sample_id_all = true,
                    .ids = {kFetchId}});
  }

  void Map(uint64_t address, uint64_t size, uint64_t offset, std::string_view path) {
    file_.Mmap2(kProcess, address, size, offset, path,
                {.time = 1, .pid = kProcess, .tid = kProcess, .cpu = 0, .id = kMemoryId});
  }
  void Add(const WrittenAccess& access, const FieldWriter& registers = {}) {
    FieldWriter body = Head(kMemoryId, access.ip, access.tid, access.time);
    body.U64(access.address).U32(0).U32(0).U64(access.weight).U64(access.data_source);
    body.Raw(registers.bytes).U64(access.physical);
    file_.Record(perf::kRecordSample, Misc(access.exact), body);
  }
  // Registers of IBS behind the unit's features.
  void AddIbs(uint64_t id, uint64_t ip, uint64_t time, uint32_t features,
              const std::vector<uint64_t>& registers) {
    FieldWriter body = Head(id, ip, kProcess, time);
    body.U32(0).U32(0).U32(static_cast<uint32_t>(4 + 8 * registers.size())).U32(features);
    for (const uint64_t word : registers) body.U64(word);
    file_.Record(perf::kRecordSample, Misc(true), body);
  }
  // As perf says of an AMD machine, with the events' names.
  void TellAmd(std::string_view cpuid = "AuthenticAMD,25,33,0") {
    file_.TextFeature(perf::kFeatureArch, "x86_64");
    file_.TextFeature(perf::kFeatureCpuid, cpuid);
    FieldWriter pmus, events;
    pmus.U32(3);
    events.U32(3).U32(0);  // of attributes, which are not repeated
    for (const auto& [type, pmu, event] :
         {std::tuple<uint32_t, std::string_view, std::string_view>(4, "cpu", "cpu/mem-loads/P"),
          {kOpType, "ibs_op", "ibs_op//p"},
          {kFetchType, "ibs_fetch", "ibs_fetch//"}}) {
      pmus.U32(type);
      Text(pmu, pmus);
      events.U32(0);  // ids
      Text(event, events);
    }
    file_.Feature(kPmuMappings, pmus);
    file_.Feature(perf::kFeatureEventDescriptions, events);
  }
  PerfDataBuilder& builder() { return file_; }
  std::vector<uint8_t> Build() const { return file_.Build(); }

 private:
  static constexpr unsigned kPmuMappings = 16;  // a feature that perf looks at

  static void Text(std::string_view text, FieldWriter& to) {
    FieldWriter padded;
    padded.Text(text, 64);
    to.U32(static_cast<uint32_t>(padded.bytes.size())).Raw(padded.bytes);
  }
  static uint16_t Misc(bool exact) {
    return static_cast<uint16_t>(2 | (exact ? perf::kMiscExactIp : 0));
  }
  static FieldWriter Head(uint64_t id, uint64_t ip, int32_t tid, uint64_t time) {
    FieldWriter body;
    return body.U64(id).U64(ip).U32(kProcess).U32(static_cast<uint32_t>(tid)).U64(time);
  }

  PerfDataBuilder file_;
};

}  // namespace flowback::support
