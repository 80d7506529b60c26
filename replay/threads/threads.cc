// SPDX-License-Identifier: MIT
// A stream's label is its thread where there is one only, else its CPU's. Threads put together
// from the scheduling records have pieces of several streams.
#include "flowback/replay/threads.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>

namespace flowback {
namespace {

bool Listed(const std::vector<int32_t>& list, int32_t number) {
  return list.empty() || std::ranges::find(list, number) != list.end();
}

// Returns true if there are no records of threads or CPUs.
bool IsRaw(const Recording& recording) {
  return recording.sideband.empty() &&
         std::ranges::all_of(recording.streams,
                             [](const Stream& stream) { return stream.cpu < 0 && stream.tid < 0; });
}

std::string LabelOf(const Stream& stream, int32_t tid) {
  if (tid >= 0) return std::to_string(tid);
  return stream.cpu >= 0 ? "cpu" + std::to_string(stream.cpu) : std::to_string(stream.index);
}

}  // namespace

std::vector<const ThreadFlow*> FlowsOf(const std::vector<StreamOwner>& owners) {
  std::vector<const ThreadFlow*> flows;
  for (const StreamOwner& owner : owners) flows.push_back(&owner);
  return flows;
}

Threads::Threads(const Recording& recording) : traced_(TracedThreads(recording)) {
  CollectComms(recording);
  const bool raw = IsRaw(recording);
  for (const Stream& stream : recording.streams)
    if (raw || !stream.bytes.empty()) owners_.push_back(OwnerOf(stream, raw));
  std::ranges::stable_sort(owners_, {}, [](const StreamOwner& owner) {
    return std::tuple(owner.tid < 0, owner.tid, owner.stream->index);
  });
}

void Threads::CollectComms(const Recording& recording) {
  std::unordered_map<int32_t, std::string> current;
  for (const SidebandRecord& record : recording.sideband) {
    if (const auto* comm = std::get_if<CommRecord>(&record)) {
      comms_.push_back({comm->tid, comm->time, comm->comm});
      current[comm->tid] = comm->comm;
    }
    const auto* fork = std::get_if<ForkRecord>(&record);
    if (fork == nullptr || fork->tid < 0) continue;
    const auto inherited = current.find(fork->parent_tid);
    if (inherited == current.end()) continue;
    comms_.push_back({fork->tid, fork->time, inherited->second});
    current[fork->tid] = std::string(inherited->second);
  }
  std::ranges::stable_sort(
      comms_, {}, [](const CommChange& change) { return std::tuple(change.tid, change.time); });
}

StreamOwner Threads::OwnerOf(const Stream& stream, bool raw) const {
  StreamOwner owner;
  owner.stream = &stream;
  owner.pid = stream.pid;
  owner.tid = stream.tid;
  if (owner.tid < 0 && traced_.size() == 1) owner.tid = traced_.begin()->first;
  const auto thread = traced_.find(owner.tid);
  if (owner.pid < 0 && thread != traced_.end()) owner.pid = thread->second;
  owner.shared = owner.tid < 0 && !raw;
  owner.label = LabelOf(stream, owner.tid);
  owner.pieces = {{.stream = &stream, .end = stream.bytes.size()}};
  return owner;
}

void Threads::GroupByThread(const Recording& recording, const StreamInputs& inputs) {
  const bool raw = IsRaw(recording);
  std::vector<StreamOwner> owners;
  for (ThreadFlow& flow : ThreadFlows(recording, inputs)) {
    const Stream& stream = *flow.pieces.front().stream;
    if (!raw && stream.bytes.empty()) continue;
    StreamOwner& owner = owners.emplace_back();
    owner.stream = &stream;
    owner.shared = flow.tid < 0 && !raw;
    owner.label = LabelOf(stream, flow.tid);
    static_cast<ThreadFlow&>(owner) = std::move(flow);
  }
  owners_ = std::move(owners);
}

void Threads::LabelByCpu() {
  const auto cpu_of = [](const StreamOwner& owner) {
    return owner.stream->cpu >= 0 ? owner.stream->cpu : static_cast<int32_t>(owner.stream->index);
  };
  for (StreamOwner& owner : owners_) owner.label = "cpu" + std::to_string(cpu_of(owner));
  std::ranges::stable_sort(owners_, {}, [&](const StreamOwner& owner) {
    return std::tuple(cpu_of(owner), owner.stream->index);
  });
}

bool Threads::Wants(int32_t tid, const ThreadSelection& selection) const {
  if (!Listed(selection.tids, tid)) return false;
  if (selection.names.empty()) return true;
  return std::ranges::any_of(
      std::ranges::equal_range(comms_, tid, {}, &CommChange::tid), [&](const CommChange& change) {
        return std::ranges::find(selection.names, change.comm) != selection.names.end();
      });
}

ThreadChoices Threads::Choices() const {
  ThreadChoices choices;
  for (const StreamOwner& owner : owners_) {
    if (owner.tid >= 0) choices.tids.insert(owner.tid);
    if (const std::string_view name = CommAt(owner.tid, 0).comm; !name.empty())
      choices.names.emplace(name);
    for (const FlowPiece& piece : owner.pieces)
      if (piece.stream->cpu >= 0) choices.cpus.insert(piece.stream->cpu);
  }
  return choices;
}

ThreadSelection Threads::Unmatched(const ThreadSelection& selection,
                                   const ThreadChoices& choices) const {
  ThreadSelection unmatched = selection;
  std::erase_if(unmatched.tids, [&](int32_t tid) { return choices.tids.contains(tid); });
  std::erase_if(unmatched.cpus, [&](int32_t cpu) { return choices.cpus.contains(cpu); });
  std::erase_if(unmatched.names, [&](const std::string& name) {
    return std::ranges::any_of(owners_, [&](const StreamOwner& owner) {
      return Wants(owner.tid, {.tids = {}, .names = {name}, .cpus = {}});
    });
  });
  return unmatched;
}

bool Threads::Select(const ThreadSelection& selection) {
  const size_t before = owners_.size();
  for (StreamOwner& owner : owners_)
    std::erase_if(owner.pieces, [&](const FlowPiece& piece) {
      return !Listed(selection.cpus, piece.stream->cpu);
    });
  std::erase_if(owners_, [&](const StreamOwner& owner) {
    return owner.pieces.empty() || !Wants(owner.tid, selection);
  });
  return before == 0 || !owners_.empty();
}

CommSpan Threads::CommAt(int32_t tid, uint64_t time) const {
  const auto all = std::ranges::equal_range(comms_, tid, {}, &CommChange::tid);
  if (all.empty()) return {.comm = {}, .begin = 0, .end = UINT64_MAX};
  if (time == 0) return {.comm = all.back().comm, .begin = 0, .end = 1};
  const auto later = std::ranges::upper_bound(all, time, {}, &CommChange::time);
  // Its name before its first record is not recorded; the first name is the best guess.
  const bool first = later == all.begin() || later == std::next(all.begin());
  return {.comm = later == all.begin() ? all.front().comm : std::prev(later)->comm,
          .begin = first ? 1 : std::prev(later)->time,
          .end = later == all.end() ? UINT64_MAX : std::max<uint64_t>(later->time, 1)};
}

}  // namespace flowback
