// SPDX-License-Identifier: MIT
// Header features of perf.data that are strings and numbers.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>
#include <vector>

#include "capture/record/perf_data/little_endian_buffer.h"

namespace flowback::record {

class FeatureBuffer : public LittleEndianBuffer {
 public:
  static constexpr size_t kUnit = 64;  // strings take whole ones

  void String(std::string_view text) {
    U32(static_cast<uint32_t>((text.size() / kUnit + 1) * kUnit));
    Text(text, kUnit);
  }
};

inline FeatureBuffer StringFeature(std::string_view text) {
  FeatureBuffer feature;
  feature.String(text);
  return feature;
}

inline FeatureBuffer CpuCountFeature() {
  FeatureBuffer feature;
  feature.U32(static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_CONF)));
  feature.U32(static_cast<uint32_t>(sysconf(_SC_NPROCESSORS_ONLN)));
  return feature;
}

inline FeatureBuffer CommandLineFeature(const std::vector<std::string>& words) {
  FeatureBuffer feature;
  feature.U32(static_cast<uint32_t>(words.size()));
  for (const auto& word : words) feature.String(word);
  return feature;
}

}  // namespace flowback::record
