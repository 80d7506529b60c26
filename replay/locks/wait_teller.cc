// SPDX-License-Identifier: MIT
#include "replay/locks/wait_teller.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/linux/kernel_address.h"
#include "decode/instruction/classify.h"
#include "flowback/decode/code_image.h"

namespace flowback {

WaitTeller::WaitTeller(const WaitPlan& plan, uint32_t thread, const TimeAccount* account)
    : plan_(plan), thread_(thread), account_(account) {}

TimePoint WaitTeller::PointOf(const ExitTime& time) const {
  if (account_ == nullptr || time.tsc == 0) return TimePoint::Exact(0);
  TimePoint point = plan_.unit.Point(time.tsc, time.bounds);
  point.time = std::clamp(point.time, account_->begin, account_->end);
  point.lo = std::min(point.lo, point.time);
  point.hi = std::max(point.hi, point.time);
  return point;
}

// ---- The calls that the thread is in ----

void WaitTeller::Describe(const Call& call, Frame& frame) {
  frame.function = plan_.functions.NumberOf(call);
  frame.position = call.instructions_before;
  frame.site = call.site;
  frame.entry = call.entry_ip;
  frame.space = call.space;
  frame.in_kernel = IsKernelAddress(call.entry_ip);
  frame.is_handler = call.entry == CallEntry::kHandler;
  frame.use = plan_.sites.UseOf(frame.function, plan_.functions);
}

void WaitTeller::Rebuild(const std::vector<Call>& calls) {
  PopTo(0);
  for (const Call& call : calls) PushFrame(call);
}

void WaitTeller::Leap(size_t keep) {
  PopTo(keep);
  const std::vector<Call>& calls = stack_->calls();
  for (size_t depth = frames_.size(); depth < calls.size(); ++depth) PushFrame(calls[depth]);
}

void WaitTeller::OnEnter(const Call& call, size_t depth) {
  BeginUpTo(call.instructions_before);
  PopTo(depth);
  frames_.resize(depth);
  PushFrame(call);
  Frame& frame = frames_.back();
  if (replaced_) {
    const Frame replaced = *replaced_;
    replaced_.reset();
    if (call.entry == CallEntry::kTailCall) {
      // It was called where what jumped to it was; a lock's function goes on as another one.
      frame.site = replaced.site;
      if (replaced.use.belongs_to_lock()) {
        frame = replaced;
        return;
      }
    }
  }
  const bool is_seen = call.entry == CallEntry::kCall || call.entry == CallEntry::kTailCall;
  if (is_seen) calls_.Add(frame.function, frame.site);
  if (is_seen && IsOutermost(depth)) TellEntered(depth, call);
  TellDoing(depth, call.tsc);
}

// A lock's function belongs to the one that calls it: `std::mutex::lock` to `std::lock_guard`. So
// do the functions that it calls in its own file, and its system calls, but not callbacks from
// there.
bool WaitTeller::BelongsTo(const Frame& caller, const Frame& frame) const {
  constexpr unsigned kMostWithin = 3;
  if (caller.lock == kNoLock || frame.is_handler) return false;
  if (frame.in_kernel && !frames_[caller.lock].in_kernel) return true;
  return (frame.use.belongs_to_lock() && caller.within == 0) ||
         (caller.within < kMostWithin && IsSameFile(frame.function, caller.function) &&
          !IsCalledBack(frame));
}

void WaitTeller::PushFrame(const Call& call) {
  const size_t depth = frames_.size();
  Frame& frame = frames_.emplace_back();
  Describe(call, frame);
  const bool is_lock = frame.use.belongs_to_lock();
  const Frame* const caller = depth == 0 ? nullptr : &frames_[depth - 1];
  if (caller != nullptr && BelongsTo(*caller, frame)) {
    frame.within = is_lock ? 0 : caller->within + 1;
    frame.lock = caller->lock;
  } else {
    frame.lock = is_lock ? depth : kNoLock;
  }
}

// A library calls what it was given by its address, and its own functions by name.
bool WaitTeller::IsCalledBack(const Frame& frame) {
  constexpr size_t kLongest = 15;
  std::array<uint8_t, kLongest> code;
  if (frame.space == nullptr || frame.site == 0) return false;
  const size_t size = frame.space->Read(frame.site, code.data(), code.size());
  const CodeMapping* mapping = frame.space->Find(frame.site);
  const CodeMode mode = mapping == nullptr
                            ? CodeMode::kX86_64
                            : mapping->section->file_mode().value_or(CodeMode::kX86_64);
  Instruction call;
  return Classify({code.data(), size}, mode, call) && IsIndirect(call.kind);
}

bool WaitTeller::IsSameFile(uint32_t a, uint32_t b) const {
  const std::vector<TimelineFunction>& functions = plan_.functions.all();
  return a != CallPath::kNoFunction && b != CallPath::kNoFunction &&
         functions[a].file == functions[b].file;
}

// Whether that call belongs to a lock and none around it does.
bool WaitTeller::IsOutermost(size_t depth) const {
  return depth < frames_.size() && frames_[depth].lock == depth;
}

void WaitTeller::TellEntered(size_t depth, const Call& call) {
  Frame& frame = frames_[depth];
  const LockFunction& use = frame.use;
  const auto is_seen = [](const Frame& each) { return each.site != 0; };
  if (began_anew_ && (depth == 0 || !is_seen(frame) || !is_seen(frames_[depth - 1])))
    misses_calls_ = true;
  if (use.waits()) plan_.sink.OnAcquisition(SiteOf(depth, {.space = call.space}));
  if (use.family.empty() && plan_.away == nullptr) return;
  frame.entered = PointOf({.tsc = call.tsc, .bounds = call.bounds});
  if (use.family.empty()) return;
  // The first operation shows which lock it is.
  if (plan_.instances.uses() != 0 && use.use == LockUse::kReleases)
    frame.releases = true;
  else if (use.gives_up())
    plan_.sink.OnReleasing(use.family, frame.entered, 0);
}

// What waits for a moment gives up what its caller holds before it sleeps.
void WaitTeller::TellReleased(Frame& frame, const TimePoint& time) {
  if (frame.releases) TellReleasing(frame, 0);
  if (frame.use.gives_up()) plan_.sink.OnReleased(frame.use.family, frame.slept.value_or(time));
}

// What waits for a moment has acquired again what it gave up, whose address is not its own.
void WaitTeller::TellAcquired(size_t depth, const TimePoint& time, bool likely) {
  const Frame& frame = frames_[depth];
  const bool has_address = frame.first_use && frame.use.use != LockUse::kWaits;
  plan_.sink.OnAcquired({.site = SiteOf(depth, {.space = frame.space}),
                         .family = frame.use.family,
                         .earliest = frame.waited.value_or(frame.entered).lo,
                         .time = time.time,
                         .address = has_address ? frame.first_use->address : 0,
                         .likely = likely});
}

void WaitTeller::TellReturned(size_t depth, const TimePoint& time) {
  NoteSleeps(depth, time);
  Frame& frame = frames_[depth];
  if (frame.use.family.empty()) return;
  TellReleased(frame, time);
  if (!frame.use.acquires()) return;
  TellAcquired(depth, time, frame.use.use == LockUse::kTries);
  if (depth > 0) plan_.sink.OnDoing(NodeOf(depth - 1), depth - 1, time.time);
}

// The thread's flow ends in a lock's function: it may hold what that acquires, unless it waits yet.
void WaitTeller::TellEnd(size_t depth) {
  Frame& frame = frames_[depth];
  if (frame.use.family.empty() || account_ == nullptr) return;
  const TimePoint end = TimePoint::Exact(account_->end);
  TellReleased(frame, end);
  const auto open = open_.find(frame.wait);
  const bool waits = open != open_.end() && open->second.wait.state == WaitState::kCutByEnd;
  if (frame.use.acquires() && !waits) TellAcquired(depth, end, true);
}

// The innermost call is the `depth`th now.
void WaitTeller::TellDoing(size_t depth, uint64_t tsc) {
  if (depth >= plan_.sink.followed() || depth >= frames_.size()) return;
  plan_.sink.OnDoing(NodeOf(depth), depth, PointOf({.tsc = tsc, .bounds = {}}).time);
}

void WaitTeller::OnExit(const Call& /*call*/, size_t depth, CallExit how, uint64_t /*instructions*/,
                        const ExitTime& time) {
  BeginUpTo(stack_->instructions());
  PopTo(depth + 1);
  replaced_.reset();
  if (how == CallExit::kReturn && IsOutermost(depth)) TellReturned(depth, PointOf(time));
  if (how == CallExit::kEnd && IsOutermost(depth) && account_ != nullptr)
    NoteSleeps(depth, TimePoint::Exact(account_->end));
  if (how == CallExit::kTailCall && frames_.size() == depth + 1) {
    replaced_ = frames_.back();
    if (replaced_->use.belongs_to_lock()) {
      frames_.pop_back();
      return;
    }
  }
  if (depth > 0 && frames_.size() == depth + 1) {
    Frame& caller = frames_[depth - 1];
    caller.callee = frames_[depth].function;
    caller.callee_begin = frames_[depth].position;
    caller.callee_end = stack_->instructions();
  }
  PopTo(depth);
  if (depth > 0 && depth < plan_.sink.followed()) TellDoing(depth - 1, time.tsc);
}

void WaitTeller::PopTo(size_t depth) {
  while (frames_.size() > depth) {
    if (frames_.back().wait != 0) CloseWait(frames_.back().wait);
    if (frames_.back().releases) TellReleasing(frames_.back(), 0);
    frames_.pop_back();
  }
}

void WaitTeller::OnSwitch(uint32_t stack) {
  if (stack == on_) return;
  BeginUpTo(stack_->instructions());
  // The stack forgets those that it left longest ago, and does not say so.
  if (other_stacks_.size() >= 2 * CallStack::kMostStacks) other_stacks_.clear();
  other_stacks_[on_] = std::move(frames_);
  frames_ = std::move(other_stacks_[stack]);
  other_stacks_.erase(stack);
  on_ = stack;
}

void WaitTeller::OnCorrection(uint64_t /*guess*/, uint64_t /*next*/, uint32_t stack,
                              const LeftStack& right) {
  other_stacks_.erase(stack);
  on_ = stack;
  Rebuild(right.calls);
}

void WaitTeller::OnInherited(const std::vector<Call>& calls, uint64_t /*address*/) {
  Rebuild(calls);
}

uint32_t WaitTeller::NodeOf(size_t depth) {
  uint32_t node = PathTree::kRoot;
  for (size_t i = 0; i <= depth && i < frames_.size(); ++i) {
    Frame& frame = frames_[i];
    if (frame.node == PathTree::kRoot)
      frame.node = plan_.paths.Find({.parent = node,
                                     .kind = PathKind::kCall,
                                     .function = frame.function,
                                     .site = frame.site,
                                     .space = frame.space});
    node = frame.node;
  }
  return node;
}

uint32_t WaitTeller::SiteOf(size_t depth, const Item& item) {
  LockSite site;
  site.space = item.space;
  site.address = item.address;
  if (depth < frames_.size()) {
    site.function = frames_[depth].function;
    site.call = frames_[depth].site;
    site.is_event = frames_[depth].use.use == LockUse::kWaits;
    site.is_library = frames_[depth].use.belongs_to_lock();
    if (depth > 0) site.caller = frames_[depth - 1].function;
  }
  return plan_.sites.Find(site, std::max(item.end, item.address + 1));
}

// ---- Waits ----

void WaitTeller::Begin(const std::vector<SpinStretch>& stretches) {
  to_begin_.insert(to_begin_.end(), stretches.begin(), stretches.end());
}

// What began before the flow came to `position` began in the calls that are open now.
void WaitTeller::BeginUpTo(uint64_t position) {
  for (; !to_begin_.empty() && to_begin_.front().begin_position <= position;
       to_begin_.pop_front()) {
    const SpinStretch& stretch = to_begin_.front();
    UseUpTo(stretch.begin_position);
    const uint32_t number = WaitAt({.address = stretch.loop->address(),
                                    .end = stretch.loop->branch() + 1,
                                    .space = stretch.loop->space(),
                                    .position = stretch.begin_position,
                                    .quiet_since = stretch.quiet_since,
                                    .sleeps = false});
    OpenWait& open = open_[number];
    Extend(open, PointOf(stretch.begin), PointOf(stretch.begin));
    ++open.stretches;
    wait_of_stretch_[stretch.number] = number;
  }
  UseUpTo(position);
}

// Returns the depth of the call that waits: of a lock's function, if one does. One that did nothing
// but make the system call does so for its caller, up to the one that has tried an atomic operation
// before. A wait that was found late may have begun in a call further out than the innermost.
size_t WaitTeller::DepthOf(const Item& item) const {
  size_t innermost = frames_.size() - 1;
  while (innermost > 0 && (frames_[innermost].position > item.position ||
                           frames_[innermost].use.use == LockUse::kPassesOn))
    --innermost;
  const size_t lock = frames_[innermost].lock;
  if (lock != kNoLock) {
    for (size_t depth = lock; depth <= innermost; ++depth)
      if (frames_[depth].use.waits()) return depth;
    return lock;
  }
  if (!item.sleeps || item.last_atomic <= item.quiet_since) return innermost;
  for (size_t depth = innermost; depth != SIZE_MAX; --depth)
    if (frames_[depth].position < item.last_atomic)
      return HasAtomic(frames_[depth], item.last_atomic) ? depth : innermost;
  return innermost;
}

// Whether the atomic operation that ends there is the frame's own, or its file's. What a library
// did with an atomic operation, as to be cancelled, has nothing to do with what comes later.
bool WaitTeller::HasAtomic(const Frame& frame, uint64_t position) const {
  const bool is_callees = frame.callee_begin < position && position <= frame.callee_end;
  return !is_callees || IsSameFile(frame.callee, frame.function);
}

// Returns the wait that goes on with what begins now, or a new one.
uint32_t WaitTeller::WaitAt(const Item& item) {
  if (frames_.empty()) frames_.emplace_back();
  const size_t depth = DepthOf(item);
  Frame& frame = frames_[depth];
  const bool in_lock = frame.use.belongs_to_lock();
  if (frame.wait != 0) {
    const auto found = open_.find(frame.wait);
    if (found != open_.end()) {
      OpenWait& open = found->second;
      const bool is_same =
          in_lock || open.stretches != 0 ||
          (item.quiet_since <= open.last && (item.sleeps || open.wait.sleeps != 0));
      if (is_same) {
        open.last = item.position;
        return frame.wait;
      }
    }
    CloseWait(frame.wait);
  }
  frame.wait = next_wait_++;
  OpenWait& open = open_[frame.wait];
  open.wait.thread = thread_;
  open.wait.site = SiteOf(depth, item);
  open.wait.position = item.position;
  open.wait.path = NodeOf(depth);
  if (frame.use.use == LockUse::kAcquires) open.family = frame.use.family;
  open.last = item.position;
  plan_.sites.NoteWait(open.wait.site, item.quiet_since <= frame.position);
  frame.wants_instance = plan_.instances.uses() != 0;
  if (const AtomicUse* use = UseOf(depth, item)) GiveInstance(depth, *use);
  return frame.wait;
}

// The times are of the lock's outermost call around the one that waits.
void WaitTeller::NoteWaited(uint32_t wait, const TimePoint& begin, const TimePoint& end,
                            bool sleeps) {
  const auto waits = std::ranges::find(frames_, wait, &Frame::wait);
  if (waits == frames_.end() || waits->lock == kNoLock) return;
  Frame& frame = frames_[waits->lock];
  if (sleeps && !frame.slept) frame.slept = begin;
  if (!frame.waited || frame.waited->time <= end.time) frame.waited = end;
}

void WaitTeller::Extend(OpenWait& open, const TimePoint& begin, const TimePoint& end) {
  if (!open.begun) open.wait.begin = open.wait.end = begin;
  open.begun = true;
  if (end.time >= open.wait.end.time) open.wait.end = end;
}

void WaitTeller::End(const std::vector<SpinStretch>& stretches) {
  for (const SpinStretch& stretch : stretches) {
    BeginUpTo(stretch.begin_position);
    const auto number = wait_of_stretch_.find(stretch.number);
    if (number == wait_of_stretch_.end()) continue;
    OpenWait& open = open_[number->second];
    open.waits = open.waits || stretch.waits;
    open.wait.trips += stretch.trips;
    open.wait.cycles += stretch.cycles;
    if (stretch.state != WaitState::kWhole) open.wait.state = stretch.state;
    const uint32_t wait = number->second;
    const TimePoint begin = PointOf(stretch.begin);
    const TimePoint end = PointOf(stretch.end);
    Extend(open, begin, end);
    NoteWaited(wait, begin, end, false);
    --open.stretches;
    wait_of_stretch_.erase(number);
    TellIfDone(wait);
  }
}

bool WaitTeller::IsIdle() const {
  const auto is_free = [](const Frame& frame) { return frame.lock == kNoLock; };
  return open_.empty() && to_begin_.empty() && plan_.sink.followed() == 0 && !replaced_ &&
         std::ranges::all_of(frames_, is_free) &&
         std::ranges::all_of(other_stacks_, [&](const auto& stack) {
           return std::ranges::all_of(stack.second, is_free);
         });
}

void WaitTeller::CloseWait(uint32_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return;
  found->second.closed = true;
  TellIfDone(number);
}

void WaitTeller::TellIfDone(uint32_t number) {
  const auto found = open_.find(number);
  if (found == open_.end() || !found->second.closed || found->second.stretches != 0) return;
  if (found->second.waits && began_anew_) misses_calls_ = true;
  if (found->second.waits) plan_.sink.OnWait(found->second.wait, found->second.family);
  open_.erase(found);
}

void WaitTeller::Finish() {
  BeginUpTo(UINT64_MAX);
  for (size_t depth = 0; depth < frames_.size(); ++depth)
    if (IsOutermost(depth)) TellEnd(depth);
  std::vector<uint32_t> numbers;
  for (const auto& [number, open] : open_) numbers.push_back(number);
  std::ranges::sort(numbers);
  for (const uint32_t number : numbers) CloseWait(number);
}

}  // namespace flowback
