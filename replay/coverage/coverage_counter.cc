// SPDX-License-Identifier: MIT
#include "flowback/replay/coverage_counter.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>

#include "base/saturated.h"
#include "flowback/replay/recording_clock.h"
#include "replay/coverage/block_sums.h"
#include "replay/coverage/coverage_objects.h"
#include "replay/coverage/mapped_objects.h"

namespace flowback {
namespace {

constexpr const char* kFiltered = "filtered";
constexpr uint64_t kOverwriteFlag = 2;  // of AUX records

bool IsSnapshot(const Recording& recording) {
  return std::ranges::any_of(recording.sideband, [](const SidebandRecord& any) {
    const auto* aux = std::get_if<AuxRecord>(&any);
    return aux != nullptr && (aux->flags & kOverwriteFlag) != 0;
  });
}

// Returns whether only a part was recorded, of user code or of all.
bool IsFiltered(const Recording& recording, const TraceSource& source) {
  if (!recording.machine.from.empty() || !recording.machine.until.empty()) return true;
  if (!recording.levels.user.value_or(true)) return true;
  return std::ranges::any_of(source.Settings(), [](const TraceSetting& setting) {
    const bool* on = std::get_if<bool>(&setting.value);
    return setting.key == "address_filter" && on != nullptr && *on;
  });
}

}  // namespace

bool LeavesCodeUnknown(LossCause cause) {
  return cause != LossCause::kThreadUnknown && cause != LossCause::kNoTime;
}

struct CoverageCounter::Parts {
  // Where a mapping of an address space lies in its object, and its bodies by mode.
  struct Range {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t delta = 0;  // offset - address
    uint32_t object = 0;
    std::array<uint32_t, kCodeModes.size()> bodies{};  // number + 1; 0: none yet
  };
  // The requested ranges, by address.
  using View = std::vector<Range>;

  Parts(const Recording& all, const RecordingCode& its_code, const StreamInputs& input)
      : recording(all),
        inputs(input),
        code(its_code),
        clock(all),
        objects(all, its_code),
        mapped(all, objects) {}

  Range& RangeAt(View& view, const AddressSpace* space, uint64_t address, int32_t pid);
  BlockSums::Place PlaceAt(uint64_t address);
  void AddUse(const BlockUse& use);
  void AddAcross(const BlockUse& use);
  void AddRecorders();
  std::map<uint32_t, std::vector<ReplacedRange>> Replaced();
  TimeSpan SpanOf(const DataLoss& loss) const;
  int32_t PidOf(const ThreadStay* stay) const {
    return stay != nullptr ? stay->pid : stream == nullptr ? -1 : code.ProcessOf(*stream);
  }

  const Recording& recording;
  const StreamInputs& inputs;
  const RecordingCode& code;
  const RecordingClock clock;
  CoverageObjects objects;
  MappedObjects mapped;
  const Stream* stream = nullptr;
  std::unordered_map<const AddressSpace*, View> views;
  std::vector<std::pair<uint32_t, CodeMode>> bodies;  // object and mode
  BlockSums sums;
  uint64_t instructions = 0;

  // Space and mode of the current counts.
  const AddressSpace* space = nullptr;
  CodeMode mode{};
  int32_t pid = -1;
  View* view = nullptr;
  std::array<size_t, 4> last{};  // ranges of the view that were asked for last
};

CoverageCounter::CoverageCounter(const Recording& recording, const RecordingCode& code,
                                 const StreamInputs& inputs)
    : parts_(std::make_unique<Parts>(recording, code, inputs)) {}

CoverageCounter::~CoverageCounter() = default;

void CoverageCounter::Begin(const Stream& stream) { parts_->stream = &stream; }

CoverageCounter::Parts::Range& CoverageCounter::Parts::RangeAt(View& ranges, const AddressSpace* in,
                                                               uint64_t address, int32_t of) {
  auto at = std::ranges::upper_bound(ranges, address, {}, &Range::begin);
  if (at != ranges.begin() && address < std::prev(at)->end) return *std::prev(at);
  const CodeMapping* mapping = in == nullptr ? nullptr : in->Find(address);
  Range range;
  if (mapping != nullptr) {
    const CoverageObjects::Place place = objects.Of(*mapping, of);
    range = {.begin = mapping->address,
             .end = mapping->address + mapping->size,
             .delta = place.offset - mapping->address,
             .object = place.object};
  } else {
    range = {.begin = address, .end = address + 1, .object = objects.Nowhere(0).object};
  }
  last = {};
  return *ranges.insert(at, range);
}

BlockSums::Place CoverageCounter::Parts::PlaceAt(uint64_t address) {
  Range* range = nullptr;
  for (const size_t each : last)
    if (each < view->size() &&
        address - (*view)[each].begin < (*view)[each].end - (*view)[each].begin) {
      range = &(*view)[each];
      break;
    }
  if (range == nullptr) {
    range = &RangeAt(*view, space, address, pid);
    std::shift_right(last.begin(), last.end(), 1);
    last[0] = static_cast<size_t>(range - view->data());
  }
  uint32_t& body = range->bodies[IndexOf(mode)];
  if (body == 0) {
    const std::pair wanted(range->object, mode);
    const auto known = std::ranges::find(bodies, wanted);
    body = static_cast<uint32_t>(known - bodies.begin()) + 1;
    if (known == bodies.end()) bodies.push_back(wanted);
  }
  return {body - 1, address + range->delta};
}

void CoverageCounter::Parts::AddUse(const BlockUse& use) {
  const BlockSums::Place place = PlaceAt(use.block.address);
  const BlockSums::Place end = PlaceAt(use.block.LastAddress());
  if (place.body != end.body || end.offset - place.offset >= use.block.size) return AddAcross(use);
  sums.Add(place, use);
}

// Adds each instruction of a block that goes from one mapping into another.
void CoverageCounter::Parts::AddAcross(const BlockUse& use) {
  uint64_t address = use.block.address;
  for (uint16_t i = 0; i < use.count; ++i) {
    const bool ends = i + 1 == use.block.count;
    BlockUse one = use;
    one.block = {.address = address,
                 .lengths = use.block.lengths + i,
                 .size = use.block.lengths[i],
                 .count = 1,
                 .last = ends ? use.block.last : InstructionClass::kOther};
    one.count = 1;
    if (!ends) one.exit = BlockExit::kFallThrough;
    sums.Add(PlaceAt(address), one);
    address += use.block.lengths[i];
  }
}

void CoverageCounter::OnCounts(const ThreadStay* stay, const BlockCounts& counts) {
  Parts& parts = *parts_;
  parts.space = counts.space;
  parts.mode = counts.mode;
  parts.pid = parts.PidOf(stay);
  parts.view = &parts.views[counts.space];
  parts.last = {};
  for (const BlockUse& use : counts.uses) {
    if (use.count == 0 || use.times == 0) continue;
    parts.AddUse(use);
    parts.instructions += use.times * use.count;
  }
  for (const BlockTarget& target : counts.targets) {
    const BlockSums::Place branch = parts.PlaceAt(target.branch);
    const bool known = counts.space != nullptr && counts.space->Find(target.target) != nullptr;
    const BlockSums::Place place = known ? parts.PlaceAt(target.target)
                                         : BlockSums::Place{TargetCount::kNoObject, target.target};
    parts.sums.Add(branch, target.kind, place, target.times);
  }
}

TimeSpan CoverageCounter::Parts::SpanOf(const DataLoss& loss) const {
  TimeSpan span;
  if (loss.stay != nullptr) span = {loss.stay->begin, loss.stay->end};
  if (!clock.has_nanoseconds()) return span;
  if (loss.tsc != 0) span.begin = std::max(span.begin, clock.Value(loss.tsc));
  if (loss.end_tsc != 0) span.end = std::min(span.end, clock.UpperValue(loss.end_tsc));
  return span;
}

void CoverageCounter::AddTotals(const ThreadStay* stay, const FlowTotals& totals) {
  Parts& parts = *parts_;
  const int32_t pid = parts.PidOf(stay);
  if (totals.digest.count != 0 || !totals.losses.empty())
    parts.mapped.NoteRan(pid, stay == nullptr ? TimeSpan() : TimeSpan{stay->begin, stay->end});
  for (const DataLoss& loss : totals.losses)
    if (LeavesCodeUnknown(loss.cause))
      parts.mapped.AddLoss(pid, parts.SpanOf(loss), Name(loss.cause), loss.count);
}

// What the recording as a whole says.
void CoverageCounter::Parts::AddRecorders() {
  const auto add = [&](const std::string& cause, uint64_t count) {
    mapped.AddLoss(-1, {}, cause, count);
  };
  for (const RecorderLoss& loss : recording.losses)
    if (LeavesCodeUnknown(loss.cause)) add(Name(loss.cause), loss.count);
  const auto damage = std::ranges::count_if(
      recording.warnings, [](const Warning& warning) { return !warning.remedy.empty(); });
  if (damage != 0 || recording.refusal) add(kDamagedCause, std::max<uint64_t>(1, damage));
  if (IsSnapshot(recording)) add(Name(LossCause::kNotKept), 1);
  if (IsFiltered(recording, inputs.source())) add(kFiltered, 1);
  if (inputs.source().samples()) add(kSampledCause, 1);
}

// By object: where its text was replaced by other code that ran.
std::map<uint32_t, std::vector<ReplacedRange>> CoverageCounter::Parts::Replaced() {
  std::map<uint32_t, std::vector<ReplacedRange>> all;
  for (const ReplacedText& text : code.replaced_text())
    all[objects.OfFile(*text.section)].push_back({text.file_offset, text.file_offset + text.size});
  for (auto& [object, ranges] : all) Normalize(ranges);
  return all;
}

CoverageCounts CoverageCounter::Take() {
  Parts& parts = *parts_;
  parts.AddRecorders();
  CoverageCounts result;
  result.recordings = 1;
  result.instructions = std::exchange(parts.instructions, 0);
  result.emulated = parts.recording.machine.emulated;
  const MappedObjects::Losses all_losses = parts.mapped.AllLosses();
  std::map<uint32_t, MappedObjects::Losses> mapped = parts.mapped.Take();
  if (mapped.empty())  // no records: the given files were there
    for (const AddressSpaceHistory::Epoch& epoch : parts.code.Given()->epochs)
      for (const CodeMapping& mapping : epoch.space->mappings())
        mapped[parts.objects.Of(mapping, -1).object] = all_losses;
  std::vector<ObjectCounts> counts = parts.sums.Take(parts.bodies.size());
  std::vector<bool> executed(parts.objects.all().size());
  for (size_t body = 0; body < counts.size(); ++body) {
    counts[body].mode = parts.bodies[body].second;
    executed[parts.bodies[body].first] = true;
  }
  for (const auto& [object, losses] : mapped) {
    if (executed[object]) continue;
    parts.bodies.emplace_back(object, parts.objects.all()[object].mode);
    counts.emplace_back().mode = parts.bodies.back().second;
  }
  for (size_t body = 0; body < counts.size(); ++body) {
    const uint32_t object = parts.bodies[body].first;
    counts[body].id = parts.objects.all()[object].id;
    const auto known = mapped.find(object);
    // If no record names the process of a mapping, any loss may belong to it.
    counts[body].losses = known == mapped.end() ? all_losses : known->second;
  }

  for (auto& [object, ranges] : parts.Replaced())
    for (size_t body = 0; body < counts.size(); ++body)
      if (parts.bodies[body].first == object) counts[body].replaced = ranges;

  std::vector<uint32_t> order(counts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    const auto by = counts[a].id.Compare(counts[b].id);
    return by != 0 ? by < 0 : counts[a].mode < counts[b].mode;
  });
  std::vector<uint32_t> places(counts.size());
  for (uint32_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  for (const uint32_t body : order) {
    ObjectCounts& object = result.objects.emplace_back(std::move(counts[body]));
    for (TargetCount& target : object.targets)
      if (target.object != TargetCount::kNoObject) target.object = places[target.object];
    std::ranges::sort(object.targets);
  }
  parts.bodies.clear();
  parts.views.clear();
  return result;
}

}  // namespace flowback
