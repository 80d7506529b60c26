// SPDX-License-Identifier: MIT
// An object's code by its tables, before any instruction is looked at: where sections and functions
// are, and where control comes in from outside.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/replay/object_image.h"
#include "flowback/replay/static_code.h"

namespace flowback {

namespace symbols {
class SymbolFile;  // replay/symbols/elf/symbol_file.h
}

// Half-open, of addresses as linked.
struct LinkedRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct CodeOutline {
  std::shared_ptr<const symbols::SymbolFile> file;
  std::vector<LinkedRange> sections;  // sorted, without overlap, all with bytes
  // Together all of the sections. Code that no table calls a function has the source kWholeSection,
  // and may be padding. Members from begin to whole and `linkage_name` are set.
  std::vector<StaticFunction> functions;
  std::vector<uint64_t> entries;  // in no order

  static CodeOutline Of(const ObjectImage& image, const ImageSearch& search);
};

}  // namespace flowback
