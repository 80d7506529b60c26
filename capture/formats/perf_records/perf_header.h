// SPDX-License-Identifier: MIT
// The header of a perf.data file and the attributes of its events.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "capture/formats/input/field_reader.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/model/recording.h"

namespace flowback::perf {

struct PerfFileSection {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// The fields of perf_event_attr that matter to a reader.
struct EventAttr {
  uint32_t type = 0;  // the PMU's number
  uint64_t config = 0;
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t flags = 0;    // the bit field at byte 40
  int32_t clock_id = 0;  // valid when the flags say so
  uint64_t branch_sample_type = 0;
  uint64_t regs_user = 0;  // masks of the registers in a sample
  uint64_t regs_intr = 0;
  std::string name;  // "intel_pt//u"; empty when the file does not say
  std::vector<uint64_t> ids;

  bool sample_id_all() const { return flags & kAttrSampleIdAll; }
};

// The attribute that `entry` begins with. Newer fields are not needed, and fields that an older
// recorder left out are zero.
EventAttr ParseAttr(Bytes entry, ByteOrder order);

struct FileHeader {
  ByteOrder order = ByteOrder::kLittle;
  uint64_t attr_size = 0;  // of one entry of `attrs`: perf_event_attr and the section of its ids
  PerfFileSection attrs;
  PerfFileSection data;  // inside the file; cut there when the header says otherwise
  std::array<uint64_t, kFeatureBits / 64> features{};
  uint64_t feature_table = 0;  // offset of the features' sections

  bool Has(unsigned feature) const { return features[feature / 64] >> (feature % 64) & 1; }
};

// Appends a sentence to `warnings` for each error that does not stop reading. Errors: kUnreadable,
// with the offset, when the header is cut or contradicts itself.
Result<FileHeader> ReadFileHeader(Bytes file, const std::string& path,
                                  std::vector<Warning>& warnings);

// Returns the events. The file's size bounds the memory, not the header.
std::vector<EventAttr> ReadAttrs(Bytes file, const FileHeader& header,
                                 std::vector<Warning>& warnings);

}  // namespace flowback::perf
