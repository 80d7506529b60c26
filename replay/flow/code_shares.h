// SPDX-License-Identifier: MIT
// How the executed instructions are shared out among functions, objects (files) or source lines.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mix_bits.h"
#include "flowback/decode/code_image.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/block_counts.h"
#include "flowback/replay/functions.h"
#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"
#include "replay/calls/function_entries.h"

namespace flowback {

enum class ShareKind : uint8_t { kFunction, kObject, kLine };

// A function, object or line. Texts are empty if they are not known.
struct SharePlace {
  std::string function;  // of kFunction
  std::string object;    // of kFunction and kObject: its path as recorded
  std::string file;      // of kLine
  uint32_t line = 0;     // of kLine; 0: not known

  auto operator<=>(const SharePlace&) const = default;
};

struct CodeShare {
  uint64_t instructions = 0;
  uint64_t calls = 0;              // however they came there, as FunctionEntries counts them
  uint64_t call_instructions = 0;  // that led there
};
using CodeShares = std::map<SharePlace, CodeShare>;

// Where the names of places come from, which must outlive the counter.
struct ShareNames {
  Symbolizer& symbolizer;
  SourceLines& lines;
  FunctionFinder& functions;
  // Returns the path under which the file of a section was recorded.
  std::function<std::string_view(const std::string& file)> recorded_path;
};

// Adds up the counts of flows. Uses memory proportional to the code that ran.
class ShareCounter final : public BlockCountConsumer {
 public:
  ShareCounter(ShareKind kind, ShareNames names)
      : kind_(kind), names_(std::move(names)), entries_(names_.functions) {}

  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override;
  // Looks up the places of all blocks. REQUIRES: the code still lives.
  CodeShares Take();

 private:
  using Place = std::pair<const AddressSpace*, uint64_t>;  // address
  struct Block {
    std::vector<uint8_t> lengths;
    std::vector<uint64_t> times;  // [n]: how often it executed n + 1 instructions
  };
  struct HashOfPlace {
    size_t operator()(const Place& place) const {
      return MixBits(place.second + reinterpret_cast<uintptr_t>(place.first)) >> 20;
    }
  };

  SharePlace PlaceOf(const AddressSpace* space, uint64_t ip) const;

  ShareKind kind_;
  ShareNames names_;
  std::unordered_map<Place, Block, HashOfPlace> blocks_;
  FunctionEntries entries_;
};

}  // namespace flowback
