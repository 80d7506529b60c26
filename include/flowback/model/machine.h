// SPDX-License-Identifier: MIT
// What is known about the machine and the settings a recording was made with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flowback {

// A CPU's identity as CPUID leaf 1 gives it, displayed family and model; selects the errata.
struct CpuId {
  bool intel = true;  // vendor GenuineIntel
  uint16_t family = 0;
  uint8_t model = 0;
  uint8_t stepping = 0;

  bool known() const { return family != 0; }
  bool operator==(const CpuId&) const = default;
};

// perf's conversion of TSC ticks to its clock's nanoseconds:
// zero + (tsc >> shift) * mult + (((tsc & ((1 << shift) - 1)) * mult) >> shift).
struct TimeConversion {
  uint16_t shift = 0;
  uint32_t mult = 0;
  uint64_t zero = 0;

  bool known() const { return mult != 0; }
  uint64_t ToNanoseconds(uint64_t tsc) const {
    const uint64_t quotient = tsc >> shift;
    const uint64_t remainder = tsc & ((uint64_t{1} << shift) - 1);
    return zero + quotient * mult + ((remainder * mult) >> shift);
  }
};

// The time-stamp counter's value of which a TSC packet holds the lower 56 bits: of those that may
// be meant, the one nearest to `near`. `near` 0 is not known: then `low` itself.
constexpr uint64_t WholeTsc(uint64_t low, uint64_t near) {
  constexpr uint64_t kTurn = uint64_t{1} << 56;
  const uint64_t value = near == 0 ? low : (near & ~(kTurn - 1)) | low;
  if (value < near && near - value > kTurn / 2 && value <= ~kTurn) return value + kTurn;
  if (value > near && near != 0 && value - near > kTurn / 2 && value >= kTurn) return value - kTurn;
  return value;
}

// Addresses from `begin` up to but not including `end`.
struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Contains(uint64_t address) const { return address >= begin && address < end; }
};

// Intel PT settings that a decoder needs; what is unknown stays empty.
struct PtConfig {
  CpuId cpu;
  // False when the recording says return compression was off (DisRETC); empty: not recorded.
  std::optional<bool> return_compression;
  // The privilege levels that were traced; empty: not recorded.
  std::optional<bool> user_traced;
  std::optional<bool> kernel_traced;
  // An address filter was set; `filter_ranges` holds its traced ranges where they are known at run
  // time (erratum SKL014 needs them).
  bool address_filter = false;
  std::vector<AddressRange> filter_ranges;
  // CPUID.15H: TSC ticks per crystal tick = tsc_ctc_numerator / tsc_ctc_denominator.
  uint32_t tsc_ctc_numerator = 0;
  uint32_t tsc_ctc_denominator = 0;
  // An MTC packet comes every 2^mtc_shift crystal ticks (IA32_RTIT_CTL.MTCFreq).
  std::optional<uint8_t> mtc_shift;
  bool mtc_off = false;  // the recording says that there are none
  // Maximum non-turbo ratio: TSC frequency / bus frequency, the unit of CBR.
  uint32_t nominal_ratio = 0;
  TimeConversion time;
  // The whole time-stamp counter at some moment of the recording; 0: not known. TSC packets lack
  // its upper 8 bits: no more than half a turn of the others (139 days at 3 GHz) may lie between
  // that moment and any packet.
  uint64_t tsc_reference = 0;
};

// Where a recording between functions (--from, --until) was switched on or off.
struct SpanPlace {
  std::string function;
  std::string file;     // empty: no code that was mapped had such a function
  uint64_t offset = 0;  // in the file
  bool operator==(const SpanPlace&) const = default;
};

// The recording's header facts, for `info`; empty strings where the file has none.
struct MachineInfo {
  std::string hostname;
  std::string os_release;
  std::string architecture;  // uname -m
  std::string cpu_description;
  std::string cpuid;         // "GenuineIntel,6,94,3"
  std::string command_line;  // of the recorder
  std::string recorder;      // e.g. "perf 6.1.0", "flowback (emulated: step)"
  uint32_t cpus_online = 0;
  bool emulated = false;  // written by an emulating engine, not by hardware
  // Recorded was from these functions on and up to those, by thread. Both empty: everything.
  std::vector<SpanPlace> from;
  std::vector<SpanPlace> until;
};

}  // namespace flowback
