// SPDX-License-Identifier: MIT
#include "decode/pt/memo/memo_cache.h"

#include <algorithm>

namespace flowback::pt {

PathMemo& MemoCache::Of(BlockGraph& graph, bool compressed_returns, MemoContent content) {
  const auto found = std::ranges::find_if(memos_, [&](const PathMemo& memo) {
    return &memo.graph() == &graph && memo.compressed_returns() == compressed_returns &&
           memo.content() == content;
  });
  if (found != memos_.end()) {
    memos_.splice(memos_.begin(), memos_, found);
  } else {
    if (memos_.size() == most_) memos_.pop_back();
    memos_.emplace_front(graph, compressed_returns, content);
  }
  return memos_.front();
}

}  // namespace flowback::pt
