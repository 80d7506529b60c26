// SPDX-License-Identifier: MIT
// The memos of one decoder. They are kept from one Decode to the next, as the block graphs are.
#pragma once

#include <cstddef>
#include <list>

#include "decode/pt/flow_names.h"
#include "decode/pt/path_memo.h"

namespace flowback::pt {

class MemoCache {
 public:
  // The memo of one graph's walks. Traces with and without compressed returns need memos of their
  // own. A memo is big, and there may be thousands of processes, so only the few that were used
  // last are kept: what is returned is valid until the next call.
  PathMemo& Of(BlockGraph& graph, bool compressed_returns,
               MemoContent content = MemoContent::kUses);

 private:
  static constexpr size_t kMost = 8;

  std::list<PathMemo> memos_;  // the one used last first
};

// What a decoder keeps about code. It has one for each thread on which it decodes.
struct CodeMemory {
  GraphCache graphs;
  MemoCache memos;
};

}  // namespace flowback::pt
