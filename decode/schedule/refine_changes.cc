// SPDX-License-Identifier: MIT
#include "decode/schedule/refine_changes.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <span>
#include <utility>
#include <variant>

#include "decode/schedule/stay_changes.h"
#include "decode/stream_index.h"
#include "flowback/decode/decoder.h"

namespace flowback {
namespace {

// A found switch may show where another thread stopped, which may decide another switch, and so on.
// Mostly nothing new is found after two rounds.
constexpr int kMostRounds = 8;

bool MayMissRecords(const Recording& recording) {
  return std::ranges::any_of(recording.sideband, [](const SidebandRecord& record) {
    return std::holds_alternative<LostRecord>(record);
  });
}

// Flow between the stays of two processes that is nobody's is read with the code of one of them.
enum class CodeBetween : uint8_t { kOfTheFirst, kOfTheSecond };

std::vector<StayChange> WithCodeBetween(const std::vector<StayChange>& changes, CodeBetween code) {
  std::vector<StayChange> result;
  for (size_t i = 0; i < changes.size(); ++i) {
    StayChange change = changes[i];
    if (change.stay->tid < 0) {
      const bool first = code == CodeBetween::kOfTheFirst;
      if (first ? i > 0 : i + 1 < changes.size())
        change.stay = first ? result.back().stay : changes[i + 1].stay;
    }
    result.push_back(change);
  }
  return result;
}

// Where one reading has lost the flow, the other may have followed it.
void AddPoints(std::vector<ResumePoint>& points, const std::vector<ResumePoint>& others) {
  std::vector<ResumePoint> merged;
  std::ranges::merge(points, others, std::back_inserter(merged), {}, &ResumePoint::offset,
                     &ResumePoint::offset);
  points.clear();
  for (const ResumePoint& point : merged) {
    if (points.empty() || points.back().offset != point.offset)
      points.push_back(point);
    else if (!points.back().SameThread() && (point.SameThread() || points.back().expected == 0))
      points.back() = point;
  }
}

// False when the stream can't be decoded.
bool FindPoints(const DecodeInput& input, Decoder& decoder, std::vector<ResumePoint>& points) {
  const bool one_process = std::ranges::all_of(input.changes, [&](const StayChange& change) {
    return change.stay->pid == input.changes.front().stay->pid;
  });
  for (const CodeBetween code : {CodeBetween::kOfTheFirst, CodeBetween::kOfTheSecond}) {
    DecodeInput reading = input;
    reading.changes = WithCodeBetween(input.changes, code);
    reading.resync = Resync::kEarliest;  // to see as many pauses as possible
    const Result<std::vector<ResumePoint>> found = FindResumePoints(reading, decoder);
    if (!found) return false;
    AddPoints(points, *found);
    if (one_process) return true;
  }
  // Read with another process's code, a thread may seem to have stopped anywhere: that is no
  // evidence.
  for (ResumePoint& point : points) point.no_detour = false;
  return true;
}

}  // namespace

void RefineChanges(const Recording& recording, const TraceSource& source,
                   std::deque<Schedule>& schedules, std::vector<DecodeInput>& inputs,
                   const std::vector<SwitchPlaces>& places) {
  if (MayMissRecords(recording)) return;
  const Result<std::unique_ptr<Decoder>> decoder = source.MakeDecoder("");
  if (!decoder) return;
  std::deque<SharedStream> streams;
  std::map<const ThreadStay*, std::span<const ThreadStay>> untold;  // of a CPU once
  for (const Stream& stream : recording.streams) {
    if (places[stream.index].empty()) continue;
    const Schedule& schedule = schedules[stream.index];
    if (schedule.shared) {
      untold.emplace(schedule.stays.data(), schedule.stays);
      continue;
    }
    SharedStream& shared = streams.emplace_back(&stream, &schedules[stream.index]);
    shared.places = places[stream.index];
    source.VisitPauses(stream, recording.time, [&](const Pause& pause) {
      shared.pauses.push_back(pause);
      return true;
    });
    if (!FindPoints(inputs[stream.index], **decoder, shared.points)) return;
  }
  const auto cpus = std::views::values(untold);
  const ResumeEvidence evidence(streams, recording.sideband, {cpus.begin(), cpus.end()});
  bool better = true;
  for (int round = 0; better && round < kMostRounds; ++round) {
    better = false;
    for (SharedStream& shared : streams) {
      const uint32_t index = shared.stream->index;
      StayChanges found = FindStayChanges(shared, schedules[index], evidence);
      better |= found.places != shared.places;
      shared.places = std::move(found.places);
      inputs[index].changes = std::move(found.changes);
    }
  }
}

}  // namespace flowback
