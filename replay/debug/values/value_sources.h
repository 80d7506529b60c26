// SPDX-License-Identifier: MIT
// The proven registers and memory of a thread at a moment. Each source is a row of
// replay/debug/values/value_sources.def; a value that none of them proves is unavailable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "replay/debug/machine/machine.h"
#include "replay/debug/values/end_core.h"
#include "replay/debug/values/image_memory.h"
#include "replay/debug/values/past_values.h"

namespace flowback {

// Whether gdb calls the program counter so, on any machine.
constexpr bool IsProgramCounter(std::string_view name) {
  return name == "rip" || name == "eip" || name == "pc";
}

class ValueSource {
 public:
  virtual ~ValueSource() = default;
  // A register's value, by the name that gdb gives it. Empty: this source does not prove it.
  virtual std::optional<uint64_t> Register(const MachineThread&, std::string_view) {
    return std::nullopt;
  }
  // Copies bytes from `address` on, as many as it proves, and returns their number.
  virtual size_t Memory(const MachineThread&, uint64_t, std::span<uint8_t>) { return 0; }
  // The siginfo_t of the signal that the thread got there. Empty: this source does not prove it.
  virtual Bytes Signal(const MachineThread&) { return {}; }
};

// What the sources read from.
struct ValueInput {
  ImageMemory& images;
  const EndCore* core = nullptr;  // of the process; null: none
  PastValues* past = nullptr;     // what led to it; null: none
};

// All sources. Used by one thread.
class ValueSources {
 public:
  // What `input` names must outlive it.
  explicit ValueSources(const ValueInput& input);

  std::optional<uint64_t> Register(const MachineThread& thread, std::string_view name);
  // Returns the proven bytes from `address` on, at most `size`.
  std::vector<uint8_t> Memory(const MachineThread& thread, uint64_t address, size_t size);
  Bytes Signal(const MachineThread& thread);

 private:
  std::vector<std::unique_ptr<ValueSource>> sources_;
};

}  // namespace flowback
