// SPDX-License-Identifier: MIT
// Which code is valid now: walks an address-space history forward and keeps a block graph for each
// address space and mode it has met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "decode/flow/block_graph.h"
#include "flowback/decode/code_image.h"

namespace flowback::flow {

// Block graphs by address space and mode. They are kept from one decode to the next, so that the
// next one need not walk the same code for the first time again.
class GraphCache {
 public:
  BlockGraph& Get(const std::shared_ptr<const AddressSpace>& space, CodeMode mode);

 private:
  std::map<std::pair<const AddressSpace*, CodeMode>, std::unique_ptr<BlockGraph>> graphs_;
};

class CodeView {
 public:
  CodeView(const AddressSpaceHistory& history, GraphCache& graphs)
      : history_(&history), graphs_(graphs) {}

  // From here on the code is another process's, from that process's beginning on.
  void Use(const AddressSpaceHistory& history) {
    if (&history != history_) current_ = 0;
    history_ = &history;
  }

  bool Uses(const AddressSpaceHistory& history) const { return &history == history_; }

  struct Place {
    const AddressSpaceHistory* history = nullptr;
    size_t epoch = 0;
    bool operator==(const Place&) const = default;
  };
  Place place() const { return {history_, current_}; }
  void Return(const Place& place) {
    history_ = place.history;
    current_ = place.epoch;
  }

  // The graph of the current epoch.
  BlockGraph& Graph(CodeMode mode) { return graphs_.Get(Epoch().space, mode); }
  // Moves to the epoch that holds at `time` (0: not known) or after `instructions`, whichever the
  // history goes by. Never backwards. Without `programs` it stops ahead of the next program that
  // execve started. Returns whether the address space changed.
  bool Advance(uint64_t time, uint64_t instructions, bool programs = true);
  // Returns when the next program begins, in nanoseconds; empty: the records have none.
  std::optional<uint64_t> NextProgram();
  // Moves on to the next epoch if that maps `address`, which is unmapped now. The trace's time lags
  // behind the kernel's by the distance between two timing packets. Does not move on if the current
  // epoch explains what is missing there, or if records were lost: another program may have that
  // address later.
  bool AdvanceFor(uint64_t address);

 private:
  const AddressSpaceHistory::Epoch& Epoch() const { return history_->epochs[current_]; }

  const AddressSpaceHistory* history_;
  GraphCache& graphs_;
  size_t current_ = 0;
  // What NextProgram found last: from `from` of `history` on, the first program is `at`.
  struct Program {
    const AddressSpaceHistory* history = nullptr;
    size_t from = 0;
    size_t at = 0;  // behind the last epoch: no program follows
  };
  Program program_;
};

}  // namespace flowback::flow
