// SPDX-License-Identifier: MIT
#include "replay/locks/spin_finder.h"

#include <algorithm>

#include "replay/locks/loops/loop_proof.h"

namespace flowback {

void SpinFinder::OnBlock(const BlockRun& run) {
  LoopBlock& block = blocks_.Of(run);
  const ExitTime time{.tsc = run.tsc, .bounds = run.BoundsOf(run.lengths.size() - 1)};
  const bool taken = run.exit == BlockExit::kTaken || run.exit == BlockExit::kStopped;
  Step(block, run.lengths.size(), taken, [&] { return time; });
}

// A batch of the flow. The finder has been given its first steps, and has passed over those up to
// the one at hand: it steps through what matters of these later.
struct SpinFinder::Walk {
  Walk(const BlockBatch& from, LoopBlocks& blocks)
      : batch(from),
        table(*from.table),
        counts(blocks.Quiet(*from.table)),
        ends(blocks.EndsOfTrips(*from.table)) {}

  const BlockBatch& batch;
  const BlockTable& table;
  std::vector<int32_t>& counts;         // LoopBlocks::Quiet
  std::vector<LoopBlocks::Ends>& ends;  // LoopBlocks::EndsOfTrips
  size_t given = 0;                     // steps
  uint64_t given_count = 0;             // their instructions
  size_t at = 0;                        // the step at hand
  uint64_t count = 0;                   // instructions before it

  bool IsAtEnd() const { return at == batch.steps.size(); }
  BlockStep step() const { return batch.steps[at]; }
  uint64_t CountOf(size_t step) const { return table[batch.steps[step].number()].count; }
  // When the instruction executed that is the batch's `instruction`th and ends its block.
  ExitTime TimeAt(uint64_t instruction) const {
    if (batch.times.empty()) return {.tsc = batch.tsc, .bounds = {}};
    const TimedPart& part =
        *std::ranges::lower_bound(batch.times, instruction, {}, &TimedPart::end);
    ExitTime time{.tsc = part.LastAt(instruction), .bounds = part.bounds};
    if (part.end == instruction && part.last_lo != 0) time.bounds.lo = part.last_lo;
    return time;
  }
  // Passes over the steps that are quiet, several at a time.
  void PassQuiet() {
    constexpr size_t kTogether = 4;
    const BlockStep* const steps = batch.steps.data();
    const int32_t* const known = counts.data();
    const size_t end = batch.steps.size();
    for (; at + kTogether <= end; at += kTogether) {
      const int32_t sum = known[steps[at].value] + known[steps[at + 1].value] +
                          known[steps[at + 2].value] + known[steps[at + 3].value];
      if (sum < 0) break;
      count += static_cast<uint32_t>(sum);
    }
    for (; at < end && known[steps[at].value] >= 0; ++at)
      count += static_cast<uint32_t>(known[steps[at].value]);
  }
};

// While no stretch is open, most steps change nothing that the next store does not undo. They are
// passed over, and those since the last store are stepped through where a trip may end.
void SpinFinder::OnBlocks(const BlockBatch& batch) {
  Walk walk(batch, blocks_);
  while (!walk.IsAtEnd()) {
    if (!open_ && !uses_.waits()) {
      walk.PassQuiet();
      if (walk.IsAtEnd()) break;
      const BlockStep step = walk.step();
      const LoopBlock& block = blocks_.Of(walk.table, step.number());
      if (block.IsQuiet()) {
        walk.counts[step.value] = static_cast<int32_t>(walk.CountOf(walk.at));
        continue;
      }
      if (!MayMatter(walk, block)) {
        walk.count += walk.CountOf(walk.at++);
        continue;
      }
      CatchUp(walk);
    }
    StepTo(walk, ++walk.at);
    walk.count = walk.given_count;
  }
  CatchUp(walk);
}

// Steps through what has been passed over, from the last store on. A trip that is work clears the
// trail, so what lies between that store and the last such trip is passed over, too.
void SpinFinder::CatchUp(Walk& walk) {
  size_t begin = walk.at;
  uint64_t count = walk.count;
  size_t cleared = 0;  // the step after the last trip that is work
  uint64_t cleared_count = 0;
  while (begin > walk.given) {
    const BlockStep step = walk.batch.steps[begin - 1];
    const LoopBlock& block = blocks_.Of(walk.table, step.number());
    if (cleared == 0 && step.taken() && block.is_work() && !block.is_linker) {
      cleared = begin;
      cleared_count = count;
    }
    count -= walk.CountOf(--begin);
    if (block.stores && !block.is_linker) break;
  }
  PassTo(walk, begin, count);
  const bool is_short = trail_.size() + (cleared - begin) < kMostParts;
  if (cleared > begin + 1 && is_short) {
    StepTo(walk, begin + 1);
    PassTo(walk, cleared, cleared_count);
    trail_.clear();
    entered_.reset();
  }
  StepTo(walk, walk.at);
}

class SpinFinder::Place {
 public:
  explicit Place(const SpinFinder& finder)
      : trail(finder.trail_),
        entered(finder.entered_),
        position(finder.position_),
        quiet_since(finder.quiet_since_),
        last_atomic(finder.last_atomic_),
        knows_trail(finder.knows_trail_) {}

  const std::vector<Part> trail;
  const std::optional<Entered> entered;
  const uint64_t position;
  const uint64_t quiet_since;
  const uint64_t last_atomic;
  const bool knows_trail;
};

std::shared_ptr<const SpinFinder::Place> SpinFinder::Save() const {
  return std::make_shared<Place>(*this);
}

void SpinFinder::Return(const Place& place) {
  trail_ = place.trail;
  entered_ = place.entered;
  position_ = place.position;
  quiet_since_ = place.quiet_since;
  last_atomic_ = place.last_atomic;
  knows_trail_ = place.knows_trail;
}

// The steps up to that one, with `count` instructions of the batch before it, change nothing.
void SpinFinder::PassTo(Walk& walk, size_t step, uint64_t count) {
  position_ += count - walk.given_count;
  walk.given = step;
  walk.given_count = count;
}

void SpinFinder::StepTo(Walk& walk, size_t end) {
  for (; walk.given < end; ++walk.given) {
    const BlockStep step = walk.batch.steps[walk.given];
    LoopBlock& block = blocks_.Of(walk.table, step.number());
    const uint64_t count = walk.CountOf(walk.given);
    walk.given_count += count;
    Step(block, count, step.taken(), [&] { return walk.TimeAt(walk.given_count); });
  }
}

// Whether the step at hand may end a trip, or changes what later ones find: else it changes nothing
// but the trail. REQUIRES: it is not quiet.
bool SpinFinder::MayMatter(Walk& walk, const LoopBlock& block) {
  constexpr size_t kMostSteps = 32;
  const bool taken = walk.step().taken();
  if (block.atomic || block.branch == 0 || block.target >= block.address) return true;
  const size_t end = walk.at - std::min(walk.at - walk.given, kMostSteps);
  for (size_t i = walk.at; i > end; --i) {
    const BlockStep step = walk.batch.steps[i - 1];
    if (EndsTrips(walk, step)) return false;
    const LoopBlock& before = blocks_.Of(walk.table, step.number());
    if (before.is_linker) continue;
    if (!taken && step.taken() && before.branch == block.branch) return true;
    if (before.stores) return false;
    if (taken && block.target >= before.address && block.target < before.end) return true;
  }
  if (end != walk.given) return true;
  if (!taken) return entered_ && entered_->block->branch == block.branch;
  return std::ranges::any_of(trail_, [&](const Part& part) {
    return block.target >= part.begin && block.target < part.end;
  });
}

// It is asked again for a branch whose trips may yet prove to be work.
bool SpinFinder::EndsTrips(Walk& walk, BlockStep step) {
  using Ends = LoopBlocks::Ends;
  Ends& known = walk.ends[step.value];
  if (known == Ends::kNotAsked) {
    const LoopBlock& block = blocks_.Of(walk.table, step.number());
    if (block.EndsTrips(step.taken()))
      known = Ends::kYes;
    else if (block.branch == 0 || block.is_linker)
      known = Ends::kNo;
  }
  return known == Ends::kYes;
}

template <typename TimeOf>
[[gnu::always_inline]] inline void SpinFinder::Step(LoopBlock& block, size_t count, bool taken,
                                                    TimeOf&& time_of) {
  const uint64_t begin = position_;
  position_ += count;
  if (uses_.waits()) [[unlikely]]
    uses_.OnBlock(block, begin, time_of());
  if (block.is_linker) return;
  if (block.atomic) last_atomic_ = position_;
  if (block.stores || trail_.size() == kMostParts) {
    if (open_) Close(following_ != nullptr ? time_of() : ExitTime(), WaitState::kWhole);
    Forget();
    knows_trail_ = knows_trail_ || block.stores;
  }
  if (!block.stores) {
    trail_.push_back(
        {{.block = &block, .begin = block.address, .end = block.end, .taken = taken}, begin});
    if (following_ != nullptr && IsLeft(trail_.back())) open_->end = time_of();
  }
  if (block.last == InstructionClass::kFarCall) LookAtCall(block);
  if (block.branch == 0) return;
  const bool comes_again = entered_ && entered_->block->branch == block.branch;
  if (!taken && !comes_again) return;
  if (block.is_work()) {
    trail_.clear();
    entered_.reset();
    return;
  }
  const std::optional<Trip> trip = TripAt(block, taken);
  if (trip) Note(trip->loop->verdict, block);
  if (trip && trip->loop->waits()) Add(*trip, time_of(), taken);
  // A trip of an outer loop would not show what the inner loop's trips changed.
  if (trip && taken && trip->loop->verdict.kind == LoopKind::kWork) trail_.clear();
  entered_.reset();
  if (taken && !trip) entered_ = {.block = &block, .position = position_, .time = time_of()};
}

// What a register got before the last few blocks is not looked for.
void SpinFinder::LookAtCall(const LoopBlock& block) {
  constexpr size_t kMostBlocks = 8;
  const TrailPart own{.block = &block, .begin = block.address, .end = block.end, .taken = true};
  path_.clear();
  const size_t count = block.stores ? 0 : std::min(trail_.size(), kMostBlocks);
  path_.assign(trail_.end() - static_cast<ptrdiff_t>(count), trail_.end());
  if (block.stores) path_.push_back(own);
  constexpr size_t kMostCalls = size_t{1} << 16;
  if (calls_.size() == kMostCalls) calls_.clear();
  const auto [at, is_new] = calls_.try_emplace(HashOf(path_));
  if (is_new && !block.code.empty()) at->second = ArgumentsOf(PartsOf(path_));
  call_ = at->second;
}

void SpinFinder::Note(const TripVerdict& verdict, LoopBlock& block) {
  if (verdict.kind == LoopKind::kWork) {
    if (block.work != LoopBlock::kWaits) ++block.work;
    if (block.work == 1 && IsProvenWork(block)) block.work = LoopBlock::kManyWork;
  } else {
    block.work = LoopBlock::kWaits;
  }
  const bool waits = verdict.kind != LoopKind::kWork && verdict.kind != LoopKind::kDelay;
  block.goes_by_itself =
      block.target >= block.address && !waits && !verdict.pauses && !verdict.atomic;
}

void SpinFinder::PassTo(uint64_t position) {
  position_ = position;
  Forget();
  knows_trail_ = false;
}

void SpinFinder::Forget() {
  trail_.clear();
  entered_.reset();
  following_ = nullptr;
  quiet_since_ = position_;
}

// As long as the thread goes on as in the trip before, it may wait on; where it does not, it may
// have left the loop. An interrupt may cut a block in two.
bool SpinFinder::IsLeft(const TrailPart& part) {
  reach_ = position_;
  if (next_part_ < following_->path.size()) {
    const TrailPart& expected = following_->path[next_part_];
    const bool is_within = part.begin >= expected.begin && part.end <= expected.end &&
                           part.block->space == expected.block->space;
    const bool is_end = part.end == expected.end;
    if (is_within && part.taken == (is_end && expected.taken)) {
      if (is_end) ++next_part_;
      return false;
    }
  }
  open_->end_position = position_;
  following_ = nullptr;
  return true;
}

// Returns how many calls deeper the thread is after the part than before it.
int SpinFinder::DepthAfter(const TrailPart& part) {
  if (!part.taken || part.end != part.block->end) return 0;
  const InstructionClass last = part.block->last;
  if (last == InstructionClass::kReturn) return -1;
  return last == InstructionClass::kCall || last == InstructionClass::kIndirectCall ? 1 : 0;
}

// A loop's trip is in one call of its function, with all that it calls: the search goes back to
// where the function was entered.
std::optional<size_t> SpinFinder::FindInTrail(const LoopBlock& jump) const {
  int depth = 0;  // of the jump below the part
  for (size_t i = trail_.size(); i-- > 0;) {
    const Part& part = trail_[i];
    if (i + 1 != trail_.size()) depth += DepthAfter(part);
    if (depth > 0) return std::nullopt;
    if (depth < 0) continue;
    if (jump.target < part.begin || jump.target >= part.end || part.block->space != jump.space)
      continue;
    if (part.block->InstructionAt(jump.target)) return i;
  }
  return std::nullopt;
}

std::optional<SpinFinder::Trip> SpinFinder::TripAt(const LoopBlock& jump, bool taken) {
  const std::optional<size_t> found = FindInTrail(jump);
  if (!found) return std::nullopt;
  Part& first = trail_[*found];
  Trip trip;
  trip.from = first.position + *first.block->InstructionAt(jump.target) -
              *first.block->InstructionAt(first.begin);
  trip.is_first = entered_.has_value() && entered_->block->branch == jump.branch;
  path_.assign(trail_.begin() + static_cast<ptrdiff_t>(*found), trail_.end());
  path_.front().begin = jump.target;
  trip.is_from_begin = IsFromBegin(*found);
  trip.loop = &loops_.Of(path_);
  trip.loop->trips += uint64_t{taken} + uint64_t{trip.is_first};
  if (!taken) return trip;
  // The next trip takes this one's place.
  first.end = jump.target;
  trail_.resize(*found + (first.begin < first.end ? 1 : 0));
  return trip;
}

// Whether the flow began within the trip that is in `path_`, and has not left the loop since.
bool SpinFinder::IsFromBegin(size_t found) const {
  if (trail_.front().position != known_from_) return false;
  return std::all_of(trail_.begin(), trail_.begin() + static_cast<ptrdiff_t>(found),
                     [&](const Part& part) {
                       return std::ranges::any_of(path_, [&](const TrailPart& each) {
                         return part.begin >= each.begin && part.end <= each.end &&
                                part.block->space == each.block->space;
                       });
                     });
}

void SpinFinder::Add(const Trip& trip, const ExitTime& time, bool taken) {
  if (open_ && trip.from > reach_) Close({}, WaitState::kWhole);
  if (!open_) {
    open_ = {.number = next_number_++,
             .begin_position = trip.is_first ? entered_->position : position_,
             .quiet_since = quiet_since_,
             .begin = trip.is_first ? entered_->time : time,
             .end = time,
             .loop = trip.loop};
    if (trip.is_from_begin) {
      open_->state = WaitState::kBegunBefore;
      open_->begin.bounds.lo = known_from_tsc_;
    }
    begun_.push_back(*open_);
  }
  if (trip.loop->verdict.kind == LoopKind::kWait) open_->waits = true;
  open_->trips += uint64_t{taken} + uint64_t{trip.is_first};
  open_->end = time;
  open_->end_position = reach_ = position_;
  following_ = taken ? trip.loop : nullptr;
  next_part_ = 0;
}

// Where the thread has left the loop already, it has ended then.
void SpinFinder::Close(const ExitTime& time, WaitState state) {
  if (!open_) return;
  if (following_ != nullptr) {
    open_->end = time;
    open_->end_position = position_;
    if (state != WaitState::kWhole) open_->state = state;
  }
  ended_.push_back(*open_);
  open_.reset();
  following_ = nullptr;
}

void SpinFinder::OnLoss(const DataLoss& loss) {
  uses_.Forget();
  // It may have gone on up to where the flow was found again.
  const TscInterval bounds{.lo = loss.bounds.lo, .hi = loss.end_bounds.hi};
  Close({.tsc = loss.tsc, .bounds = bounds}, WaitState::kLost);
  Forget();
  known_from_ = position_;
  known_from_tsc_ = loss.bounds.lo;
}

void SpinFinder::Finish() {
  Close(open_ ? open_->end : ExitTime(), WaitState::kCutByEnd);
  Forget();
}

}  // namespace flowback
