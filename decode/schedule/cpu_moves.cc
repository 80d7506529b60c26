// SPDX-License-Identifier: MIT
//
// A thread runs on one CPU at a time. Each CPU's stream shows when the thread's flow stopped there
// and went on, within bounds: by the timing packets around.
//
//      CPU 0   |--a1--| |-a2-|                  |---a3---|
//      CPU 1                    |-b1-| |--b2--|             |--b3--|
//      order       a1, a2          b1, b2            a3        b3
//
// So the streams' stretches of flow are merged. One that goes on until after another began at the
// latest can't be before it. Mostly that decides. Where both orders are possible, for a stretch
// that no timing packet lies in, the thread is taken to stay on its CPU unless a timing packet in
// the pause shows that it was away: a CPU that begins to trace writes the time first. Then the
// stretch goes first that has the earlier time ahead of it.
//
// Stretches that follow each other on a CPU make one part, a stay of the thread.
#include "decode/schedule/cpu_moves.h"

#include <algorithm>
#include <map>
#include <utility>

#include "decode/schedule/merge_stretches.h"
#include "decode/stream_index.h"

namespace flowback {
namespace {

// False when the stream has no times.
bool FindStretches(const Stream& stream, const TraceSource& source,
                   std::vector<Stretch>& stretches) {
  constexpr TimeConversion kTicks{.shift = 0, .mult = 1, .zero = 0};
  return source.VisitPauses(stream, kTicks, [&](const Pause& pause) {
    if (pause.inside) return true;
    if (!stretches.empty())
      stretches.back().end_lo = std::max(stretches.back().begin_lo, pause.earliest);
    if (!pause.at_end)
      stretches.push_back({.offset = pause.offset,
                           .begin_lo = pause.resumed,
                           .begin_hi = std::max(pause.latest, pause.resumed),
                           .end_lo = pause.resumed,
                           .told = pause.resumed > pause.earliest});
    return true;
  });
}

class Mover {
 public:
  Mover(const Recording& recording, const TraceSource& source, std::deque<Schedule>& schedules,
        std::vector<DecodeInput>& inputs)
      : recording_(recording), source_(source), schedules_(schedules), inputs_(inputs) {}

  void Run() {
    std::map<std::pair<int32_t, int32_t>, std::vector<uint32_t>> threads;
    for (const Stream& stream : recording_.streams)
      if (IsOfOneThread(stream)) {
        const ThreadStay& stay = *inputs_[stream.index].changes.front().stay;
        threads[{stay.pid, stay.tid}].push_back(stream.index);
      }
    for (const auto& [thread, streams] : threads)
      if (streams.size() > 1) Order(streams);
  }

 private:
  // Returns true if records do not say when the thread was there, or are not needed.
  bool IsOfOneThread(const Stream& stream) const {
    const std::vector<StayChange>& changes = inputs_[stream.index].changes;
    const ThreadStay* stay = changes.front().stay;
    if (stream.bytes.empty() || changes.size() != 1 || stay->tid < 0) return false;
    return schedules_[stream.index].alone || stay->begin_bound == Bound::kOpen;
  }

  void Order(const std::vector<uint32_t>& streams) {
    std::vector<StretchSource> sources;
    std::vector<uint32_t> timeless;
    for (const uint32_t stream : streams) {
      StretchSource source{.stream = stream, .stretches = {}};
      const bool timed = FindStretches(recording_.streams[stream], source_, source.stretches);
      if (source.stretches.empty()) continue;
      if (timed)
        sources.push_back(std::move(source));
      else
        timeless.push_back(stream);
    }
    if (sources.size() + timeless.size() < 2) return;
    for (const uint32_t stream : timeless) GiveToNobody(stream);
    if (sources.size() > 1) Divide(sources, MergeStretches(sources));
  }

  void GiveToNobody(uint32_t stream) {
    const ThreadStay& stay = *inputs_[stream].changes.front().stay;
    ThreadStay& nobody = schedules_[stream].nobody;
    nobody.first_tid = nobody.last_tid = stay.tid;
    nobody.pid = stay.pid;
    nobody.code = stay.code;
    inputs_[stream].changes = {{.offset = 0, .stay = &nobody}};
  }

  uint64_t TimeOf(uint64_t tsc) const {
    const TimeConversion& conversion = recording_.time;
    return conversion.known() ? conversion.ToNanoseconds(tsc) : 0;
  }

  // The thread came to the part's CPU by then.
  uint64_t BeginOf(const std::vector<StretchSource>& sources, const StretchPart& before,
                   const StretchPart& part) const {
    const uint64_t left = sources[before.source].stretches[before.end - 1].end_lo;
    return std::max(left, sources[part.source].stretches[part.first].begin_lo);
  }

  void Divide(const std::vector<StretchSource>& sources, const std::vector<StretchPart>& parts) {
    std::vector<ThreadStay> whole;
    for (const StretchSource& source : sources) {
      whole.push_back(*inputs_[source.stream].changes.front().stay);
      inputs_[source.stream].changes.clear();
    }
    ThreadStay* before = nullptr;
    for (size_t i = 0; i < parts.size(); ++i) {
      const StretchSource& source = sources[parts[i].source];
      Schedule& schedule = schedules_[source.stream];
      ThreadStay& stay = schedule.moves.emplace_back(whole[parts[i].source]);
      stay.begin_bound = stay.end_bound = Bound::kOpen;
      stay.begin = stay.begin_tsc = 0;
      stay.end = stay.end_tsc = ~uint64_t{0};
      if (before != nullptr) {
        stay.begin_tsc = std::max(BeginOf(sources, parts[i - 1], parts[i]), before->begin_tsc);
        before->end_tsc = stay.begin_tsc;
        // One more where the clock stands still, so that no two begin at once.
        before->end = stay.begin = std::max(TimeOf(stay.begin_tsc), before->begin + 1);
      }
      before = &stay;
      const uint64_t offset = parts[i].first == 0 ? 0 : source.stretches[parts[i].first].offset;
      inputs_[source.stream].changes.push_back({.offset = offset, .stay = &stay});
    }
  }

  const Recording& recording_;
  const TraceSource& source_;
  std::deque<Schedule>& schedules_;
  std::vector<DecodeInput>& inputs_;
};

}  // namespace

void OrderMoves(const Recording& recording, const TraceSource& source,
                std::deque<Schedule>& schedules, std::vector<DecodeInput>& inputs) {
  Mover(recording, source, schedules, inputs).Run();
}

}  // namespace flowback
