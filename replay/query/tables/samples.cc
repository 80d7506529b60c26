// SPDX-License-Identifier: MIT
// The table samples: where threads stood when an event had happened so often.
#include <string>
#include <utility>
#include <vector>

#include "replay/query/found_samples.h"
#include "replay/session/access_totals.h"

namespace flowback {
namespace {

enum Column : size_t { kTid, kPid, kCpu, kTime, kEvent, kIp, kPlace, kFunction, kAddress, kCut };

using Type = QueryColumn::Type;
constexpr QueryColumn kColumns[] = {
    {"tid", Type::kInteger, "thread; NULL: not known", LimitKind::kTid},
    {"pid", Type::kInteger, "process; NULL: not known"},
    {"cpu", Type::kInteger, "CPU; NULL: not recorded"},
    {"time", Type::kInteger, "when it was taken; NULL: not recorded", LimitKind::kMoment},
    {"event", Type::kText, "the event, as it was recorded; NULL: not known"},
    {"ip", Type::kInteger, "the instruction; NULL: not recorded"},
    {"place", Type::kText, "exact, skid: ip may lie behind it, or disputed: the trace differs"},
    {"function", Type::kText, "the function at ip; NULL: not known"},
    {"address", Type::kInteger, "of the data that it accessed; NULL: not recorded"},
    {"cut", Type::kInteger, "1: some of the sample was lost"},
};

std::string_view PlaceWord(EventSample::Place place) {
  switch (place) {
    case EventSample::Place::kNotTold:
      return {};
    case EventSample::Place::kExact:
      return "exact";
    case EventSample::Place::kSkid:
      return "skid";
    case EventSample::Place::kDisputed:
      return "disputed";
  }
  return {};
}

QueryValue IdValue(int32_t id) { return id < 0 ? QueryValue() : int64_t{id}; }

class SampleRows final : public QueryRows {
 public:
  SampleRows(QuerySource& source, std::vector<EventSample> samples)
      : source_(source), samples_(std::move(samples)) {}

  Result<bool> Next() override {
    at_ = is_begun_ ? at_ + 1 : 0;
    is_begun_ = true;
    return at_ < samples_.size();
  }
  QueryValue At(size_t column) const override {
    const EventSample& sample = samples_[at_];
    const bool has_place = sample.place != EventSample::Place::kNotTold;
    switch (column) {
      case kTid:
        return IdValue(sample.tid);
      case kPid:
        return IdValue(sample.pid);
      case kCpu:
        return IdValue(sample.cpu);
      case kTime: {
        const uint64_t time = TimeOf(sample, source_.session().clock());
        return time == 0 ? QueryValue() : NumberValue(time);
      }
      case kEvent:
        return EventOf(sample);
      case kIp:
        return has_place ? NumberValue(sample.ip) : QueryValue();
      case kPlace:
        return TextValue(PlaceWord(sample.place));
      case kFunction:
        return has_place ? FunctionOf(sample) : QueryValue();
      case kAddress:
        return sample.access.address ? NumberValue(*sample.access.address) : QueryValue();
      default:
        return NumberValue(sample.cut ? 1 : 0);
    }
  }

 private:
  QueryValue EventOf(const EventSample& sample) const {
    const std::vector<std::string>& events = source_.session().recording().events;
    return sample.event < events.size() ? TextValue(events[sample.event]) : QueryValue();
  }
  QueryValue FunctionOf(const EventSample& sample) const {
    const AddressSpace* const space = SpaceOf(source_.session(), sample);
    if (space == nullptr) return {};
    const auto symbol = source_.session().symbols().Find(*space, sample.ip);
    return symbol ? TextValue(symbol->function) : QueryValue();
  }

  QuerySource& source_;
  std::vector<EventSample> samples_;
  size_t at_ = 0;
  bool is_begun_ = false;
};

Result<std::unique_ptr<QueryRows>> OpenSamples(QuerySource& source, const QueryLimits& limits) {
  Result<std::vector<EventSample>> samples = FindSamples(source, limits, false);
  if (!samples) return Fail(samples.error());
  return std::make_unique<SampleRows>(source, *std::move(samples));
}

}  // namespace

QueryTable samples_table() {
  return {.name = "samples",
          .summary = "what perf or the hardware sampled; samples without any branch are not there",
          .columns = kColumns,
          .usual_rows = 1e5,
          .open = OpenSamples};
}

}  // namespace flowback
