// SPDX-License-Identifier: MIT
#include "replay/timeline/stretch_functions.h"

#include <algorithm>
#include <string>

#include "replay/timeline/thread_timeline_builder.h"

namespace flowback {

// A piece that is moved away from its function has the function's number.
uint32_t BlockFunctions::Of(const AddressSpace* space, uint64_t address) {
  const auto [known, added] = known_.try_emplace({space, address});
  if (!added) return known->second;
  const FunctionPiece piece = finder_.Find(space, address);
  if (piece.id == 0) return known->second = OfNoFunction(space, address);
  return known->second = table_.NumberOf(space, piece);
}

namespace {

std::string MissingFileAt(const AddressSpace& space, uint64_t address) {
  const auto reason = space.SectionOrReason(address);
  return reason == nullptr ? std::string() : reason->missing_file();
}

// "[libc.so.6]"; what has brackets keeps its own.
std::string NameOfFile(const std::string& path) {
  return path.starts_with('[') ? path : "[" + path.substr(path.rfind('/') + 1) + "]";
}

}  // namespace

uint32_t BlockFunctions::OfNoFunction(const AddressSpace* space, uint64_t address) {
  const CodeMapping* const mapping = space->Find(address);
  const std::string file =
      mapping == nullptr ? MissingFileAt(*space, address) : table_.RecordedPath(*mapping);
  std::vector<TimelineFunction>& all = table_.all();
  const auto [known, added] = of_files_.try_emplace(file, static_cast<uint32_t>(all.size()));
  if (added)
    all.push_back({.name = file.empty() ? "[unknown]" : NameOfFile(file),
                   .file = file,
                   .entry_ip = mapping == nullptr ? address : mapping->address,
                   .space = space,
                   .named = false});
  return known->second;
}

StretchFunctions::StretchFunctions(const FlowIndex& index, const StreamInputs& inputs,
                                   BlockFunctions& functions)
    : index_(index), inputs_(inputs), functions_(functions) {
  for (const IndexedThread& thread : index.threads())
    for (const FlowShare& share : thread.shares) Find(share).instructions += share.instructions;
  for (const IndexedThread& thread : index.threads())
    for (const FlowShare& share : thread.shares) {
      StretchProfile& profile = Find(share);
      if (profile.parts.empty() && share.instructions != 0) Fill(share, profile);
    }
}

StretchFunctions::Key StretchFunctions::KeyOf(const FlowShare& share) const {
  const AddressSpaceHistory* code = share.stay == nullptr ? nullptr : share.stay->code.get();
  if (code == nullptr) code = inputs_.For(*share.stream).code;
  return {share.stream, index_.StretchOf(share), code};
}

// Mostly the last one.
StretchProfile& StretchFunctions::Find(const FlowShare& share) {
  const Key key = KeyOf(share);
  if (last_profile_ != nullptr && key == last_) return *last_profile_;
  last_ = key;
  last_profile_ = &profiles_[key];
  stretches_[{std::get<0>(key), std::get<1>(key)}] = true;
  return *last_profile_;
}

const StretchProfile& StretchFunctions::Of(const FlowShare& share) { return Find(share); }

void StretchFunctions::Fill(const FlowShare& share, StretchProfile& profile) {
  const AddressSpaceHistory* const code = std::get<2>(KeyOf(share));
  std::map<uint32_t, uint64_t> counts;
  uint64_t sum = 0;
  for (const HotBlock& block : index_.ProfileOf(share)) {
    if (!Has(code, block.space)) continue;
    counts[functions_.Of(block.space, block.address)] += block.instructions;
    sum += block.instructions;
  }
  // The counts are about right: together they may be a little more than all there was.
  const auto all = static_cast<double>(std::max(sum, profile.instructions));
  for (const auto& [function, count] : counts)
    profile.parts.push_back({function, static_cast<double>(count) / all});
}

bool StretchFunctions::Has(const AddressSpaceHistory* code, const AddressSpace* space) {
  if (code == nullptr) return true;
  auto& spaces = spaces_[code];
  if (spaces.empty())
    for (const AddressSpaceHistory::Epoch& epoch : code->epochs) spaces[epoch.space.get()] = true;
  return spaces.contains(space);
}

}  // namespace flowback
