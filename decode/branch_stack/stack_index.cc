// SPDX-License-Identifier: MIT
#include "decode/branch_stack/stack_index.h"

#include <map>

#include "decode/branch_stack/stack_records.h"
#include "decode/stream_index.h"

namespace flowback::branch_stack {
namespace {

// Calls visit(offset, record) for each record until it returns false.
template <class Visit>
void ForEach(const Stream& stream, uint64_t from, Visit&& visit) {
  StackRecords records(stream);
  for (uint64_t at = from; at + kBranchRecordSize <= stream.bytes.size(); at += kBranchRecordSize)
    if (!visit(at, records.At(at))) return;
}

}  // namespace

std::string_view NameOf(const BranchRecord& record) {
  if (record.empty()) return "EMPTY";
  if (record.on_wrong_path()) return "WRONG-PATH";
  if (record.aborted) return "ABORT";
  return record.kind == BranchKind::kNotTold ? "BRANCH" : Name(record.kind);
}

std::shared_ptr<const StreamIndex> IndexStream(const Stream& stream) {
  auto index = std::make_shared<StreamIndex>();
  std::map<std::string_view, PacketCount> counts;
  ForEach(stream, 0, [&](uint64_t at, const BranchRecord& record) {
    PacketCount& count = counts[NameOf(record)];
    ++count.count;
    count.bytes += kBranchRecordSize;
    const bool padding = record.empty() || record.on_wrong_path();
    (padding ? index->padding_bytes : index->packet_bytes) += kBranchRecordSize;
    std::vector<SyncPoint>& points = index->sync_points;
    const bool far = points.empty() || at - points.back().offset >= StreamIndex::kSyncSpacing;
    if (record.begins_stack && far)
      points.push_back({.offset = at, .first_tsc = record.told_time()});
    return true;
  });
  index->packets.assign(counts.begin(), counts.end());
  index->pauses = PauseList(StreamIndex::MostPauseBytes(stream.bytes.size()));
  VisitPauses(stream, [&](const Pause& pause) {
    index->pauses.Add(pause);
    return true;
  });
  index->times = Times(stream);
  return index;
}

void VisitPauses(const Stream& stream, const std::function<bool(const Pause&)>& visit) {
  uint64_t before = 0;
  bool more = true;
  ForEach(stream, 0, [&](uint64_t at, const BranchRecord& record) {
    if (record.begins_stack)
      more = visit({.offset = at, .earliest = before, .latest = record.told_time()});
    before = record.told_time();
    return more;
  });
  if (more)
    visit({.offset = stream.bytes.size(),
           .earliest = before,
           .latest = ~uint64_t{0},
           .at_end = true});
}

void VisitSamples(const Stream& stream, StreamRange range,
                  const std::function<void(const StreamSample&)>& visit) {
  StreamSample sample;
  ForEach(stream, range.begin, [&](uint64_t at, const BranchRecord& record) {
    if (at >= range.end) return false;
    if (record.begins_stack) sample = {.offset = at};
    if (!record.empty() && !record.on_wrong_path()) {
      ++sample.records;
      sample.to = record.led_to();
    }
    if (!record.ends_stack) return true;
    sample.tsc = record.told_time();
    sample.order = record.time;
    sample.ip = record.ip;
    visit(sample);
    return true;
  });
}

uint64_t StackBefore(const Stream& stream, uint64_t offset) {
  if (stream.bytes.size() < kBranchRecordSize) return 0;
  const uint64_t last = stream.bytes.size() / kBranchRecordSize - 1;
  uint64_t record = std::min(offset / kBranchRecordSize, last);
  StackRecords records(stream);
  while (record != 0 && !records.At(record * kBranchRecordSize).begins_stack) --record;
  return record * kBranchRecordSize;
}

uint64_t FirstTime(const Stream& stream, uint64_t offset, uint64_t end) {
  uint64_t time = 0;
  ForEach(stream, offset, [&](uint64_t at, const BranchRecord& record) {
    if (at < end) time = record.told_time();
    return at < end && time == 0;
  });
  return time;
}

// Stacks are in the order of their times.
TscInterval Times(const Stream& stream) {
  if (stream.bytes.size() < kBranchRecordSize) return {};
  const uint64_t last = stream.bytes.size() / kBranchRecordSize - 1;
  return {FirstTime(stream, 0, stream.bytes.size()),
          StackRecords(stream).At(last * kBranchRecordSize).told_time()};
}

}  // namespace flowback::branch_stack
