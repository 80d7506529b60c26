// SPDX-License-Identifier: MIT
// What an Intel PT recording says about how it was made. For those who read or write such
// recordings, and for the source that decodes them; nobody else asks (TraceConfig).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flowback/model/machine.h"

namespace flowback {

// Returns the time-stamp counter's value whose lower 56 bits a TSC packet holds: the possible value
// nearest to `near`. If `near` is 0 (unknown), returns `low`.
constexpr uint64_t WholeTsc(uint64_t low, uint64_t near) {
  constexpr uint64_t kTurn = uint64_t{1} << 56;
  const uint64_t value = near == 0 ? low : (near & ~(kTurn - 1)) | low;
  if (value < near && near - value > kTurn / 2 && value <= ~kTurn) return value + kTurn;
  if (value > near && near != 0 && value - near > kTurn / 2 && value >= kTurn) return value - kTurn;
  return value;
}

// Recording::source of such a recording, in decode/sources.def.
inline constexpr std::string_view kIntelPt = "intel_pt";

// Settings that a decoder needs; unknown ones stay empty.
struct PtConfig {
  CpuId cpu;
  // False when the recording says return compression was off (DisRETC); empty: not recorded.
  std::optional<bool> return_compression;
  // Whether an address filter was set; empty: not recorded. `filter_ranges` holds the filter's
  // traced ranges as far as their addresses are known (erratum SKL014 needs them).
  std::optional<bool> address_filter;
  std::vector<AddressRange> filter_ranges;
  // CPUID.15H: TSC ticks per crystal tick = tsc_ctc_numerator / tsc_ctc_denominator.
  uint32_t tsc_ctc_numerator = 0;
  uint32_t tsc_ctc_denominator = 0;
  // An MTC packet comes every 2^mtc_shift crystal ticks (IA32_RTIT_CTL.MTCFreq).
  std::optional<uint8_t> mtc_shift;
  bool mtc_off = false;  // the recording says that MTC packets were off
  // Maximum non-turbo ratio: TSC frequency / bus frequency, the unit of CBR.
  uint32_t nominal_ratio = 0;
  // The whole time-stamp counter at some moment of the recording; 0: not known. TSC packets lack
  // its upper 8 bits: no more than half a turn of the others (139 days at 3 GHz) may lie between
  // that moment and any packet.
  uint64_t tsc_reference = 0;
};

// Returns the settings of a recording or input; if it has none, settings in which all is unknown.
inline const PtConfig& PtConfigOf(const TraceConfig& config) {
  static const PtConfig unknown;
  const PtConfig* pt = config.As<PtConfig>();
  return pt != nullptr ? *pt : unknown;
}

}  // namespace flowback
