// SPDX-License-Identifier: MIT
// `decode --as summary --by`: how the executed instructions are shared out among functions, objects
// (files) or lines of the source.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cli/listing/flow_printer.h"
#include "cli/listing/source_columns.h"
#include "flowback/decode/decoder.h"
#include "flowback/model/block_counts.h"
#include "replay/calls/function_entries.h"

namespace flowback::cli {

enum class ShareKind : uint8_t { kFunction, kObject, kLine };

// Errors: kUsage for a word that names none.
Result<ShareKind> ParseShareKind(const std::string& word);

// What counts together. Empty texts: not known.
struct SharePlace {
  std::string function;  // of kFunction
  std::string object;    // of kFunction and kObject: its path as recorded
  std::string file;      // of kLine
  uint32_t line = 0;     // of kLine; 0: not known

  auto operator<=>(const SharePlace&) const = default;
};

struct Share {
  uint64_t instructions = 0;
  uint64_t calls = 0;              // however they came there, as FunctionEntries counts them
  uint64_t call_instructions = 0;  // that led there
};
using Shares = std::map<SharePlace, Share>;

// Adds up the counts of flows. Its memory is in proportion to the code that ran.
class ShareCounter final : public BlockCountConsumer {
 public:
  ShareCounter(ShareKind kind, const PrintSettings& settings)
      : kind_(kind), settings_(settings), source_(settings), entries_(*settings.names.functions) {}

  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override;
  // Where a block's instructions belong is looked up here, once, as long as the code lives.
  Shares Take();

 private:
  using Place = std::pair<const AddressSpace*, uint64_t>;  // address
  struct Block {
    std::vector<uint8_t> lengths;
    std::vector<uint64_t> times;  // that so many of its instructions executed, less one
  };
  struct HashOfPlace {
    size_t operator()(const Place& place) const {
      constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
      return (place.second + reinterpret_cast<uintptr_t>(place.first)) * kFactor >> 20;
    }
  };

  SharePlace PlaceOf(const AddressSpace* space, uint64_t ip) const;

  ShareKind kind_;
  const PrintSettings& settings_;
  SourceColumns source_;
  std::unordered_map<Place, Block, HashOfPlace> blocks_;
  FunctionEntries entries_;
};

// Passes on the counts of the stays that are wanted.
class CountsOfStays final : public BlockCountConsumer {
 public:
  // `next` must outlive it.
  CountsOfStays(std::function<bool(const ThreadStay*)> wanted, BlockCountConsumer& next)
      : wanted_(std::move(wanted)), next_(next) {}
  void OnCounts(const ThreadStay* stay, const BlockCounts& counts) override {
    if (wanted_(stay)) next_.OnCounts(stay, counts);
  }

 private:
  std::function<bool(const ThreadStay*)> wanted_;
  BlockCountConsumer& next_;
};

// Most instructions first, and a line for all.
void PrintShares(ShareKind kind, const Shares& shares, bool json, Output& output);

}  // namespace flowback::cli
