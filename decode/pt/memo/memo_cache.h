// SPDX-License-Identifier: MIT
// The memos of one decoder. They are kept from one Decode to the next, as the block graphs are.
#pragma once

#include <cstddef>
#include <list>

#include "decode/pt/flow_names.h"
#include "decode/pt/memo/path_memo.h"

namespace flowback::pt {

class MemoCache {
 public:
  // Keeps at most `most` memos.
  explicit MemoCache(size_t most = 8) : most_(most) {}

  // Returns the memo of one graph's walks. Traces with and without compressed returns need memos of
  // their own. A memo is big, and there may be thousands of processes, so only the few used last
  // are kept: the result is valid until the next call.
  PathMemo& Of(BlockGraph& graph, bool compressed_returns,
               MemoContent content = MemoContent::kUses);
  // No memo knows of a judge any more (PathMemo::FollowCalls). REQUIRES: the uses are counted.
  void FollowNoCalls(PathUses& evicted) {
    for (PathMemo& memo : memos_) memo.FollowCalls(nullptr, evicted);
  }

 private:
  const size_t most_;
  std::list<PathMemo> memos_;  // the one used last first
};

// Has uses of paths that are in no sum yet.
class UseHolder {
 public:
  // Another holder needs the memos: adds the uses up, and requests memos anew.
  virtual void LetGo() = 0;

 protected:
  ~UseHolder() = default;
};

// What a decoder keeps about code. It has one for each thread on which it decodes.
struct CodeMemory {
  GraphCache graphs;
  MemoCache memos;
  // Memos for holders that leave uses in them from one call to the next: one at a time.
  MemoCache held_memos{4};
  UseHolder* holder = nullptr;

  // Gives the memos to `next`; null: to no holder.
  void Hold(UseHolder* next) {
    if (holder != nullptr && holder != next) holder->LetGo();
    holder = next;
  }
};

}  // namespace flowback::pt
