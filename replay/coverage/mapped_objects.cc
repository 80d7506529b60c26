// SPDX-License-Identifier: MIT
#include "replay/coverage/mapped_objects.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/saturated.h"

namespace flowback {
namespace {

void AddAll(MappedObjects::Losses& sum, const MappedObjects::Losses& more) {
  for (const auto& [cause, count] : more) AddSaturated(sum[cause], count);
}

}  // namespace

MappedObjects::MappedObjects(const Recording& recording, CoverageObjects& objects) {
  for (const SidebandRecord& any : recording.sideband) {
    if (const auto* map = std::get_if<MmapRecord>(&any); map != nullptr && map->executable)
      Map(*map, objects);
    if (const auto* comm = std::get_if<CommRecord>(&any); comm != nullptr && comm->exec)
      Begin(comm->pid, comm->time, kNone);
    if (const auto* fork = std::get_if<ForkRecord>(&any); fork && fork->pid != fork->parent_pid)
      Begin(fork->pid, fork->time, Current(fork->parent_pid));
  }
}

// A record without a time does not show when one program ended and the next began.
void MappedObjects::Begin(int32_t pid, uint64_t time, size_t parent) {
  std::vector<size_t>& programs = of_process_[pid];
  if (!programs.empty() && time != 0) programs_[programs.back()].life.end = time;
  programs.push_back(programs_.size());
  Program& program = programs_.emplace_back();
  program.life.begin = time;
  program.parent = parent;
  program.inherited = parent == kNone ? 0 : programs_[parent].objects.size();
}

size_t MappedObjects::Current(int32_t pid) {
  if (of_process_[pid].empty()) Begin(pid, 0, kNone);
  return of_process_[pid].back();
}

bool MappedObjects::Has(size_t program, uint32_t object) const {
  size_t most = kNone;
  for (unsigned i = 0; i < kMostAncestors && program != kNone; ++i) {
    const Program& at = programs_[program];
    const auto found = at.places.find(object);
    if (found != at.places.end() && found->second < most) return true;
    most = at.inherited;
    program = at.parent;
  }
  return false;
}

void MappedObjects::Map(const MmapRecord& record, CoverageObjects& objects) {
  const uint32_t object = objects.Of(record);
  if (object == CoverageObjects::kNone) return;
  const size_t current = Current(record.pid);
  if (Has(current, object)) return;
  Program& program = programs_[current];
  program.places.emplace(object, program.objects.size());
  program.objects.push_back(object);
}

template <class Visit>
void MappedObjects::ForEach(int32_t pid, TimeSpan when, Visit&& visit) {
  const auto found = of_process_.find(pid);
  if (found == of_process_.end()) return;
  for (const size_t number : found->second) {
    Program& program = programs_[number];
    if (program.life.begin <= when.end && program.life.end >= when.begin) visit(program);
  }
}

void MappedObjects::NoteRan(int32_t pid, TimeSpan when) {
  ForEach(pid, when, [](Program& program) { program.ran = true; });
}

void MappedObjects::AddLoss(int32_t pid, TimeSpan when, const std::string& cause, uint64_t count) {
  bool any = false;
  ForEach(pid, when, [&](Program& program) {
    any = true;
    AddSaturated(program.losses[cause], count);
  });
  if (!any) AddSaturated(nobodys_[cause], count);
}

// What a program inherited lies in those before it. So the last is looked at first, and hands on to
// its parent, at the place up to which it inherited, what happened in it.
std::map<uint32_t, MappedObjects::Losses> MappedObjects::Take() const {
  struct ObjectState {
    bool ran = false;
    Losses losses;
  };
  std::map<uint32_t, Losses> all;
  std::vector<std::map<size_t, ObjectState>> behind(
      programs_.size());  // by how many objects it has
  for (size_t number = programs_.size(); number-- != 0;) {
    const Program& program = programs_[number];
    std::map<size_t, ObjectState>& fates = behind[number];
    ObjectState& whole = fates[program.objects.size()];
    whole.ran |= program.ran;
    AddAll(whole.losses, program.losses);
    ObjectState sum;
    auto fate = fates.rbegin();
    for (size_t i = program.objects.size() + 1; i-- != 0;) {
      for (; fate != fates.rend() && fate->first == i; ++fate) {
        sum.ran |= fate->second.ran;
        AddAll(sum.losses, fate->second.losses);
      }
      if (i != 0 && sum.ran) AddAll(all[program.objects[i - 1]], sum.losses);
    }
    if (program.parent != kNone) {
      ObjectState& parents = behind[program.parent][program.inherited];
      parents.ran |= sum.ran;
      AddAll(parents.losses, sum.losses);
    }
    fates.clear();
  }
  for (auto& [object, losses] : all) AddAll(losses, nobodys_);
  return all;
}

MappedObjects::Losses MappedObjects::AllLosses() const {
  Losses all = nobodys_;
  for (const Program& program : programs_) AddAll(all, program.losses);
  return all;
}

}  // namespace flowback
