// SPDX-License-Identifier: MIT
#include "capture/record/perf_data/feature_sections.h"

#include <algorithm>
#include <utility>

namespace flowback::record {

FeatureSections EncodeFeatures(std::vector<HeaderFeature> features, uint64_t at) {
  constexpr uint64_t kSectionBytes = 2 * sizeof(uint64_t);  // of the table: offset and size
  std::ranges::sort(features, {}, &HeaderFeature::bit);  // their sections stand in the bits' order
  FeatureSections encoded;
  LittleEndianBuffer contents;
  const uint64_t contents_at = at + features.size() * kSectionBytes;
  for (const auto& [bit, content] : features) {
    encoded.bits[bit / 64] |= uint64_t{1} << bit % 64;
    encoded.sections.U64(contents_at + contents.size());
    encoded.sections.U64(content.size());
    contents.Append(content.bytes());
  }
  encoded.sections.Append(contents.bytes());
  return encoded;
}

Status WriteFeatureSections(OutputFile& file, std::vector<HeaderFeature> features) {
  constexpr uint64_t kBitsAt = 72;  // in the header
  const FeatureSections encoded = EncodeFeatures(std::move(features), file.size());
  if (Status written = file.Write(encoded.sections.bytes()); !written) return written;
  LittleEndianBuffer words;
  for (const uint64_t word : encoded.bits) words.U64(word);
  return file.WriteAt(kBitsAt, words.bytes());
}

}  // namespace flowback::record
