// SPDX-License-Identifier: MIT
// The timeline's part of a profile. Its functions are found again in the code by address, else by
// name.
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/path_text.h"
#include "replay/diff/run_profile.h"

namespace flowback {
namespace {

class CallProfiler {
 public:
  CallProfiler(const Timeline& timeline, const CoverageReport& report, RunProfile& profile)
      : timeline_(timeline), report_(report), profile_(profile) {
    for (uint32_t i = 0; i < profile_.functions.size(); ++i) {
      const ProfiledFunction& each = profile_.functions[i];
      if (each.address != 0) by_address_.emplace(std::pair(each.object, each.address), i);
    }
    for (uint32_t i = 0; i < profile_.objects.size(); ++i)
      objects_.emplace(profile_.objects[i].id.path, i);
  }

  void Run() {
    FindNumbers();
    const std::vector<CallSums> sums = Sums();
    for (ProfiledFunction& each : profile_.functions) each.sums = {};
    for (size_t i = 0; i < numbers_.size(); ++i)
      if (numbers_[i]) Add(sums[first_.at(*numbers_[i])], i);
    DropUnexecuted();
    MarkNamed();
    AddTimes();
  }

 private:
  std::optional<uint32_t> NumberOf(const TimelineFunction& function);
  std::optional<uint32_t> InCode(const TimelineFunction& function, uint32_t object) const;
  uint32_t ObjectOf(const std::string& path);
  void FindNumbers();
  std::vector<CallSums> Sums() const;
  void Add(const CallSums& total, size_t function);
  void DropUnexecuted();
  void MarkNamed();
  void AddTimes();

  const Timeline& timeline_;
  const CoverageReport& report_;
  RunProfile& profile_;
  std::map<std::pair<uint32_t, uint64_t>, uint32_t> by_address_;
  std::map<std::string, uint32_t> objects_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> added_;
  std::vector<std::optional<uint32_t>> numbers_;  // by the timeline's number: the profile's
  std::map<uint32_t, size_t> first_;              // of the profile's: the first of these
};

uint32_t CallProfiler::ObjectOf(const std::string& path) {
  const auto [at, is_new] =
      objects_.try_emplace(path, static_cast<uint32_t>(profile_.objects.size()));
  if (is_new) {
    ProfiledObject object;
    object.id.path = path;
    object.executed = true;
    profile_.objects.push_back(std::move(object));
  }
  return at->second;
}

// Empty: the report does not have its code.
std::optional<uint32_t> CallProfiler::InCode(const TimelineFunction& function,
                                             uint32_t object) const {
  if (object >= report_.objects.size() || report_.objects[object].code == nullptr)
    return std::nullopt;
  const ObjectCoverage& code = report_.objects[object];
  if (function.space == nullptr || function.entry_ip == 0) return std::nullopt;
  const CodeMapping* const mapping = function.space->Find(function.entry_ip);
  if (mapping == nullptr) return std::nullopt;
  const auto address = code.image->AddressOf(function.entry_ip - mapping->FileBase());
  if (!address) return std::nullopt;
  const StaticFunction* found = code.code->FunctionAt(*address);
  if (found == nullptr) return std::nullopt;
  found = &code.code->functions()[found->whole];
  const auto at = by_address_.find({object, found->begin});
  return at == by_address_.end() ? std::nullopt : std::optional(at->second);
}

std::optional<uint32_t> CallProfiler::NumberOf(const TimelineFunction& function) {
  if (function.is_system_call) return std::nullopt;  // it has no code
  const auto known = objects_.find(function.file);
  if (known != objects_.end())
    if (const auto found = InCode(function, known->second)) return found;
  if (profile_.is_part) return std::nullopt;
  const uint32_t object = ObjectOf(function.file);
  const std::string name = WithoutCopyMarks(function.name);
  const auto [at, is_new] =
      added_.try_emplace(std::pair(object, name), static_cast<uint32_t>(profile_.functions.size()));
  if (is_new)
    profile_.functions.push_back({.object = object, .name = name, .state = Executed::kYes});
  return at->second;
}

void CallProfiler::FindNumbers() {
  for (size_t i = 0; i < timeline_.functions.size(); ++i) {
    numbers_.push_back(NumberOf(timeline_.functions[i]));
    if (numbers_.back()) first_.try_emplace(*numbers_.back(), i);
  }
}

// If the compiler made several copies of a function, calls among the copies must not count twice:
// their paths are added up as if they were one. REQUIRES: FindNumbers.
std::vector<CallSums> CallProfiler::Sums() const {
  std::vector<CallSums> sums = timeline_.by_function;
  std::set<size_t> several;
  for (size_t i = 0; i < numbers_.size(); ++i)
    if (numbers_[i] && first_.at(*numbers_[i]) != i) several.insert(first_.at(*numbers_[i]));
  if (several.empty()) return sums;
  std::vector<CallPath> paths = timeline_.paths;
  for (CallPath& path : paths)
    if (path.function != CallPath::kNoFunction && numbers_[path.function])
      path.function = static_cast<uint32_t>(first_.at(*numbers_[path.function]));
  const std::vector<CallSums> merged = SumsByFunction(paths, sums.size());
  for (const size_t function : several) {
    sums[function].instructions = merged[function].instructions;
    sums[function].total = merged[function].total;
  }
  return sums;
}

void CallProfiler::Add(const CallSums& total, size_t function) {
  const CallSums& own = timeline_.by_function[function];
  const std::string& name = timeline_.functions[function].name;
  ProfiledFunction& into = profile_.functions[*numbers_[function]];
  into.sums.calls += IsMovedPart(name) ? 0 : own.count;
  into.sums.self += own.self_instructions;
  into.sums.total = total.instructions;
  into.sums.time += own.self.time;
  into.sums.total_time = total.total;
  into.sums.off_cpu += own.own[static_cast<size_t>(TimeClass::kOffCpu)];
  if (own.self_instructions != 0 || own.count != 0) into.state = Executed::kYes;
}

// What stood for code in no known function is in the functions of the timeline now.
void CallProfiler::DropUnexecuted() {
  for (ProfiledFunction& each : profile_.functions)
    if (each.name.empty() && each.address == 0) each.state = Executed::kNo;
}

// The timeline has the functions of all flow, those without a file too.
void CallProfiler::MarkNamed() {
  if (profile_.is_part) return;
  for (size_t i = 0; i < report_.objects.size(); ++i) {
    ProfiledObject& object = profile_.objects[i];
    object.is_named = object.executed;
    if (report_.objects[i].counts->IsKnown()) object.functions_unknown = false;
  }
}

void CallProfiler::AddTimes() {
  profile_.has_calls = true;
  profile_.has_times = !timeline_.emulated && timeline_.nanoseconds;
  for (const uint64_t time : timeline_.times) profile_.duration += time;
  profile_.off_cpu = timeline_.times[static_cast<size_t>(TimeClass::kOffCpu)];
}

}  // namespace

void AddCalls(const Timeline& timeline, const CoverageReport& report, RunProfile& profile) {
  CallProfiler(timeline, report, profile).Run();
}

}  // namespace flowback
