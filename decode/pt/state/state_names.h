// SPDX-License-Identifier: MIT
// What a decoder's state points to, by numbers that mean the same in another process.
//
// A state names threads' stays, address spaces, code sections and places in the stream by their
// addresses in memory. A process that decodes the same input again has all of these again, in the
// same order but elsewhere. So their places in that order are their names; 0 is the name of
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "decode/flow/code_view.h"
#include "flowback/decode/decoder.h"

namespace flowback::pt {

// The input and the graphs must outlive it.
class StateNames {
 public:
  using Name = uint64_t;

  StateNames(const DecodeInput& input, flow::GraphCache& graphs);

  // Empty: it is none of the input's.
  std::optional<Name> Of(const ThreadStay* stay) const;
  std::optional<Name> Of(const AddressSpace* space) const;
  std::optional<Name> Of(const AddressSpaceHistory* history) const;
  // A place in the stream, or its end.
  std::optional<Name> Of(const uint8_t* place) const;
  std::optional<Name> Of(const flow::BlockGraph* graph) const;
  // Names the result of AddressSpace::SectionOrReason for `address` by its space.
  std::optional<Name> Of(const std::shared_ptr<const CodeSection>& code, uint64_t address) const;

  // The way back. False: there is no such name.
  bool Find(Name name, const ThreadStay*& stay) const;
  bool Find(Name name, const AddressSpaceHistory*& history) const;
  bool Find(Name name, const uint8_t*& place) const;
  bool Find(Name name, flow::BlockGraph*& graph) const;
  bool Find(Name name, uint64_t address, std::shared_ptr<const CodeSection>& code) const;
  // The first `count` instructions of the block at the run's address, in its mode.
  bool FindBlock(Name space, uint64_t count, BlockRun& run) const;

 private:
  using Space = std::shared_ptr<const AddressSpace>;

  void Add(const AddressSpaceHistory* history);

  const DecodeInput& input_;
  flow::GraphCache& graphs_;
  // In the order of their names, from 1 on.
  std::vector<const ThreadStay*> stays_;
  std::vector<const AddressSpaceHistory*> histories_;
  std::vector<Space> spaces_;
  std::unordered_map<const void*, Name> names_;  // of all of these
};

}  // namespace flowback::pt
