// SPDX-License-Identifier: MIT
// The kernel's performance monitoring units, as sysfs describes them: each has a number, terms with
// the places of their bits, capabilities, and events with names.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "capture/kernel/kernel.h"

namespace flowback::kernel {

// The folder in which the kernel describes its PMUs.
inline constexpr char kPmuFolder[] = "/sys/bus/event_source/devices";

// A term's bits, "config1:0-7,32": lower bits of the value go into earlier ranges.
class TermBits {
 public:
  // Empty: not of that form.
  static std::optional<TermBits> Parse(std::string_view text);

  uint64_t largest() const;
  // REQUIRES: value <= largest().
  void Set(perf_event_attr& attr, uint64_t value) const;
  uint64_t Get(const perf_event_attr& attr) const;

 private:
  struct Range {
    unsigned first = 0, width = 0;
  };
  unsigned width() const;

  unsigned word_ = 0;  // of config, config1, config2
  std::vector<Range> ranges_;
};

struct Pmu {
  std::string name;
  uint32_t type = 0;  // perf_event_attr::type
  std::map<std::string, TermBits, std::less<>> format;
  std::map<std::string, std::string, std::less<>> caps;
  std::map<std::string, std::string, std::less<>> events;  // name: terms
  std::vector<int> cpus;                                   // those it is of; empty: all
  uint64_t address_filters = 0;                            // how many it has

  // Returns a capability as a number; 0: the PMU lacks it. Intel PT's driver writes hexadecimal
  // numbers without a mark, other drivers decimal numbers.
  uint64_t Cap(std::string_view cap) const;
  // The counters of a CPU: "cpu", on hybrid machines "cpu_core" and "cpu_atom", on Arm "armv8_...".
  bool of_core() const;
};

// Returns all PMUs of the kernel, by name.
std::vector<Pmu> ReadPmus(const SystemKernel& kernel);
// Null: no PMU has that name.
const Pmu* FindPmu(const std::vector<Pmu>& pmus, std::string_view name);

// "0-3,8": numbers in a list as the kernel writes them. Empty: not of that form.
std::optional<std::vector<int>> ParseCpuList(std::string_view text);

}  // namespace flowback::kernel
