// SPDX-License-Identifier: MIT
// Places in code, and shares, as the tables of `branches` show them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/reading/opened_recording.h"
#include "replay/writers/text/json.h"

namespace flowback::cli {

// "main+0x8d (lbr_test_loop) at loop.c:12", as far as that is known. `space` may be null; `object`
// is the file's path, or empty if the code is in no file.
std::string PlaceText(CodeSymbols& names, const AddressSpace* space, uint64_t address,
                      std::string_view object);

// "sym" and "symoff", "file" and "line" of a place; null where they are not known.
void AddSymbolJson(CodeSymbols& names, const AddressSpace* space, uint64_t address, JsonLine& line);
void AddSourceJson(CodeSymbols& names, const AddressSpace* space, uint64_t address, JsonLine& line);
// "object" and "offset": the file's path and the place in it; null without one.
void AddObjectJson(std::string_view object, uint64_t offset, JsonLine& line);

// "12.5%"; "-" of nothing.
std::string Share(uint64_t part, uint64_t whole);

}  // namespace flowback::cli
