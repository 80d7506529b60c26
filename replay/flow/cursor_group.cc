// SPDX-License-Identifier: MIT
#include <list>
#include <optional>
#include <vector>

#include "flowback/replay/thread_cursor.h"

namespace flowback {

// A thread whose cursor is not in memory stands at a place, or where ToTime leads: the latter is
// worked out only when somebody asks.
class CursorGroup::Impl {
 public:
  explicit Impl(FlowIndex& index) : index_(index), asleep_(index.threads().size()) {}

  size_t size() const { return asleep_.size(); }
  void ToTime(uint64_t tsc) {
    awake_.clear();
    for (Asleep& thread : asleep_) thread = {.tsc = tsc, .place = {}};
  }
  ThreadCursor& At(size_t thread) {
    for (auto at = awake_.begin(); at != awake_.end(); ++at) {
      if (at->thread != thread) continue;
      awake_.splice(awake_.begin(), awake_, at);
      return awake_.front().cursor;
    }
    if (awake_.size() == kLive) {
      asleep_[awake_.back().thread].place = awake_.back().cursor.place();
      awake_.pop_back();
    }
    Wake(thread);
    return awake_.front().cursor;
  }

 private:
  struct Asleep {
    std::optional<uint64_t> tsc;  // ToTime's; empty: there was none
    std::optional<ThreadCursor::Place> place;
  };
  struct Awake {
    size_t thread;
    ThreadCursor cursor;
  };

  void Wake(size_t thread) {
    using Start = ThreadCursor::Start;
    const Asleep& was = asleep_[thread];
    const Start start = was.place || was.tsc ? Start::kEnd : Start::kBegin;
    awake_.push_front({thread, ThreadCursor(index_, index_.threads()[thread], start)});
    ThreadCursor& cursor = awake_.front().cursor;
    if (was.place) {
      cursor.Return(*was.place);
    } else if (was.tsc) {
      cursor.ToTime(*was.tsc);
    }
  }

  FlowIndex& index_;
  std::vector<Asleep> asleep_;  // of those awake it is what it was
  std::list<Awake> awake_;      // the one used last first
};

CursorGroup::CursorGroup(FlowIndex& index) : impl_(std::make_unique<Impl>(index)) {}
CursorGroup::CursorGroup(CursorGroup&&) noexcept = default;
CursorGroup& CursorGroup::operator=(CursorGroup&&) noexcept = default;
CursorGroup::~CursorGroup() = default;

size_t CursorGroup::size() const { return impl_->size(); }
void CursorGroup::ToTime(uint64_t tsc) { impl_->ToTime(tsc); }
ThreadCursor& CursorGroup::operator[](size_t thread) { return impl_->At(thread); }

}  // namespace flowback
