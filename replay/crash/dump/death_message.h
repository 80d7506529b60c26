// SPDX-License-Identifier: MIT
// Reads from a core dump's memory what a program's libraries said before they ended it, and the
// type and text of an uncaught exception.
//
// Sources: glibc keeps the text of its last message behind the symbol __abort_msg (a size of four
// bytes, then the text); the Itanium C++ ABI has the layout of type descriptions, and libstdc++'s
// std::logic_error and std::runtime_error point to their text with their second word.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "flowback/decode/code_image.h"
#include "replay/debug/values/end_core.h"
#include "replay/symbols/elf/data_names.h"

namespace flowback {

// Reads the memory of one process.
class DeathMessages {
 public:
  // `function_at`: the name of the function at an address; empty: not known.
  DeathMessages(const EndCore& core, const AddressSpace& space, DataNames& names,
                std::function<std::string(uint64_t)> function_at)
      : core_(core),
        space_(space),
        names_(names),
        function_at_(std::move(function_at)),
        word_size_(TraitsOf(core.mode()).bits / 8) {}

  // Returns the last message of the C library, without the newline. Empty: the library wrote none,
  // or the dump lacks the memory.
  std::string OfLibrary() const;
  // Returns the name of the type whose std::type_info has that address: "std::runtime_error".
  // Empty: the dump has no type there.
  std::string TypeName(uint64_t type) const;
  // Returns the text that what() returns for an object of that type. Empty: the object does not use
  // the what() of the standard library's exceptions with a text, or the dump lacks the memory.
  std::string ExceptionText(uint64_t object, uint64_t type) const;

 private:
  std::optional<uint64_t> Word(uint64_t address) const;
  // The n-th word behind an address.
  std::optional<uint64_t> Word(uint64_t address, unsigned number) const {
    return Word(address + number * word_size_);
  }
  std::string Text(uint64_t address, size_t most) const;
  // The mangled name in the type's description: "St13runtime_error".
  std::string MangledType(uint64_t type) const;
  // Whether the object uses what() of std::runtime_error or std::logic_error.
  bool HasUsualText(uint64_t object) const;
  // The only base of a class that has one; empty: it has none, or several.
  std::optional<uint64_t> BaseOf(uint64_t type) const;

  const EndCore& core_;
  const AddressSpace& space_;
  DataNames& names_;
  std::function<std::string(uint64_t)> function_at_;
  uint64_t word_size_;  // bytes of an address
};

}  // namespace flowback
