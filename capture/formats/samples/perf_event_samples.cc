// SPDX-License-Identifier: MIT
#include "capture/formats/samples/perf_event_samples.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <utility>

#include "capture/formats/perf_records/perf_layout.h"
#include "capture/formats/samples/perf_memory.h"

namespace flowback::perf {
namespace {

constexpr uint64_t kOfAccesses =
    kSampleAddr | kSampleDataSource | kSampleWeight | kSampleWeightStruct | kSamplePhysicalAddress;

// PERF_SAMPLE_WEIGHT_STRUCT: the lower half and the quarter above it.
void SetWeight(uint64_t type, uint64_t weight, MemoryAccess& access) {
  const bool parts = (type & kSampleWeightStruct) != 0;
  const uint64_t latency = parts ? weight & 0xffffffff : weight;
  if (latency != 0) access.latency = latency;
  if (const uint64_t all = weight >> 32 & 0xffff; parts && all != 0)
    access.instruction_latency = all;
}

// By their numbers in perf's masks: general registers of x86, segments left out.
constexpr std::pair<unsigned, SampledRegister> kRegisters[] = {
    {9, SampledRegister::kFlags}, {8, SampledRegister::kIp},   {0, SampledRegister::kAx},
    {2, SampledRegister::kCx},    {3, SampledRegister::kDx},   {1, SampledRegister::kBx},
    {7, SampledRegister::kSp},    {6, SampledRegister::kBp},   {4, SampledRegister::kSi},
    {5, SampledRegister::kDi},    {16, SampledRegister::kR8},  {17, SampledRegister::kR9},
    {18, SampledRegister::kR10},  {19, SampledRegister::kR11}, {20, SampledRegister::kR12},
    {21, SampledRegister::kR13},  {22, SampledRegister::kR14}, {23, SampledRegister::kR15}};
constexpr unsigned kFirstXmm = 32;

// `words` are those of the mask's registers, in its order.
void SetRegisters(Bytes words, uint64_t mask, ByteOrder order, SampleContext& context) {
  const auto word_of = [&](unsigned bit) {
    const auto before = static_cast<uint64_t>(std::popcount(mask & ((uint64_t{1} << bit) - 1)));
    return FieldReader(Slice(words, 8 * before, 8), order).U64();
  };
  for (const auto& [bit, name] : kRegisters)
    if (mask >> bit & 1) context.registers.Add(static_cast<unsigned>(name), word_of(bit));
  for (unsigned i = 0; i < 32; ++i)
    if (mask >> (kFirstXmm + i) & 1) context.xmm.Add(i, word_of(kFirstXmm + i));
}

bool IsX86(const std::string& architecture) {
  return architecture.empty() || architecture == "x86_64" ||
         (architecture.size() == 4 && architecture.starts_with('i') &&
          architecture.ends_with("86"));
}

// By its name, which begins with the PMU's unless it was given another one.
IbsUnit UnitOf(const EventAttr& attr) {
  if ((attr.sample_type & kSampleRaw) == 0) return IbsUnit::kNone;
  if (attr.name.starts_with("ibs_op")) return IbsUnit::kOp;
  return attr.name.starts_with("ibs_fetch") ? IbsUnit::kFetch : IbsUnit::kNone;
}

}  // namespace

EventSampleReader::EventSampleReader(const std::vector<EventAttr>& attrs,
                                     const Recording& recording)
    : attrs_(attrs), recording_(recording) {
  for (const EventAttr& attr : attrs) {
    units_.push_back(UnitOf(attr));
    any_ = any_ || (attr.sample_type & kOfAccesses) != 0 || units_.back() != IbsUnit::kNone;
  }
}

std::optional<EventSample> EventSampleReader::Read(const Sample& sample, const Record& record,
                                                   bool& whole) const {
  const uint64_t type = sample.attr->sample_type;
  const auto event = static_cast<size_t>(sample.attr - attrs_.data());
  const IbsUnit unit = units_[event];
  if ((type & kOfAccesses) == 0 && unit == IbsUnit::kNone) return std::nullopt;
  EventSample told;
  told.event = static_cast<uint32_t>(event);
  told.pid = sample.id.pid;
  told.tid = sample.id.tid;
  told.cpu = sample.id.cpu;
  told.time = sample.id.time;
  if ((type & kSampleIp) != 0) {
    told.ip = sample.ip;
    told.place =
        (record.misc & kMiscExactIp) != 0 ? EventSample::Place::kExact : EventSample::Place::kSkid;
  }
  MemoryAccess& access = told.access;
  if (sample.address != 0) access.address = sample.address;
  if (sample.physical != 0) access.physical = sample.physical;
  access.page_size = sample.page_size;
  SetWeight(type, sample.weight, access);
  if ((type & kSampleDataSource) != 0) ApplyDataSource(sample.data_source, access);
  if (unit != IbsUnit::kNone)
    whole = ApplyIbs(unit, sample.raw, record.order, recording_.machine.cpu, told);
  SampleContext context;
  if (!sample.registers.empty() && IsX86(recording_.machine.architecture))
    SetRegisters(sample.registers, sample.attr->regs_intr, record.order, context);
  if (sample.transaction != 0) context.transaction = sample.transaction;
  if (!(context == SampleContext()))
    told.context = std::make_shared<const SampleContext>(std::move(context));
  return told;
}

}  // namespace flowback::perf
