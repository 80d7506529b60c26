// SPDX-License-Identifier: MIT
// What the paths of a memo do to the call stack.
//
// Nearly every path returns from one call at most and leaves one open at most, and what one does
// others do, too: so few different changes, each kept once, are asked for again and again.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "decode/call_change.h"

namespace flowback::pt {

// The number of a change in one table; 0: none.
using PathCalls = uint32_t;

class PathCallTable {
 public:
  // The change stays until Clear.
  PathCalls Keep(CallChange change) {
    if (change.Nothing()) return 0;
    Brief brief;
    if (!change.usual) {
      brief.more = kUnusual;
    } else if (!IsBrief(change)) {
      long_.push_back(std::move(change));
      brief.more = static_cast<uint32_t>(long_.size());
    } else {
      brief = {.returned = change.returned.empty() ? 0 : change.returned.front(),
               .called = change.called.newest(),
               .deepest = static_cast<uint32_t>(change.deepest)};
    }
    const auto [at, is_new] = numbers_.try_emplace(brief, static_cast<PathCalls>(brief_.size()));
    if (is_new) brief_.push_back(brief);
    return at->second;
  }
  bool full() const { return brief_.size() >= kMost || long_.size() >= kMostLong; }
  void Clear() { *this = {}; }

  // Appends the path's change to `to`. REQUIRES: `calls` is not 0.
  [[gnu::always_inline]] void AppendTo(CallChange& to, PathCalls calls) const {
    const Brief& brief = brief_[calls];
    if (!to.usual) return;
    bool returns = brief.returned != 0;
    if ((returns & (to.called.newest() != brief.returned)) | (brief.more != 0)) [[unlikely]] {
      if (brief.more != 0) return to.Append(long_[brief.more - 1]);
      to.Return(brief.returned);
      returns = false;
    }
    to.deepest = std::max<uint64_t>(to.deepest, to.called.size() - size_t{returns} + brief.deepest);
    to.called.Exchange(returns, brief.called, brief.called != 0);
  }

 private:
  struct Brief {
    uint64_t returned = 0;  // to this address a call returned; 0: none did
    uint64_t called = 0;    // the return address of a call that is open now; 0: none is
    uint32_t deepest = 0;
    uint32_t more = 0;  // the number of the full change in `long_`; 0: this one is complete

    auto operator<=>(const Brief&) const = default;
  };
  static constexpr size_t kMost = size_t{1} << 18;
  static constexpr size_t kMostLong = size_t{1} << 16;
  static constexpr uint32_t kUnusual = 1;

  static CallChange Unusual() {
    CallChange change;
    change.usual = false;
    return change;
  }
  static bool IsBrief(const CallChange& change) {
    return !change.replaced && change.returned.size() <= 1 && change.called.size() <= 1;
  }

  std::vector<Brief> brief_ = {{}};  // by number
  std::map<Brief, PathCalls> numbers_;
  std::vector<CallChange> long_ = {Unusual()};  // by Brief::more, less 1
};

}  // namespace flowback::pt
