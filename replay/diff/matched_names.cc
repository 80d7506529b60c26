// SPDX-License-Identifier: MIT
#include "replay/diff/matched_names.h"

#include <algorithm>
#include <utility>

#include "base/path_text.h"

namespace flowback {
namespace {

// "libz.so.1.2.13" and "libz.so.1.3" are versions of one library.
std::string LibraryStem(const std::string& name) {
  const size_t at = name.find(".so");
  return at == std::string::npos ? std::string() : name.substr(0, at);
}

std::string ShortObjectName(const ProfiledObject& object) {
  return std::string(LastPart(object.id.path));
}

}  // namespace

MatchedObjects::ByName MatchedObjects::Gather(std::span<const RunProfile> runs) {
  ByName result;
  for (size_t r = 0; r < runs.size(); ++r)
    for (const ProfiledObject& object : runs[r].objects) {
      Known& known = result[ShortObjectName(object)];
      known.objects.push_back(&object);
      known.is_main |= object.is_main;
      known.executed |= object.executed;
      known.lacks_file |= !object.has_code;
      known.is_missing |= object.functions_unknown && !object.is_named;
      if (object.functions_unknown) known.functions_unknown.insert(r);
      if (object.lines_unknown) known.lines_unknown.insert(r);
    }
  return result;
}

void MatchedObjects::Pair(const std::string& old, const std::string& now) {
  new_name_[old] = now;
  old_name_[now] = old;
}

template <class Fits>
void MatchedObjects::PairRest(const Fits& fits) {
  for (const auto& [now, known] : now_) {
    if (old_name_.contains(now)) continue;
    for (const auto& [old, before] : old_) {
      if (new_name_.contains(old) || !fits(old, before, now, known)) continue;
      Pair(old, now);
      break;
    }
  }
}

MatchedObjects::MatchedObjects(const ProfiledSides& sides)
    : old_(Gather(sides.old)), now_(Gather(sides.now)) {
  const auto same_file = [](const std::string&, const Known& before, const std::string&,
                            const Known& known) {
    const ObjectId& id = before.objects.front()->id;
    const bool identified = !id.build_id.empty() || id.checksum != 0;
    return identified && id.SameObject(known.objects.front()->id);
  };
  PairRest([](const std::string& old, const Known&, const std::string& now, const Known&) {
    return old == now;
  });
  PairRest(same_file);
  PairRest([](const std::string& old, const Known&, const std::string& now, const Known&) {
    return !LibraryStem(old).empty() && LibraryStem(old) == LibraryStem(now);
  });
  PairRest([](const std::string&, const Known& before, const std::string&, const Known& known) {
    return before.is_main && known.is_main;
  });
  for (const auto& [old, before] : old_) new_name_.try_emplace(old, old);
}

const std::string& MatchedObjects::NameOf(bool is_new, const ProfiledObject& object) const {
  const std::string name = ShortObjectName(object);
  return is_new ? now_.find(name)->first : new_name_.find(name)->second;
}

bool MatchedObjects::IsSameBuild(const std::string& name) const {
  const auto old_name = old_name_.find(name);
  const auto now = now_.find(name);
  if (now == now_.end() || old_name == old_name_.end()) return true;
  const ObjectId& id = now->second.objects.front()->id;
  const auto is_same = [&](const ProfiledObject* object) { return object->id.SameObject(id); };
  return std::ranges::all_of(now->second.objects, is_same) &&
         std::ranges::all_of(old_.at(old_name->second).objects, is_same);
}

// Returns null if the side does not have the object.
const MatchedObjects::Known* MatchedObjects::Find(bool is_new, const std::string& name) const {
  const ByName& side = is_new ? now_ : old_;
  const auto paired = old_name_.find(name);
  const auto found = side.find(is_new || paired == old_name_.end() ? name : paired->second);
  return found == side.end() ? nullptr : &found->second;
}

bool MatchedObjects::LacksFile(bool is_new, const std::string& name) const {
  const Known* const known = Find(is_new, name);
  return known != nullptr && known->lacks_file;
}

bool MatchedObjects::FunctionsUnknown(bool is_new, size_t run, const std::string& name) const {
  const Known* const known = Find(is_new, name);
  return known != nullptr && known->functions_unknown.contains(run);
}

bool MatchedObjects::LinesUnknown(bool is_new, size_t run, const std::string& name) const {
  const Known* const known = Find(is_new, name);
  return known != nullptr && known->lines_unknown.contains(run);
}

std::vector<ObjectMatch> MatchedObjects::All() const {
  std::vector<ObjectMatch> result;
  for (const auto& [name, known] : now_) {
    const auto old = old_name_.find(name);
    ObjectMatch match{
        .old_name = {}, .name = name, .executed = known.executed, .missing = known.is_missing};
    if (old != old_name_.end()) {
      match.old_name = old->second;
      match.same_build = IsSameBuild(name);
      match.executed |= old_.at(old->second).executed;
      match.old_missing = old_.at(old->second).is_missing;
    }
    result.push_back(std::move(match));
  }
  for (const auto& [old, before] : old_)
    if (!old_name_.contains(new_name_.at(old)))
      result.push_back({.old_name = old,
                        .name = {},
                        .executed = before.executed,
                        .old_missing = before.is_missing});
  return result;
}

MatchedFiles::MatchedFiles(const ProfiledSides& sides) {
  std::set<std::string> paths;
  std::map<std::string_view, std::set<std::string>> by_name;
  for (const RunProfile& run : sides.now)
    for (const std::string& file : run.files) {
      const auto [at, is_new] = paths.insert(file);
      if (is_new) by_name[LastPart(*at)].insert(file);
    }
  for (const RunProfile& run : sides.old)
    for (const std::string& file : run.files) {
      if (new_name_.contains(file)) continue;
      const auto found = by_name.find(LastPart(file));
      const bool is_moved =
          !paths.contains(file) && found != by_name.end() && found->second.size() == 1;
      new_name_.emplace(file, is_moved ? *found->second.begin() : file);
    }
}

const std::string& MatchedFiles::NameOf(bool is_new, const std::string& file) const {
  if (is_new) return file;
  const auto found = new_name_.find(file);
  return found == new_name_.end() ? file : found->second;
}

}  // namespace flowback
