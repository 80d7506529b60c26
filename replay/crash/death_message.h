// SPDX-License-Identifier: MIT
// What a program's libraries said before they ended it, and what an exception was that nobody
// caught: read from a core dump's memory.
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
#include "replay/debug/end_core.h"
#include "replay/symbols/data_names.h"

namespace flowback {

// Reads the memory of one process, whose program has 64-bit addresses.
class DeathMessages {
 public:
  // `function_at`: the name of the function at an address; empty: not known.
  DeathMessages(const EndCore& core, const AddressSpace& space, DataNames& names,
                std::function<std::string(uint64_t)> function_at)
      : core_(core), space_(space), names_(names), function_at_(std::move(function_at)) {}

  // The last message with which the C library ended the program, without its line's end. Empty:
  // there is none, or the dump has not the memory.
  std::string OfLibrary() const;
  // The name of a type, by the address of its std::type_info: "std::runtime_error". Empty: the dump
  // has no such type there.
  std::string TypeName(uint64_t type) const;
  // The text that what() returns, of an object of that type. Empty: its what() is not that of the
  // standard library's exceptions with a text, or the dump has not the memory.
  std::string ExceptionText(uint64_t object, uint64_t type) const;

 private:
  std::optional<uint64_t> Word(uint64_t address) const;
  std::string Text(uint64_t address, size_t most) const;
  // As the type's description has it: "St13runtime_error".
  std::string MangledType(uint64_t type) const;
  // Whether the object's what() is that of std::runtime_error or std::logic_error.
  bool HasUsualText(uint64_t object) const;
  // The only base of a class that has one; empty: it has none, or several.
  std::optional<uint64_t> BaseOf(uint64_t type) const;

  const EndCore& core_;
  const AddressSpace& space_;
  DataNames& names_;
  std::function<std::string(uint64_t)> function_at_;
};

}  // namespace flowback
