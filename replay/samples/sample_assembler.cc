// SPDX-License-Identifier: MIT
// [SDM "PEBS output to Intel Processor Trace"; the numbers of types and items as perf has them]
#include "replay/samples/sample_assembler.h"

#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace flowback {
namespace {

enum BlockType : unsigned {
  kRegisterBlock = 0x01,
  kBasicBlock = 0x04,
  kMemoryBlock = 0x05,
  kFirstBranchBlock = 0x08,
  kLastBranchBlock = 0x0a,
  kXmmBlock = 0x10,
};
enum BasicItem : unsigned { kIpItem, kCountersItem, kTimeItem, kBasicItems };
enum MemoryItem : unsigned {
  kAddressItem,
  kCodeItem,
  kLatencyItem,
  kTransactionItem,
  kMemoryItems
};

constexpr unsigned kRegisters = static_cast<unsigned>(SampledRegister::kR15) + 1;
constexpr unsigned kWordsOfBranch = 3;
constexpr unsigned kBranchItems = 30;  // whole branches of a block; more is another layout

constexpr uint32_t LowBits(unsigned count) {
  return count >= 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
}

bool IsBranchBlock(unsigned type) { return type >= kFirstBranchBlock && type <= kLastBranchBlock; }

// Items of a block that are known by their number; of branches all are looked at together.
uint32_t KnownItems(unsigned type) {
  switch (type) {
    case kRegisterBlock:
      return LowBits(kRegisters);
    case kBasicBlock:
      return LowBits(kBasicItems);
    case kMemoryBlock:
      return LowBits(kMemoryItems);
    case kXmmBlock:
      return LowBits(32);
    default:
      return IsBranchBlock(type) ? LowBits(32) : 0;
  }
}

// Newer processors have the cache's latency in bits 32 to 47, and the whole instruction's in the
// lowest sixteen; older ones have one number.
void SetLatency(uint64_t word, MemoryAccess& access) {
  constexpr uint64_t kHalf = 0xffff;
  if (const uint64_t cache = word >> 32 & kHalf; cache != 0) {
    access.latency = cache;
    access.instruction_latency = word & kHalf;
  } else {
    access.latency = word;
  }
}

// Each has three items one behind the other. Blocks with other items are not understood.
uint32_t AddBranches(std::span<const uint64_t> items, uint32_t told,
                     std::vector<SampledBranch>& branches) {
  if ((told & ~LowBits(kBranchItems)) != 0) return static_cast<uint32_t>(std::popcount(told));
  uint32_t unread = 0;
  for (unsigned at = 0; at < kBranchItems; at += kWordsOfBranch) {
    const uint32_t words = told >> at & LowBits(kWordsOfBranch);
    if (words == LowBits(kWordsOfBranch))
      branches.push_back({items[at], items[at + 1], items[at + 2]});
    else
      unread += static_cast<uint32_t>(std::popcount(words));
  }
  return unread;
}

}  // namespace

void SampleAssembler::BeginThread(int32_t pid, int32_t tid) {
  Cut();
  pid_ = pid;
  tid_ = tid;
}

void SampleAssembler::OnEvent(const TraceEvent& event) {
  switch (event.kind) {
    case EventKind::kPebsBegin:
      return BeginBlock(event);
    case EventKind::kPebsItem:
      return AddItem(event);
    case EventKind::kPebsEnd:
      return Finish(event, !open_ || headless_);
    // A sample is written at one moment: tracing neither begins nor ends in it.
    case EventKind::kStarted:
    case EventKind::kStopped:
    case EventKind::kStoppedAsync:
    case EventKind::kInterrupted:
    case EventKind::kOverflow:
      return Cut();
    default:
      return;
  }
}

// No sample has two blocks of one type: the one before lost its end.
void SampleAssembler::BeginBlock(const TraceEvent& event) {
  const auto type = static_cast<unsigned>(event.value % kTypes);
  if (begun_ >> type & 1) Cut();
  open_ = true;
  begun_ |= uint32_t{1} << type;
  type_ = type;
  last_ = event;
}

void SampleAssembler::AddItem(const TraceEvent& event) {
  last_ = event;
  if (type_ == kTypes) {
    open_ = headless_ = true;
    ++unread_;
    return;
  }
  const auto item = static_cast<unsigned>(event.extra % kItems);
  Block& block = blocks_[type_];
  if (!(KnownItems(type_) >> item & 1) || block.Has(item)) {
    ++unread_;
    return;
  }
  block.values[item] = event.value;
  block.told |= uint32_t{1} << item;
}

void SampleAssembler::Cut() {
  if (!open_) return;
  TraceEvent end = last_;
  end.has_ip = false;
  Finish(end, true);
}

void SampleAssembler::Finish(const TraceEvent& end, bool cut) {
  EventSample sample = MakeSample(end);
  sample.cut = cut;
  Forget();
  tell_(sample);
}

void SampleAssembler::Forget() {
  for (unsigned type = 0; type < kTypes; ++type)
    if (begun_ >> type & 1) blocks_[type].told = 0;
  begun_ = 0;
  type_ = kTypes;
  unread_ = 0;
  open_ = headless_ = false;
}

EventSample SampleAssembler::MakeSample(const TraceEvent& end) const {
  EventSample sample;
  sample.pid = pid_;
  sample.tid = tid_;
  sample.unread = unread_;
  sample.tsc = end.tsc;
  sample.tsc_lo = end.bounds.lo;
  sample.tsc_hi = end.bounds.hi;
  const auto item = [this](unsigned type, unsigned number) {
    const Block& block = blocks_[type];
    return block.Has(number) ? std::optional(block.values[number]) : std::nullopt;
  };
  if (const auto tsc = item(kBasicBlock, kTimeItem))
    sample.tsc = sample.tsc_lo = sample.tsc_hi = *tsc;
  sample.counters = item(kBasicBlock, kCountersItem).value_or(0);
  const auto ip = item(kBasicBlock, kIpItem);
  if (ip || end.has_ip) {
    sample.ip = ip ? *ip : end.ip;
    sample.place = ip && end.has_ip && *ip != end.ip ? EventSample::Place::kDisputed
                                                     : EventSample::Place::kExact;
  }
  MemoryAccess& access = sample.access;
  access.address = item(kMemoryBlock, kAddressItem);
  access.code = item(kMemoryBlock, kCodeItem);
  if (const auto latency = item(kMemoryBlock, kLatencyItem)) SetLatency(*latency, access);

  SampleContext context;
  for (const auto& [type, words] :
       {std::pair(kRegisterBlock, &context.registers), std::pair(kXmmBlock, &context.xmm)})
    for (unsigned i = 0; i < kItems; ++i)
      if (const auto word = item(type, i)) words->Add(i, *word);
  for (unsigned type = kFirstBranchBlock; type <= kLastBranchBlock; ++type)
    sample.unread += AddBranches(blocks_[type].values, blocks_[type].told, context.branches);
  context.transaction = item(kMemoryBlock, kTransactionItem);
  if (!(context == SampleContext()))
    sample.context = std::make_shared<const SampleContext>(std::move(context));
  return sample;
}

}  // namespace flowback
