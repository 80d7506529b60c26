// SPDX-License-Identifier: MIT
#include <list>
#include <optional>
#include <vector>

#include "flowback/replay/thread_cursor.h"

namespace flowback {

// A thread whose cursor is not in memory stands at a place, or where ToTime leads: the latter is
// worked out only on request.
class CursorGroup::Impl {
 public:
  explicit Impl(FlowIndex& index) : index_(index), parked_(index.threads().size()) {}

  size_t size() const { return parked_.size(); }
  void ToTime(uint64_t tsc) {
    loaded_.clear();
    for (ParkedThread& thread : parked_) thread = {.tsc = tsc, .place = {}};
  }
  ThreadCursor& At(size_t thread) {
    for (auto at = loaded_.begin(); at != loaded_.end(); ++at) {
      if (at->thread != thread) continue;
      loaded_.splice(loaded_.begin(), loaded_, at);
      return loaded_.front().cursor;
    }
    if (loaded_.size() == kLive) {
      parked_[loaded_.back().thread].place = loaded_.back().cursor.place();
      loaded_.pop_back();
    }
    Wake(thread);
    return loaded_.front().cursor;
  }

 private:
  struct ParkedThread {
    std::optional<uint64_t> tsc;  // ToTime's; empty: it was not called
    std::optional<ThreadCursor::Place> place;
  };
  struct LoadedThread {
    size_t thread;
    ThreadCursor cursor;
  };

  void Wake(size_t thread) {
    using Start = ThreadCursor::Start;
    const ParkedThread& was = parked_[thread];
    const Start start = was.place || was.tsc ? Start::kEnd : Start::kBegin;
    loaded_.push_front({thread, ThreadCursor(index_, index_.threads()[thread], start)});
    ThreadCursor& cursor = loaded_.front().cursor;
    if (was.place) {
      cursor.Return(*was.place);
    } else if (was.tsc) {
      cursor.ToTime(*was.tsc);
    }
  }

  FlowIndex& index_;
  std::vector<ParkedThread> parked_;  // of those awake it is what it was
  std::list<LoadedThread> loaded_;    // the one used last first
};

CursorGroup::CursorGroup(FlowIndex& index) : impl_(std::make_unique<Impl>(index)) {}
CursorGroup::CursorGroup(CursorGroup&&) noexcept = default;
CursorGroup& CursorGroup::operator=(CursorGroup&&) noexcept = default;
CursorGroup::~CursorGroup() = default;

size_t CursorGroup::size() const { return impl_->size(); }
void CursorGroup::ToTime(uint64_t tsc) { impl_->ToTime(tsc); }
ThreadCursor& CursorGroup::operator[](size_t thread) { return impl_->At(thread); }

}  // namespace flowback
