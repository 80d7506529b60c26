// SPDX-License-Identifier: MIT
#include "decode/schedule/resume_evidence.h"

#include <algorithm>
#include <span>
#include <variant>

#include "decode/stream_index.h"

namespace flowback {
namespace {

// A bound on the work: where there is more to look at than that, nothing is decided.
constexpr size_t kMostPauses = 256;
constexpr size_t kMostStays = 64;

// The stream's pauses within the place. What stands for the end of the stream is left out.
std::span<const Pause> PausesIn(const SharedStream& stream, const SwitchPlace& place) {
  const auto begin = std::ranges::lower_bound(stream.pauses, place.first, {}, &Pause::offset);
  auto end = std::ranges::upper_bound(begin, stream.pauses.end(), place.last, {}, &Pause::offset);
  if (end != begin && std::prev(end)->at_end) --end;
  return {begin, end};
}

// From the first offset at which the stay at `index` may have begun to the last one at which it may
// have ended. Not known where one of the two is not.
SwitchPlace WholePlace(const SharedStream& stream, size_t index) {
  const SwitchPlace begin = stream.places[index];
  if (!begin.known()) return {};
  if (index + 1 == stream.places.size()) return {begin.first, ~uint64_t{0}};
  const SwitchPlace end = stream.places[index + 1];
  return {begin.first, end.known() ? end.last : 0};
}

}  // namespace

const ResumePoint* SharedStream::PointAt(uint64_t offset) const {
  const auto found = std::ranges::lower_bound(points, offset, {}, &ResumePoint::offset);
  return found != points.end() && found->offset == offset ? &*found : nullptr;
}

ResumeEvidence::ResumeEvidence(const std::deque<SharedStream>& streams,
                               const std::vector<SidebandRecord>& records,
                               const std::vector<std::span<const ThreadStay>>& untold) {
  const auto add = [this](const SharedStream* stream, std::span<const ThreadStay> stays) {
    for (size_t i = 0; i < stays.size(); ++i)
      stays_[stays[i].tid].push_back({stream, &stays[i], i});
  };
  for (const SharedStream& stream : streams) add(&stream, stream.schedule->stays);
  for (const std::span<const ThreadStay>& stays : untold) add(nullptr, stays);
  for (auto& [tid, stays] : stays_)
    std::ranges::stable_sort(stays, {}, [](const StayOfThread& at) { return at.stay->begin; });
  for (const SidebandRecord& record : records)
    if (const auto* fork = std::get_if<ForkRecord>(&record)) forks_[fork->tid].push_back(fork);
}

bool ResumeEvidence::MayResume(const ThreadStay& stay, uint64_t address) const {
  Addresses stops;
  return stay.tid < 0 || !AddStopsBefore(stay, stops) || stops.contains(address);
}

// Goes back to the last stay in which the thread's flow was certainly traced, or to the thread's
// birth.
bool ResumeEvidence::AddStopsBefore(const ThreadStay& stay, Addresses& stops) const {
  const ForkRecord* birth = nullptr;
  if (const auto forks = forks_.find(stay.tid); forks != forks_.end())
    for (const ForkRecord* fork : forks->second)
      if (fork->time <= stay.begin) birth = fork;
  const auto found = stays_.find(stay.tid);
  if (found == stays_.end()) return false;
  const std::vector<StayOfThread>& stays = found->second;
  auto at = std::ranges::lower_bound(stays, stay.begin, {},
                                     [](const StayOfThread& other) { return other.stay->begin; });
  for (size_t looked = 0; at != stays.begin() && looked < kMostStays; ++looked) {
    --at;
    if (birth != nullptr && birth->time > at->stay->begin) break;
    if (!AddStopsAtEnd(*at, stops)) return false;
    const SwitchPlaces& places = at->stream->places;
    if (places[at->index].last < places[at->index + 1].first) return true;
  }
  const bool from_birth =
      birth != nullptr && (at == stays.begin() || birth->time > at->stay->begin);
  return from_birth && AddStopsAtFork(*birth, stops);
}

bool ResumeEvidence::AddStopsAtEnd(const StayOfThread& at, Addresses& stops) const {
  if (at.stream == nullptr) return false;
  const SwitchPlaces& places = at.stream->places;
  if (at.index + 1 >= places.size() || !places[at.index].known()) return false;
  const SwitchPlace end = places[at.index + 1];
  if (!end.known()) return false;
  const std::span<const Pause> pauses = PausesIn(*at.stream, end);
  if (pauses.empty() || pauses.size() > kMostPauses) return false;
  for (const Pause& pause : pauses) {
    const ResumePoint* point = at.stream->PointAt(pause.offset);
    if (point == nullptr || point->expected == 0) return false;
    stops.insert(point->expected);
  }
  return true;
}

// A new thread begins where its parent's system call returns.
bool ResumeEvidence::AddStopsAtFork(const ForkRecord& fork, Addresses& stops) const {
  const auto parent = stays_.find(fork.parent_tid);
  if (parent == stays_.end()) return false;
  bool found = false;
  for (const StayOfThread& at : parent->second) {
    if (fork.time < at.stay->begin || fork.time > at.stay->end) continue;
    if (at.stream == nullptr) return false;
    const SwitchPlace place = WholePlace(*at.stream, at.index);
    if (!place.known()) return false;
    for (const Pause& pause : PausesIn(*at.stream, place)) {
      if (pause.earliest > fork.time || pause.latest < fork.time) continue;
      const ResumePoint* point = at.stream->PointAt(pause.offset);
      if (point != nullptr && point->no_clone) continue;
      if (point == nullptr || point->expected == 0) return false;
      stops.insert(point->expected);
      found = true;
    }
  }
  return found;
}

}  // namespace flowback
