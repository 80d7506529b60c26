// SPDX-License-Identifier: MIT
// A decoder's state as bytes, and bytes as a state. One list of a type's parts (state_parts.h)
// serves both ways, so that what is written and what is read can't differ.
//
// Numbers are written seven bits to a byte, the lowest first, as most are small; what is pointed to
// is written by its name (state_names.h).
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "decode/pt/state/state_names.h"
#include "flowback/base/bytes.h"

namespace flowback::pt {

class StateWriter {
 public:
  static constexpr bool kReads = false;

  explicit StateWriter(const StateNames& names) : names_(names) {}

  void Number(uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes_.push_back(static_cast<uint8_t>(number | 0x80));
    bytes_.push_back(static_cast<uint8_t>(number));
  }
  void Word(uint64_t word) {
    for (int i = 0; i < 8; ++i, word >>= 8) bytes_.push_back(static_cast<uint8_t>(word));
  }
  template <class... What>
  void Pointer(const What&... what) {
    const std::optional<StateNames::Name> name = names_.Of(what...);
    if (!name) return Fail();
    Number(*name);
  }
  // The state can't be told in bytes.
  void Fail() { ok_ = false; }
  // Empty where it can't.
  std::vector<uint8_t> Take() { return ok_ ? std::exchange(bytes_, {}) : std::vector<uint8_t>(); }

 private:
  const StateNames& names_;
  std::vector<uint8_t> bytes_;
  bool ok_ = true;
};

// Reads what a StateWriter wrote. Of other bytes it makes no sense, but nothing worse.
class StateReader {
 public:
  static constexpr bool kReads = true;

  StateReader(const StateNames& names, Bytes bytes) : names_(names), rest_(bytes) {}

  uint64_t Number() {
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const uint8_t byte = rest_.front();
      rest_ = rest_.subspan(1);
      number |= uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    Fail();
    return 0;
  }
  uint64_t Word() {
    if (rest_.size() < 8) {
      Fail();
      return 0;
    }
    const uint64_t word = LoadLittleEndian(rest_.data(), 8);
    rest_ = rest_.subspan(8);
    return word;
  }
  // How many items follow, each of which takes a byte at least.
  size_t Count() {
    const uint64_t count = Number();
    if (count <= rest_.size()) return static_cast<size_t>(count);
    Fail();
    return 0;
  }
  template <class What>
  void Pointer(What& what) {
    if (!names_.Find(Number(), what)) Fail();
  }
  void Section(std::shared_ptr<const CodeSection>& code, uint64_t address) {
    if (!names_.Find(Number(), address, code)) Fail();
  }
  // The run's space and lengths. REQUIRES: its address and mode are known.
  void Block(BlockRun& run) {
    const StateNames::Name space = Number();
    if (!names_.FindBlock(space, Number(), run)) Fail();
  }
  void Fail() {
    ok_ = false;
    rest_ = {};
  }
  bool ok() const { return ok_; }
  // All has been read, and all of it made sense.
  bool Done() const { return ok_ && rest_.empty(); }

 private:
  const StateNames& names_;
  Bytes rest_;
  bool ok_ = true;
};

}  // namespace flowback::pt
