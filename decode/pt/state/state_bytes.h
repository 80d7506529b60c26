// SPDX-License-Identifier: MIT
// A decoder's state as bytes, and bytes as a state. One list of a type's parts (state_parts.h)
// serves both ways, so that writer and reader cannot differ. Pointers are written as names
// (state_names.h).
//
// Many of a state's numbers are times, counts and addresses that lie near each other. So a number
// that is not small is written as how far it lies from the nearest of the last ones:
//
//   5         -> 10                      twice the number
//   70000123  -> 1, 140000246            twice the place of the nearest one, and one; the distance
//   70000124  -> 1, 2                    the same, and now one is near
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/number_bytes.h"
#include "decode/pt/state/state_names.h"

namespace flowback::pt {

// The last numbers that were not small.
class NearNumbers {
 public:
  static constexpr uint64_t kSmall = 1 << 12;

  size_t NearestTo(uint64_t number) const {
    return static_cast<size_t>(
        std::ranges::min_element(
            numbers_, {}, [number](uint64_t of) { return std::min(of - number, number - of); }) -
        numbers_.begin());
  }
  uint64_t At(size_t place) const { return numbers_[place % kMost]; }
  void Add(uint64_t number) { numbers_[next_++ % kMost] = number; }

 private:
  static constexpr size_t kMost = 16;

  std::array<uint64_t, kMost> numbers_{};
  size_t next_ = 0;
};

class StateWriter : public NumberWriter {
 public:
  static constexpr bool kReads = false;

  explicit StateWriter(const StateNames& names) : names_(names) {}

  void Number(uint64_t number) {
    if (number < NearNumbers::kSmall) return NumberWriter::Number(number << 1);
    const size_t place = near_.NearestTo(number);
    NumberWriter::Number(place << 1 | 1);
    Distance(near_.At(place), number);
    if (near_.At(place) != number) near_.Add(number);
  }
  template <class... What>
  void Pointer(const What&... what) {
    const std::optional<StateNames::Name> name = names_.Of(what...);
    ok_ = ok_ && name;
    Number(name.value_or(0));
  }
  // Empty where the state points to what has no name.
  std::vector<uint8_t> Take() { return ok_ ? NumberWriter::Take() : std::vector<uint8_t>(); }

 private:
  const StateNames& names_;
  NearNumbers near_;
  bool ok_ = true;
};

// Malformed input yields garbage values, never undefined behaviour.
class StateReader : public NumberReader {
 public:
  static constexpr bool kReads = true;

  StateReader(const StateNames& names, Bytes bytes) : NumberReader(bytes), names_(names) {}

  uint64_t Number() {
    const uint64_t first = NumberReader::Number();
    if ((first & 1) == 0) return first >> 1;
    const uint64_t near = near_.At(first >> 1);
    const uint64_t number = Distance(near);
    if (number != near) near_.Add(number);
    return number;
  }
  size_t Count() { return AsCount(Number()); }
  template <class What>
  void Pointer(What& what) {
    if (!names_.Find(Number(), what)) Fail();
  }
  void Section(std::shared_ptr<const CodeSection>& code, uint64_t address) {
    if (!names_.Find(Number(), address, code)) Fail();
  }
  // The run's space and lengths. REQUIRES: its address and mode are known.
  void Lengths(BlockRun& run) {
    const StateNames::Name space = Number();
    if (!names_.FindBlock(space, Number(), run)) Fail();
  }

 private:
  const StateNames& names_;
  NearNumbers near_;
};

}  // namespace flowback::pt
