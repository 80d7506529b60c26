// SPDX-License-Identifier: MIT
// [AMD "Processor Programming Reference" for family 19h, "Instruction Based Sampling"; the kernel's
// driver gives the registers in this order]
#include "capture/formats/samples/amd_ibs.h"

namespace flowback::perf {
namespace {

using Outcome = MemoryAccess::Outcome;
using Snoop = MemoryAccess::Snoop;

// The unit's features.
constexpr uint32_t kTellsInvalidIp = 1 << 7;
constexpr uint32_t kManySources = 1 << 11;  // Zen 4: five bits of data source in place of three

class Word {
 public:
  constexpr explicit Word(uint64_t word) : word_(word) {}
  constexpr bool Bit(unsigned at) const { return word_ >> at & 1; }
  constexpr uint64_t Bits(unsigned at, unsigned count) const {
    return word_ >> at & ((uint64_t{1} << count) - 1);
  }

 private:
  uint64_t word_;
};

struct OpRegisters {
  uint32_t features = 0;
  Word control{0};
  uint64_t ip = 0;
  Word data{0};   // IBS_OP_DATA
  Word data2{0};  // where the data came from
  Word data3{0};  // what kind of access it was
  uint64_t address = 0;
  uint64_t physical = 0;
};

// Where of a load's data: near and far caches and memory, by the number in IBS_OP_DATA2.
struct DataSource {
  MemoryLevel level = MemoryLevel::kNotTold;
  bool is_cache = false;  // another core's, which shows whether the line was modified
  bool remote = false;    // by its number
};

DataSource SourceOf(uint64_t number, bool many) {
  if (many) {
    switch (number) {
      case 1:
        return {MemoryLevel::kL3, true, false};
      case 2:
        return {MemoryLevel::kAnyCache, true, true};
      case 3:
        return {MemoryLevel::kMemory};
      case 5:
        return {MemoryLevel::kAnyCache, true, true};
      case 6:
        return {MemoryLevel::kPersistent};
      case 7:
        return {MemoryLevel::kIo};
      case 8:
        return {MemoryLevel::kExtension};
      default:
        return {};
    }
  }
  switch (number) {
    case 2:
      return {MemoryLevel::kAnyCache, true, false};
    case 3:
      return {MemoryLevel::kMemory};
    case 4:
      return {MemoryLevel::kAnyCache, false, true};
    case 7:
      return {MemoryLevel::kIo};
    default:
      return {};
  }
}

bool IsFirstZen3(const CpuId& cpu) { return cpu.family == 0x19 && cpu.model < 0x10; }

// On these the bit of the state in another cache means nothing.
bool TellsModified(const CpuId& cpu) {
  return !(cpu.family == 0x19 && (cpu.model < 0x10 || (cpu.model >= 0x20 && cpu.model < 0x60)));
}

void ApplyLevel(const OpRegisters& op, const CpuId& cpu, MemoryAccess& access) {
  const bool many = (op.features & kManySources) != 0;
  const bool waited = op.data3.Bit(16);  // for a line that was on its way
  // Erratum 1293: with software prefetches and such waits L2 and source are not valid.
  const bool erratum = IsFirstZen3(cpu) && (waited || op.data3.Bit(21));
  const uint64_t number = erratum ? 0 : op.data2.Bits(0, 3) | (many ? op.data2.Bits(6, 2) << 3 : 0);
  const DataSource source = SourceOf(number, many);
  const auto is_at = [&access](MemoryLevel level) {
    access.level = level;
    access.level_outcome = Outcome::kHit;
  };
  constexpr uint64_t kDevice = 7;
  if (op.data3.Bit(14) && number != kDevice) return is_at(MemoryLevel::kUncached);
  if (!op.data3.Bit(7)) return is_at(MemoryLevel::kL1);
  if (!op.data3.Bit(20) && !erratum) return is_at(MemoryLevel::kL2);
  if (!access.load || source.level == MemoryLevel::kNotTold) {
    if (waited) is_at(MemoryLevel::kFillBuffer);
    return;
  }
  is_at(source.level);
  const bool has_node = source.level == MemoryLevel::kMemory ||
                        source.level == MemoryLevel::kPersistent ||
                        source.level == MemoryLevel::kExtension;
  access.remote = source.remote || (has_node && op.data2.Bit(4));
  if (source.is_cache && TellsModified(cpu) && !op.data2.Bit(5)) access.snoop = Snoop::kModified;
}

void ApplyTlb(const OpRegisters& op, MemoryAccess& access) {
  const bool missed = op.data3.Bit(2) && op.data3.Bit(3);
  access.tlb = missed ? Outcome::kMiss : Outcome::kHit;
}

void ApplyAccess(const OpRegisters& op, const CpuId& cpu, MemoryAccess& access) {
  const bool is_load = op.data3.Bit(0), is_store = op.data3.Bit(1);
  if (!is_load && !is_store) return;
  // The kernel makes its own of the same registers, of some of them only.
  MemoryAccess told;
  told.address = access.address;
  told.physical = access.physical;
  told.page_size = access.page_size;
  access = told;
  access.load = is_load;
  access.store = is_store;
  access.prefetch = op.data3.Bit(21);
  access.locked = op.data3.Bit(15);
  if (op.data3.Bit(17)) {
    access.address = op.address;
    ApplyTlb(op, access);
  }
  if (op.data3.Bit(18)) access.physical = op.physical;
  if (is_load && op.data3.Bit(7)) {
    access.latency = op.data3.Bits(32, 16);
    access.instruction_latency = op.data.Bits(16, 16);
  }
  ApplyLevel(op, cpu, access);
}

bool ApplyOp(FieldReader fields, const CpuId& cpu, EventSample& sample) {
  OpRegisters op;
  op.features = fields.U32();
  op.control = Word(fields.U64());
  op.ip = fields.U64();
  op.data = Word(fields.U64());
  op.data2 = Word(fields.U64());
  op.data3 = Word(fields.U64());
  op.address = fields.U64();
  op.physical = fields.U64();
  if (!fields.ok() || !op.control.Bit(18)) return false;  // IbsOpVal
  if (!(op.features & kTellsInvalidIp) || !op.data.Bit(38)) {
    sample.ip = op.ip;
    sample.place = EventSample::Place::kExact;
  }
  if (op.data.Bit(37))
    sample.branch = {.told = true,
                     .taken = op.data.Bit(35),
                     .mispredicted = op.data.Bit(36),
                     .is_return = op.data.Bit(34)};
  ApplyAccess(op, cpu, sample.access);
  return true;
}

// A fetch that was not completed has no latency.
bool ApplyFetch(FieldReader fields, const CpuId& cpu, EventSample& sample) {
  fields.Skip(4);
  const Word control(fields.U64());
  const uint64_t address = fields.U64();
  const uint64_t physical = fields.U64();
  if (!fields.ok() || !control.Bit(49)) return false;  // IbsFetchVal
  sample.fetch = true;
  sample.ip = address;
  sample.place = EventSample::Place::kExact;
  sample.access = {};
  if (control.Bit(52)) sample.access.physical = physical;
  if (control.Bit(50)) sample.access.latency = control.Bits(32, 16);
  sample.access.tlb = control.Bit(55) && control.Bit(56) ? Outcome::kMiss : Outcome::kHit;
  if (IsFirstZen3(cpu)) return true;  // erratum 1238: whether the cache had it is not valid
  sample.access.level = MemoryLevel::kL1;
  sample.access.level_outcome = control.Bit(51) ? Outcome::kMiss : Outcome::kHit;
  return true;
}

}  // namespace

bool ApplyIbs(IbsUnit unit, Bytes raw, ByteOrder order, const CpuId& cpu, EventSample& sample) {
  const FieldReader fields(raw, order);
  switch (unit) {
    case IbsUnit::kNone:
      return false;
    case IbsUnit::kOp:
      return ApplyOp(fields, cpu, sample);
    case IbsUnit::kFetch:
      return ApplyFetch(fields, cpu, sample);
  }
  return false;
}

}  // namespace flowback::perf
