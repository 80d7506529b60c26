// SPDX-License-Identifier: MIT
// Which functions a flow index' stretches were spent in.
//
// The index has the hottest blocks of each stretch, over all threads that ran there. Threads of one
// process can't be told apart in it; those of several are, by the address spaces that the blocks
// are in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/decode/stream_input.h"
#include "flowback/replay/flow_index.h"
#include "flowback/replay/functions.h"
#include "replay/timeline/time_strip.h"

namespace flowback {

class FunctionTable;  // replay/timeline/thread_timeline_builder.h

// Functions of blocks, by their numbers in a table.
class BlockFunctions {
 public:
  BlockFunctions(FunctionFinder& finder, FunctionTable& table) : finder_(finder), table_(table) {}
  // REQUIRES: `space` is not null.
  uint32_t Of(const AddressSpace* space, uint64_t address);
  // Only a call shows where an unknown function begins. So all such code of a file is together:
  // also of one that is not there, if only its path is known.
  uint32_t OfNoFunction(const AddressSpace* space, uint64_t address);

 private:
  FunctionFinder& finder_;
  FunctionTable& table_;
  std::map<std::pair<const AddressSpace*, uint64_t>, uint32_t> known_;
  std::map<std::string, uint32_t> of_files_;  // their code in no known function
};

// What threads with the same code executed in a stretch.
struct StretchProfile {
  uint64_t instructions = 0;
  std::vector<FunctionPart> parts;  // together 1 at most
};

class StretchFunctions {
 public:
  // The arguments must outlive it.
  StretchFunctions(const FlowIndex& index, const StreamInputs& inputs, BlockFunctions& functions);

  // REQUIRES: it is a share of the index.
  const StretchProfile& Of(const FlowShare& share);
  // Returns the number of stretches with flow.
  size_t size() const { return stretches_.size(); }

 private:
  using Key = std::tuple<const Stream*, uint32_t, const AddressSpaceHistory*>;

  Key KeyOf(const FlowShare& share) const;
  StretchProfile& Find(const FlowShare& share);
  void Fill(const FlowShare& share, StretchProfile& profile);
  bool Has(const AddressSpaceHistory* code, const AddressSpace* space);

  const FlowIndex& index_;
  const StreamInputs& inputs_;
  BlockFunctions& functions_;
  std::map<Key, StretchProfile> profiles_;
  std::map<std::pair<const Stream*, uint32_t>, bool> stretches_;
  Key last_{};
  StretchProfile* last_profile_ = nullptr;
  std::unordered_map<const AddressSpaceHistory*, std::unordered_map<const AddressSpace*, bool>>
      spaces_;
};

}  // namespace flowback
