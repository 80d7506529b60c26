// SPDX-License-Identifier: MIT
// [perf_event_open(2), union perf_mem_data_src of linux/perf_event.h]
#include "capture/formats/samples/perf_memory.h"

#include <utility>

#include "capture/formats/input/bit_field_reader.h"

namespace flowback::perf {
namespace {

using Outcome = MemoryAccess::Outcome;
using Snoop = MemoryAccess::Snoop;

constexpr uint64_t kOpLoad = 0x02, kOpStore = 0x04, kOpPrefetch = 0x08;
constexpr uint64_t kHit = 0x02, kMiss = 0x04;  // of levels and of the TLB
constexpr uint64_t kLevelsRemote = 0xf00;      // REM_RAM1, REM_RAM2, REM_CCE1, REM_CCE2
constexpr uint64_t kLocked = 0x02;

// The older field: a bit for each level, the farthest first.
MemoryLevel LevelOfBits(uint64_t bits) {
  constexpr std::pair<uint64_t, MemoryLevel> kBits[] = {
      {0x2000, MemoryLevel::kUncached},   {0x1000, MemoryLevel::kIo},
      {0x0c00, MemoryLevel::kAnyCache},   {0x0380, MemoryLevel::kMemory},
      {0x0040, MemoryLevel::kL3},         {0x0020, MemoryLevel::kL2},
      {0x0010, MemoryLevel::kFillBuffer}, {0x0008, MemoryLevel::kL1}};
  for (const auto& [mask, level] : kBits)
    if ((bits & mask) != 0) return level;
  return MemoryLevel::kNotTold;
}

// The newer one: a number.
MemoryLevel LevelOfNumber(uint64_t number) {
  switch (number) {
    case 0x1:
      return MemoryLevel::kL1;
    case 0x2:
      return MemoryLevel::kL2;
    case 0x3:
      return MemoryLevel::kL3;
    case 0x4:
      return MemoryLevel::kL4;
    case 0x8:
      return MemoryLevel::kUncached;
    case 0x9:
      return MemoryLevel::kExtension;
    case 0xa:
      return MemoryLevel::kIo;
    case 0xb:
      return MemoryLevel::kAnyCache;
    case 0xc:
      return MemoryLevel::kFillBuffer;
    case 0xd:
      return MemoryLevel::kMemory;
    case 0xe:
      return MemoryLevel::kPersistent;
    default:
      return MemoryLevel::kNotTold;
  }
}

Outcome OutcomeOf(uint64_t bits) {
  if ((bits & kMiss) != 0) return Outcome::kMiss;
  return (bits & kHit) != 0 ? Outcome::kHit : Outcome::kNotTold;
}

Snoop SnoopOf(uint64_t bits) {
  constexpr std::pair<uint64_t, Snoop> kSnoops[] = {
      {0x10, Snoop::kModified}, {0x04, Snoop::kHit}, {0x08, Snoop::kMiss}, {0x02, Snoop::kNone}};
  for (const auto& [bit, snoop] : kSnoops)
    if ((bits & bit) != 0) return snoop;
  return Snoop::kNotTold;
}

}  // namespace

void ApplyDataSource(uint64_t word, MemoryAccess& access) {
  BitFieldReader fields(word, ByteOrder::kLittle);
  const uint64_t op = fields.Take(5);
  const uint64_t levels = fields.Take(14);
  const uint64_t snoop = fields.Take(5);
  const uint64_t lock = fields.Take(2);
  const uint64_t tlb = fields.Take(7);
  const MemoryLevel number = LevelOfNumber(fields.Take(4));
  const bool remote = fields.Take(1) != 0;
  access.load = (op & kOpLoad) != 0;
  access.store = (op & kOpStore) != 0;
  access.prefetch = (op & kOpPrefetch) != 0;
  access.locked = (lock & kLocked) != 0;
  access.tlb = OutcomeOf(tlb);
  access.snoop = SnoopOf(snoop);
  if (number != MemoryLevel::kNotTold) {
    access.level = number;
    access.level_outcome = (levels & kMiss) != 0 ? Outcome::kMiss : Outcome::kHit;
    access.remote = remote;
    return;
  }
  access.level = LevelOfBits(levels);
  if (access.level != MemoryLevel::kNotTold) access.level_outcome = OutcomeOf(levels);
  access.remote = remote || (levels & kLevelsRemote) != 0;
}

}  // namespace flowback::perf
