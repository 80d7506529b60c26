// SPDX-License-Identifier: MIT
#include "flowback/decode/stream_input.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>
#include <variant>

#include "decode/schedule/cpu_moves.h"
#include "decode/schedule/refine_changes.h"
#include "decode/schedule/stay_changes.h"
#include "decode/schedule/stays.h"

namespace flowback {
namespace {

class Builder {
 public:
  Builder(const Recording& recording, const RecordingCode& code)
      : code_(code), traced_(TracedThreads(recording)), stays_(recording.sideband) {
    const bool lost = std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
      return std::holds_alternative<LostRecord>(record);
    });
    // Of one traced thread all trace is, whether or not the records tell when it was where.
    only_one_ = traced_.size() == 1 && !lost && stays_.NameOnly(traced_.begin()->first);
  }

  Schedule Build(const Stream& stream) const {
    Schedule schedule;
    schedule.alone = only_one_ || (traced_.size() <= 1 && stays_.OneThread());
    if (stream.tid >= 0)
      schedule.stays.push_back(Whole(stream, stream.tid));
    else if (const auto& stays = stays_.Of(stream.cpu);
             stream.cpu >= 0 && !stays.empty() && !(only_one_ && HasGaps(stays)))
      schedule.stays = stays;
    else if (traced_.size() == 1)
      schedule.stays.push_back(Whole(stream, traced_.begin()->first));
    for (ThreadStay& stay : schedule.stays)
      stay.code = stay.pid >= 0 ? code_.OfProcess(stay.pid) : code_.Given();
    schedule.nobody.pid = code_.ProcessOf(stream);
    schedule.nobody.code =
        schedule.nobody.pid >= 0 ? code_.OfProcess(schedule.nobody.pid) : code_.Given();
    return schedule;
  }

 private:
  static bool HasGaps(const std::vector<ThreadStay>& stays) {
    return std::ranges::any_of(stays, [](const ThreadStay& stay) { return stay.tid < 0; });
  }
  ThreadStay Whole(const Stream& stream, int32_t tid) const {
    const auto traced = traced_.find(tid);
    int32_t pid = stream.pid;
    if (pid < 0 && traced != traced_.end()) pid = traced->second;
    if (pid < 0) pid = code_.ProcessOf(stream);
    return {.pid = pid, .tid = tid, .code = nullptr};
  }

  const RecordingCode& code_;
  std::map<int32_t, int32_t> traced_;
  StaysOfCpus stays_;
  bool only_one_ = false;
};

}  // namespace

std::map<int32_t, int32_t> TracedThreads(const Recording& recording) {
  std::map<int32_t, int32_t> traced;
  for (const Stream& stream : recording.streams)
    if (stream.tid > 0) traced.emplace(stream.tid, stream.pid);
  for (const SidebandRecord& record : recording.sideband) {
    const auto* start = std::get_if<ItraceStartRecord>(&record);
    if (start != nullptr && start->tid > 0) traced.emplace(start->tid, start->pid);
    const auto* fork = std::get_if<ForkRecord>(&record);
    if (fork != nullptr && fork->tid > 0 && traced.contains(fork->parent_tid))
      traced.emplace(fork->tid, fork->pid);
  }
  return traced;
}

StreamInputs::StreamInputs(const Recording& recording, const RecordingCode& code, Resync resync) {
  const Builder builder(recording, code);
  std::vector<std::vector<SwitchPlace>> places;
  for (const Stream& stream : recording.streams) {
    Schedule& schedule = schedules_.emplace_back(builder.Build(stream));
    DecodeInput& input = inputs_.emplace_back();
    input.bytes = stream.bytes;
    input.joined = stream.joined;
    input.config = recording.pt;
    input.resync = resync;
    input.gaps = stream.gaps;
    StayChanges found = FindStayChanges(stream, recording.pt, schedule);
    input.changes = std::move(found.changes);
    input.code = input.changes.front().stay->code.get();
    places.push_back(std::move(found.places));
  }
  RefineChanges(recording, schedules_, inputs_, places);
  OrderMoves(recording, schedules_, inputs_);
  for (DecodeInput& input : inputs_) input.code = input.changes.front().stay->code.get();
}

void StreamInputs::set_threads(unsigned threads, size_t window) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  for (DecodeInput& input : inputs_) {
    input.threads = threads;
    input.window = window;
  }
}

}  // namespace flowback
