// SPDX-License-Identifier: MIT
// The cursor's parts: where it stands (cursor_position.h) and how it finds something
// (cursor_search.h).
#include "flowback/replay/thread_cursor.h"

#include "replay/flow/cursor_position.h"
#include "replay/flow/cursor_search.h"

namespace flowback {

class ThreadCursor::Impl {
 public:
  Impl(FlowIndex& of, const IndexedThread& thread) : index(of), at(of, thread) {}

  const FlowIndex& index;
  CursorPosition at;
};

ThreadCursor::ThreadCursor(FlowIndex& index, const IndexedThread& thread, Start start)
    : impl_(std::make_unique<Impl>(index, thread)) {
  if (start == Start::kBegin) ToBegin();
}
ThreadCursor::ThreadCursor(ThreadCursor&&) noexcept = default;
ThreadCursor& ThreadCursor::operator=(ThreadCursor&&) noexcept = default;
ThreadCursor::~ThreadCursor() = default;

ThreadCursor::Kind ThreadCursor::kind() const { return impl_->at.kind(); }
const CursorInstruction& ThreadCursor::instruction() const { return impl_->at.instruction(); }
const TraceEvent& ThreadCursor::event() const { return impl_->at.event(); }
const DataLoss& ThreadCursor::loss() const { return impl_->at.loss(); }
const UnknownFlow& ThreadCursor::unknown() const { return impl_->at.unknown(); }
uint64_t ThreadCursor::number() const { return impl_->at.number(); }
uint64_t ThreadCursor::tsc() const { return impl_->at.tsc(); }
ThreadCursor::Place ThreadCursor::place() const { return impl_->at.place(); }
void ThreadCursor::Return(const Place& place) { impl_->at.Return(place); }

void ThreadCursor::ToBegin() { impl_->at.ToBegin(); }
void ThreadCursor::ToEnd() { impl_->at.ToEnd(); }
void ThreadCursor::ToInstruction(uint64_t number) { impl_->at.ToInstruction(number); }
void ThreadCursor::ToTime(uint64_t tsc) { flowback::ToTime(impl_->at, tsc); }

bool ThreadCursor::Next() { return impl_->at.Next(); }
bool ThreadCursor::Previous() { return impl_->at.Previous(); }
bool ThreadCursor::Next(Kind kind) { return ToNextOf(impl_->at, kind); }
bool ThreadCursor::Previous(Kind kind) { return ToPreviousOf(impl_->at, kind); }
bool ThreadCursor::NextRun() { return ToNextRun(impl_->at); }
bool ThreadCursor::PreviousRun() { return ToPreviousRun(impl_->at); }
bool ThreadCursor::NextBranch() { return ToNextBranch(impl_->at); }
bool ThreadCursor::PreviousBranch() { return ToPreviousBranch(impl_->at); }
bool ThreadCursor::NextAt(uint64_t address) { return ToNextAt(impl_->at, impl_->index, address); }
bool ThreadCursor::PreviousAt(uint64_t address) {
  return ToPreviousAt(impl_->at, impl_->index, address);
}

}  // namespace flowback
