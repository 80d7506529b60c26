// SPDX-License-Identifier: MIT
// The machine and the settings that a recording was made with.
#pragma once

#include <any>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
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

// Addresses from `begin` up to but not including `end`.
struct AddressRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  bool Contains(uint64_t address) const { return address >= begin && address < end; }
};

// The privilege levels that were traced; empty: not recorded.
struct TracedLevels {
  std::optional<bool> user;
  std::optional<bool> kernel;
};

// The settings of a kind of trace: an opaque value. Only its source, and readers and writers of
// such recordings, look into it; other code passes it on. Intel PT's are in
// base/recorded/pt_config.h.
class TraceConfig {
 public:
  TraceConfig() = default;
  template <class Config>
    requires(!std::same_as<std::remove_cvref_t<Config>, TraceConfig>)
  TraceConfig(Config config) : config_(std::move(config)) {}

  // Null: nothing is known, or the settings are another kind's.
  template <class Config>
  const Config* As() const {
    return std::any_cast<Config>(&config_);
  }
  // To be filled in; new ones where they are not this kind's.
  template <class Config>
  Config& Make() {
    if (As<Config>() == nullptr) config_.emplace<Config>();
    return *std::any_cast<Config>(&config_);
  }

 private:
  std::any config_;
};

// Where a recording between functions (--from, --until) was switched on or off.
struct WatchPlace {
  std::string function;
  std::string file;     // empty: no code that was mapped had such a function
  uint64_t offset = 0;  // in the file
  bool operator==(const WatchPlace&) const = default;
};

// The recording's header facts, for `info`; empty strings where the file has none.
struct MachineInfo {
  std::string hostname;
  std::string os_release;
  std::string architecture;  // uname -m
  std::string cpu_description;
  std::string cpuid;         // "GenuineIntel,6,94,3"
  CpuId cpu;                 // the same in numbers, or as the user says
  std::string command_line;  // of the recorder
  std::string recorder;      // e.g. "perf 6.1.0", "flowback (emulated: step)"
  uint32_t cpus_online = 0;
  bool emulated = false;  // written by an emulating engine, not by hardware
  // Recorded was from these functions on and up to those, by thread. Both empty: everything.
  std::vector<WatchPlace> from;
  std::vector<WatchPlace> until;
};

}  // namespace flowback
