// SPDX-License-Identifier: MIT
// The memos of one decoder, kept between decodes like the graphs that they are of.
#pragma once

#include <cstddef>
#include <list>

#include "decode/pt/flow_names.h"
#include "decode/pt/path_memo.h"

namespace flowback::pt {

class MemoCache {
 public:
  // Walks of one graph; those of traces with and of traces without compressed returns differ. A
  // memo is big, and there may be thousands of processes: only those used last are kept. What is
  // returned is valid until the next call.
  PathMemo& Of(BlockGraph& graph, bool compressed_returns,
               MemoContent content = MemoContent::kUses);

 private:
  static constexpr size_t kMost = 8;

  std::list<PathMemo> memos_;  // the one used last first
};

// What a decoder knows of code, for each thread that it decodes on.
struct CodeMemory {
  GraphCache graphs;
  MemoCache memos;
};

}  // namespace flowback::pt
