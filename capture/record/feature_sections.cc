// SPDX-License-Identifier: MIT
#include "capture/record/feature_sections.h"

#include <algorithm>
#include <array>

#include "capture/formats/perf_layout.h"
#include "capture/record/little_endian_buffer.h"

namespace flowback::record {

Status WriteFeatureSections(OutputFile& file, std::vector<HeaderFeature> features) {
  constexpr uint64_t kBitsAt = 72;                          // in the header
  constexpr uint64_t kSectionBytes = 2 * sizeof(uint64_t);  // of the table: offset and size
  std::ranges::sort(features, {}, &HeaderFeature::bit);  // their sections stand in the bits' order
  LittleEndianBuffer table;
  LittleEndianBuffer contents;
  const uint64_t contents_at = file.size() + features.size() * kSectionBytes;
  std::array<uint64_t, perf::kFeatureBits / 64> bits{};
  for (const auto& [bit, content] : features) {
    bits[bit / 64] |= uint64_t{1} << bit % 64;
    table.U64(contents_at + contents.size());
    table.U64(content.size());
    contents.Append(content.bytes());
  }
  if (Status written = file.Write(table.bytes()); !written) return written;
  if (Status written = file.Write(contents.bytes()); !written) return written;
  LittleEndianBuffer words;
  for (const uint64_t word : bits) words.U64(word);
  return file.WriteAt(kBitsAt, words.bytes());
}

}  // namespace flowback::record
