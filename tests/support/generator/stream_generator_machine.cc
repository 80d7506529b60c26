// SPDX-License-Identifier: MIT
#include "tests/support/generator/stream_generator_machine.h"

namespace flowback::testing {
namespace {

constexpr size_t kDeepest = 220;  // frames at which recursion stops
constexpr size_t kMostInterruptsNested = 3;
constexpr uint64_t kLongestTransaction = 2000;  // instructions; then it aborts for lack of room

template <class List>
uint32_t PickFrom(const List& list, Random& random) {
  return list[random.Below(list.size())];
}

}  // namespace

Machine::Machine(const GeneratorOptions& options, const Program& program, Random& random,
                 TracingHardware& hardware, GeneratedTruth& truth)
    : options_(options),
      program_(program),
      random_(random),
      hardware_(hardware),
      truth_(truth),
      threads_(options.threads),
      thread_(&threads_[0]) {
  for (Thread& thread : threads_) thread.at = program.entries[0];
  ScheduleHappening();
}

std::vector<uint8_t> Machine::Run() {
  hardware_.Start(Here(), options_.kernel || random_.Chance(500));
  while (truth_.executed < options_.instructions || !MayEnd()) {
    if (--until_happening_ == 0) Happen();
    hardware_.PsbIfDue(Here());
    Step();
  }
  return hardware_.Finish(Here(), options_.end_by_stop);
}

bool Machine::MayEnd() const {
  return transaction_depth_ == 0 && (options_.end_by_stop || !hardware_.after_ptwrite());
}

void Machine::Step() {
  const bool too_long = truth_.executed - transaction_start_ > kLongestTransaction;
  if (transaction_depth_ != 0 && too_long) return Abort();
  const Node& node = Here();
  ++truth_.executed;
  switch (node.kind) {
    case NodeKind::kRep:
    case NodeKind::kPlain:
      hardware_.Retire(node.address);
      ++thread_->at;
      return;
    case NodeKind::kPtwrite:
      hardware_.Ptwrite(node.address);
      ++thread_->at;
      return;
    case NodeKind::kMovCr3:
      hardware_.MovCr3(node.address);
      ++thread_->at;
      return;
    case NodeKind::kConditional:
      return Conditional(node);
    case NodeKind::kJump:
      return Go(Transfer::kJump, node.target);
    case NodeKind::kZeroCall:
      return Go(Transfer::kZeroCall, node.target);
    case NodeKind::kFarJump:
      if (transaction_depth_ != 0) return Abort();
      return Go(Transfer::kFar, node.target);
    case NodeKind::kIndirectJump:
      return Go(Transfer::kIndirectJump, Choice(node));
    case NodeKind::kCall:
      return Call(Transfer::kCall, node.target);
    case NodeKind::kIndirectCall:
      return Call(Transfer::kIndirectCall, Choice(node));
    case NodeKind::kReturn:
      return Return();
    case NodeKind::kSystemCall:
      return SystemCall();
    case NodeKind::kSoftInterrupt:
      return SoftInterrupt();
    case NodeKind::kSystemReturn:
    case NodeKind::kInterruptReturn:
    case NodeKind::kSignalReturn:
      return ReturnFromHandler(node);
    case NodeKind::kTransactionBegin:
      return BeginTransaction(node);
    case NodeKind::kTransactionEnd:
      return EndTransaction();
    case NodeKind::kTransactionAbort:
      if (transaction_depth_ != 0) return Abort();
      hardware_.Retire(node.address);
      ++thread_->at;
  }
}

// --- branches
// -------------------------------------------------------------------------------------

void Machine::Go(Transfer kind, uint32_t target) {
  hardware_.Transferred(kind, Here().address, NextAddress(), NodeAt(target));
  thread_->at = target;
}

bool Machine::Taken(const Node& node) {
  if (!node.recursion_guard) return random_.Next() >> 56 < node.taken_chance;
  if (thread_->frames.size() > kDeepest) return true;
  if (thread_->recursion_left == 0 && random_.Chance(60))
    thread_->recursion_left =
        static_cast<unsigned>(random_.Between(1, options_.deep_recursion ? 150 : 8));
  if (thread_->recursion_left == 0) return true;
  --thread_->recursion_left;
  return false;
}

void Machine::Conditional(const Node& node) {
  if (Taken(node)) return Go(Transfer::kConditional, node.target);
  hardware_.NotTaken(node.address);
  ++thread_->at;
}

uint32_t Machine::Choice(const Node& node) {
  // Skewed: real indirect branches have a favourite target.
  const uint64_t which = random_.Chance(400) ? 0 : random_.Below(node.choice_count);
  return program_.choices[node.first_choice + which];
}

void Machine::Call(Transfer kind, uint32_t target) {
  thread_->frames.push_back({thread_->at + 1, false});
  Go(kind, target);
}

void Machine::Return() {
  if (options_.odd_returns && transaction_depth_ == 0 && random_.Chance(25) && OddReturn()) return;
  const uint32_t target = thread_->frames.back().node;
  thread_->frames.pop_back();
  Go(Transfer::kReturn, target);
}

// What longjmp, exceptions, coroutines and retpolines make of a RET. False when none fits here.
bool Machine::OddReturn() {
  std::vector<Frame>& frames = thread_->frames;
  if (random_.Chance(500)) {  // pushes an address and returns to it: the frames stay
    Go(Transfer::kReturn, program_.entries[random_.Between(1, program_.entries.size() - 1)]);
    return true;
  }
  const size_t skip = random_.Between(1, 5);
  if (frames.size() <= skip) return false;
  for (size_t i = 1; i <= skip + 1; ++i)
    if (frames[frames.size() - i].interrupt) return false;
  frames.resize(frames.size() - skip);
  const uint32_t target = frames.back().node;
  frames.pop_back();
  Go(Transfer::kReturn, target);
  return true;
}

// --- the kernel
// -----------------------------------------------------------------------------------

// The processor is in untraced code; another thread may run afterwards.
void Machine::OutsideUser() {
  hardware_.Sleep(random_.Below(3000));
  hardware_.PsbIfDue(Here());
  if (random_.Chance(100)) hardware_.Extra(Here());
  thread_ = &threads_[random_.Below(threads_.size())];
  hardware_.EnterUser(Here());
}

void Machine::SystemCall() {
  if (transaction_depth_ != 0) return Abort();
  if (options_.kernel) {
    thread_->frames.push_back({thread_->at + 1, true});
    return Go(Transfer::kFar, PickFrom(program_.system_entries, random_));
  }
  hardware_.SystemCall(Here().address);
  ++thread_->at;
  OutsideUser();
}

// An INT n is written as an interrupt at its own address, before it completes.
void Machine::SoftInterrupt() {
  if (transaction_depth_ != 0) return Abort();
  if (options_.kernel) {
    const uint32_t handler = PickFrom(program_.kernel_handlers, random_);
    hardware_.InterruptTo(Here().address, NodeAt(handler));
    thread_->frames.push_back({thread_->at + 1, true});
    thread_->at = handler;
    return;
  }
  hardware_.Interrupt(Here().address);
  ++thread_->at;
  OutsideUser();
}

void Machine::ReturnFromHandler(const Node& node) {
  const uint32_t target = thread_->frames.back().node;
  thread_->frames.pop_back();
  if (node.kind == NodeKind::kSystemReturn) return Go(Transfer::kFar, target);
  if (node.kind == NodeKind::kInterruptReturn) {
    hardware_.InterruptReturn(node.address, NodeAt(target));
    thread_->at = target;
    return;
  }
  hardware_.SystemCall(node.address);
  thread_->at = target;
  OutsideUser();
}

// --- transactions
// ---------------------------------------------------------------------------------

void Machine::BeginTransaction(const Node& node) {
  if (transaction_depth_++ == 0) {
    fallback_ = node.target;
    transaction_start_ = truth_.executed;
    frames_before_transaction_ = thread_->frames;
    hardware_.BeginTransaction(node.address);
  } else {
    hardware_.Retire(node.address);
  }
  ++thread_->at;
}

void Machine::EndTransaction() {
  const uint64_t ip = Here().address;
  ++thread_->at;
  if (transaction_depth_ == 0 || --transaction_depth_ != 0) return hardware_.Retire(ip);
  hardware_.EndTransaction(ip);
}

// The instruction at hand did not retire, and the frames are as they were before the transaction;
// the hardware's call stack is not.
void Machine::Abort() {
  hardware_.AbortTransaction(Here().address, NodeAt(fallback_));
  transaction_depth_ = 0;
  thread_->frames = frames_before_transaction_;
  thread_->at = fallback_;
}

// --- happenings
// -----------------------------------------------------------------------------------

namespace {

constexpr uint32_t kExtraEvery = 700;

// Chance of each happening in 1/2^20 of an instruction.
struct Rates {
  uint64_t interrupt, handler, overflow, extra;

  explicit Rates(const GeneratorOptions& o)
      : interrupt(Of(o.interrupt_every)),
        handler(Of(o.handler_every)),
        overflow(Of(o.overflow_every)),
        extra(o.pebs || o.power || o.maintenance || o.padding || o.tsc ? Of(kExtraEvery) : 0) {}
  static uint64_t Of(uint32_t every) { return every == 0 ? 0 : (1u << 20) / every + 1; }
  uint64_t total() const { return interrupt + handler + overflow + extra; }
};

}  // namespace

void Machine::ScheduleHappening() {
  const uint64_t total = Rates(options_).total();
  until_happening_ = total == 0 ? ~uint64_t{0} : 1 + random_.Below(2 * ((1u << 20) / total + 1));
}

void Machine::Happen() {
  ScheduleHappening();
  if (transaction_depth_ != 0) return Abort();
  const Rates rates(options_);
  uint64_t which = random_.Below(rates.total());
  if (which < rates.interrupt) return Interrupt();
  which -= rates.interrupt;
  if (which < rates.handler) return EnterHandler();
  which -= rates.handler;
  if (which < rates.overflow) return Overflow();
  hardware_.Extra(Here());
}

// An interrupt, or a fault after which the instruction at hand executes again: the packets are the
// same. At a rep string instruction it comes midway.
void Machine::Interrupt() {
  if (options_.kernel) return EnterHandler();
  const unsigned times = Here().kind == NodeKind::kRep ? 3 : 1;
  for (unsigned i = 0; i < times; ++i) {
    hardware_.Interrupt(Here().address);
    OutsideUser();
  }
}

void Machine::EnterHandler() {
  size_t nested = 0;
  for (const Frame& frame : thread_->frames) nested += frame.interrupt;
  if (nested >= kMostInterruptsNested) return;
  const uint32_t handler =
      PickFrom(options_.kernel ? program_.kernel_handlers : program_.user_handlers, random_);
  if (options_.kernel) {
    hardware_.InterruptTo(Here().address, NodeAt(handler));
  } else {
    hardware_.Interrupt(Here().address);
  }
  thread_->frames.push_back({thread_->at, true});
  thread_->at = handler;
  if (!options_.kernel) hardware_.EnterUser(Here());
}

void Machine::Overflow() {
  if (!hardware_.tracing() || hardware_.after_ptwrite()) return;
  hardware_.BeginOverflow();
  // No packet has the mode between OVF and its FUP.
  for (uint64_t count = random_.Between(1, 400);
       count > 0 || transaction_depth_ != 0 || Here().mode != hardware_.mode(); count -= count > 0)
    Step();
  const bool with_psb = random_.Chance(120) && options_.overflow_into_psb;
  if (options_.kernel || random_.Chance(600)) return hardware_.EndOverflow(Here(), with_psb);
  hardware_.Interrupt(Here().address);  // it resolves while tracing is off
  hardware_.EndOverflow(Here(), with_psb);
  OutsideUser();
}

}  // namespace flowback::testing
