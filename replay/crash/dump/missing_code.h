// SPDX-License-Identifier: MIT
// The code at which a thread died, where the recording and the files here lack it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flowback/decode/code_image.h"
#include "flowback/model/recording.h"

namespace flowback {

// Code that ran and whose bytes are not here.
struct MissingCode {
  std::string file;                  // as recorded; empty: not known
  std::optional<uint64_t> offset{};  // of the instruction in that file
  std::string why;                   // "the file was not found"; empty: not known
};

// Tells code whose bytes are missing from a jump to where no code was. `address` is where the
// thread died, and `space`, which may be null, has no bytes there. Empty: the processor found no
// code there either.
std::optional<MissingCode> MissingCodeAt(const ProcessEnd& end, const AddressSpace* space,
                                         uint64_t address);

}  // namespace flowback
