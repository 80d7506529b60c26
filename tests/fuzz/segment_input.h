// SPDX-License-Identifier: MIT
// What the bytes of an input to fuzz_segment mean; its seeds are written the same way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flowback/base/bytes.h"

namespace flowback::testing {

// Header: options (1 byte), page of the image's address (4), size of the image (2); then the image,
// then the trace.
struct SegmentInput {
  static constexpr size_t kHeader = 7;
  static constexpr uint8_t k32Bit = 1;  // the mode in the PSB+ put before the trace
  static constexpr uint8_t kBare = 2;   // no PSB+ and TIP.PGE are put before the trace
  static constexpr uint8_t kNoReturnCompression = 4;

  uint8_t options = 0;
  uint32_t page = 0;
  Bytes image;
  Bytes trace;

  uint64_t address() const { return uint64_t{page} << 12; }

  // False for input too short to mean anything.
  static bool Parse(Bytes data, SegmentInput& out) {
    if (data.size() < kHeader) return false;
    out.options = data[0];
    out.page = static_cast<uint32_t>(LoadLittleEndian(&data[1], 4));
    const size_t wanted = LoadLittleEndian(&data[5], 2);
    data = data.subspan(kHeader);
    out.image = data.first(std::min(wanted, data.size()));
    out.trace = data.subspan(out.image.size());
    return true;
  }
  std::vector<uint8_t> Format() const {
    std::vector<uint8_t> data = {options};
    for (int i = 0; i < 4; ++i) data.push_back(static_cast<uint8_t>(page >> (8 * i)));
    for (int i = 0; i < 2; ++i) data.push_back(static_cast<uint8_t>(image.size() >> (8 * i)));
    data.insert(data.end(), image.begin(), image.end());
    data.insert(data.end(), trace.begin(), trace.end());
    return data;
  }
};

}  // namespace flowback::testing
