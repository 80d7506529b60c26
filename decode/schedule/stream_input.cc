// SPDX-License-Identifier: MIT
#include "flowback/decode/stream_input.h"

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <variant>

#include "decode/schedule/cpu_moves.h"
#include "decode/schedule/lost_programs.h"
#include "decode/schedule/refine_changes.h"
#include "decode/schedule/stay_changes.h"
#include "decode/schedule/stays.h"

namespace flowback {
namespace {

using Histories = std::map<int32_t, RecordingCode::History>;  // by pid

class Builder {
 public:
  // `changed` has the code of those processes whose records are incomplete.
  Builder(const Recording& recording, const RecordingCode& code, const Histories& changed)
      : code_(code),
        changed_(changed),
        traced_(TracedThreads(recording)),
        stays_(recording.sideband) {
    const bool lost = std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
      return std::holds_alternative<LostRecord>(record);
    });
    std::map<int32_t, size_t> buffers;
    for (const Stream& stream : recording.streams)
      if (stream.tid < 0) cpus_[stream.cpu].shared = ++buffers[stream.cpu] > 1;
    // Where only one thread was traced, all trace is its, whether or not the records say when it
    // was on which CPU.
    only_one_ = traced_.size() == 1 && !lost && stays_.NameOnly(traced_.begin()->first);
    others_ran_ = std::ranges::any_of(recording.sideband, [this](const SidebandRecord& record) {
      const auto* change = std::get_if<SwitchRecord>(&record);
      return change != nullptr &&
             (!MayBeTraced(change->tid) || change->tid < 0 || !MayBeTraced(change->other_tid));
    });
  }

  Schedule Build(const Stream& stream) {
    Schedule schedule;
    schedule.alone = only_one_ || (traced_.size() <= 1 && stays_.OneThread());
    if (stream.tid >= 0)
      Give(schedule, {Whole(stream, stream.tid)});
    else if (const Cpu& cpu = Of(stream.cpu); !cpu.stays->empty() && !(only_one_ && cpu.has_gaps))
      GiveAll(schedule, cpu);
    else if (traced_.size() == 1 && (stream.cpu >= 0 || !others_ran_))
      Give(schedule, {Whole(stream, traced_.begin()->first)});
    schedule.nobody.pid = code_.ProcessOf(stream);
    schedule.nobody.code = CodeOf(schedule.nobody.pid);
    return schedule;
  }

 private:
  // Returns whether it is a traced thread, the idle task, or unknown.
  bool MayBeTraced(int32_t tid) const { return tid <= 0 || traced_.contains(tid); }

  using Stays = std::vector<ThreadStay>;
  struct Cpu {
    std::shared_ptr<const Stays> stays;
    bool has_gaps = false;  // some of them are nobody's
    bool shared = false;    // by several streams
  };

  const Cpu& Of(int32_t number) {
    Cpu& cpu = cpus_[number];
    if (cpu.stays != nullptr) return cpu;
    cpu.stays = number < 0 ? std::make_shared<Stays>() : WithCode(stays_.Of(number));
    cpu.has_gaps = std::ranges::any_of(*cpu.stays, [](const auto& stay) { return stay.tid < 0; });
    return cpu;
  }
  RecordingCode::History CodeOf(int32_t pid) const {
    const auto changed = changed_.find(pid);
    if (changed != changed_.end()) return changed->second;
    return pid >= 0 ? code_.OfProcess(pid) : code_.Given();
  }
  std::shared_ptr<const Stays> WithCode(Stays stays) const {
    for (ThreadStay& stay : stays) stay.code = CodeOf(stay.pid);
    return std::make_shared<const Stays>(std::move(stays));
  }
  void Give(Schedule& schedule, Stays stays) const {
    schedule.storage = WithCode(std::move(stays));
    schedule.stays = *schedule.storage;
  }
  static void GiveAll(Schedule& schedule, const Cpu& cpu) {
    schedule.storage = cpu.stays;
    schedule.stays = *schedule.storage;
    schedule.shared = cpu.shared;
  }
  ThreadStay Whole(const Stream& stream, int32_t tid) const {
    const auto traced = traced_.find(tid);
    int32_t pid = stream.pid;
    if (pid < 0 && traced != traced_.end()) pid = traced->second;
    if (pid < 0) pid = code_.ProcessOf(stream);
    return {.pid = pid, .tid = tid, .code = nullptr};
  }

  const RecordingCode& code_;
  const Histories& changed_;
  std::map<int32_t, int32_t> traced_;
  StaysOfCpus stays_;
  std::map<int32_t, Cpu> cpus_;
  bool only_one_ = false;
  // A switch record names a thread that is not traced, or no thread at all.
  bool others_ran_ = false;
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

StreamInputs::StreamInputs(const Recording& recording, const RecordingCode& code, Resync resync)
    : StreamInputs(recording, code, resync, OpenSource(recording).value()) {}

StreamInputs::StreamInputs(const Recording& recording, const RecordingCode& code, Resync resync,
                           std::shared_ptr<const TraceSource> source)
    : source_(std::move(source)) {
  Build(recording, code, resync, {});
  const Histories changed = FindLostPrograms(recording, code, *source_, inputs_);
  if (!changed.empty()) Build(recording, code, resync, changed);
}

void StreamInputs::Build(const Recording& recording, const RecordingCode& code, Resync resync,
                         const std::map<int32_t, RecordingCode::History>& changed) {
  schedules_.clear();
  inputs_.clear();
  Builder builder(recording, code, changed);
  std::vector<SwitchPlaces> places;
  bool in_doubt = false;
  for (const Stream& stream : recording.streams) {
    Schedule& schedule = schedules_.emplace_back(builder.Build(stream));
    DecodeInput& input = inputs_.emplace_back();
    input.bytes = stream.bytes;
    input.joined = stream.joined;
    input.config = recording.config;
    input.time = recording.time;
    input.resync = resync;
    input.gaps = stream.gaps;
    StayChanges found = FindStayChanges(stream, *source_, recording.time, schedule);
    input.changes = std::move(found.changes);
    input.code = input.changes.front().stay->code.get();
    places.push_back(std::move(found.places));
    in_doubt |= found.in_doubt;
  }
  if (in_doubt) RefineChanges(recording, *source_, schedules_, inputs_, places);
  OrderMoves(recording, *source_, schedules_, inputs_);
  for (DecodeInput& input : inputs_) input.code = input.changes.front().stay->code.get();
}

void StreamInputs::set_threads(unsigned threads, size_t in_flight) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  for (DecodeInput& input : inputs_) {
    input.threads = threads;
    input.in_flight = in_flight;
  }
}

}  // namespace flowback
