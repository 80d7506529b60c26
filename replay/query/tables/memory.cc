// SPDX-License-Identifier: MIT
// The table memory: sampled accesses to memory, as `branches --mem` adds them up.
#include <optional>
#include <utility>
#include <vector>

#include "replay/query/found_samples.h"
#include "replay/query/kept_rows.h"

namespace flowback {
namespace {

enum Column : size_t {
  kTid,
  kPid,
  kCpu,
  kTime,
  kIp,
  kAddress,
  kLine,
  kPhysical,
  kLoad,
  kStore,
  kLocked,
  kLatency,
  kLevel,
  kHit,
  kRemote,
  kSnoop,
  kPageSize
};

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"pid", Type::kInteger, "process; NULL: not known"},
    {"cpu", Type::kInteger, "CPU; NULL: not recorded"},
    {"time", Type::kInteger, "when it was sampled; NULL: not recorded", LimitKind::kMoment},
    {"ip", Type::kInteger, "the instruction; NULL: not recorded"},
    {"address", Type::kInteger, "of the data"},
    {"line", Type::kInteger, "address of its cache line of 64 bytes"},
    {"physical", Type::kInteger, "physical address; NULL: not recorded"},
    {"load", Type::kInteger, "1: it reads"},
    {"store", Type::kInteger, "1: it writes"},
    {"locked", Type::kInteger, "1: it is atomic"},
    {"latency", Type::kInteger, "cycles until the data was there; NULL: not recorded"},
    {"level", Type::kText, "where the data was looked for: L1, L2, ...; NULL: not recorded"},
    {"hit", Type::kInteger, "1: it was at that level; 0: not; NULL: not recorded"},
    {"remote", Type::kInteger, "1: from another node, socket or core complex"},
    {"snoop", Type::kText,
     "what other caches had: none, miss, hit or modified; NULL: not recorded"},
    {"page_size", Type::kInteger, "bytes; NULL: not recorded"},
};

struct Row {
  EventSample sample;
  uint64_t time = 0;
};

QueryValue IdValue(int32_t id) { return id < 0 ? QueryValue() : int64_t{id}; }
QueryValue OptionalValue(const std::optional<uint64_t>& value) {
  return value ? NumberValue(*value) : QueryValue();
}
QueryValue FlagValue(bool flag) { return int64_t{flag ? 1 : 0}; }

std::string_view SnoopWord(MemoryAccess::Snoop snoop) {
  switch (snoop) {
    case MemoryAccess::Snoop::kNotTold:
      return {};
    case MemoryAccess::Snoop::kNone:
      return "none";
    case MemoryAccess::Snoop::kMiss:
      return "miss";
    case MemoryAccess::Snoop::kHit:
      return "hit";
    case MemoryAccess::Snoop::kModified:
      return "modified";
  }
  return {};
}

QueryValue AccessCell(const MemoryAccess& access, size_t column) {
  switch (column) {
    case kAddress:
      return OptionalValue(access.address);
    case kLine:
      return NumberValue(*access.address & ~uint64_t{63});
    case kPhysical:
      return OptionalValue(access.physical);
    case kLoad:
      return FlagValue(access.load);
    case kStore:
      return FlagValue(access.store);
    case kLocked:
      return FlagValue(access.locked);
    case kLatency:
      return OptionalValue(access.latency);
    case kLevel:
      return TextValue(Name(access.level));
    case kHit:
      if (access.level_outcome == MemoryAccess::Outcome::kNotTold) return {};
      return FlagValue(access.level_outcome == MemoryAccess::Outcome::kHit);
    case kRemote:
      return FlagValue(access.remote);
    case kSnoop:
      return TextValue(SnoopWord(access.snoop));
    default:
      return access.page_size == 0 ? QueryValue() : NumberValue(access.page_size);
  }
}

QueryValue Cell(const Row& row, size_t column) {
  const EventSample& sample = row.sample;
  switch (column) {
    case kTid:
      return IdValue(sample.tid);
    case kPid:
      return IdValue(sample.pid);
    case kCpu:
      return IdValue(sample.cpu);
    case kTime:
      return row.time == 0 ? QueryValue() : NumberValue(row.time);
    case kIp:
      if (sample.place == EventSample::Place::kNotTold) return {};
      return NumberValue(sample.ip);
    default:
      return AccessCell(sample.access, column);
  }
}

Result<std::unique_ptr<QueryRows>> OpenMemory(QuerySource& source, const QueryLimits& limits) {
  Result<std::vector<EventSample>> samples = FindSamples(source, limits, true);
  if (!samples) return Fail(samples.error());
  std::vector<Row> rows;
  for (EventSample& sample : *samples) {
    const uint64_t time = TimeOf(sample, source.session().clock());
    rows.push_back({std::move(sample), time});
  }
  return MakeKeptRows(std::move(rows), Cell);
}

}  // namespace

QueryTable memory_table() {
  return {.name = "memory",
          .summary = "sampled accesses to memory",
          .columns = kColumns,
          .usual_rows = 1e5,
          .open = OpenMemory};
}

}  // namespace flowback
