// SPDX-License-Identifier: MIT
#include "decode/pt/state/state_names.h"

#include "decode/flow/block_stretch.h"
#include "flowback/decode/schedule.h"

namespace flowback::pt {
namespace {

// A graph's name is its space's, with the mode in the lowest bits.
constexpr unsigned kModeBits = 4;

template <class Items, class Item>
bool FindIn(const Items& items, uint64_t name, Item& item) {
  if (name > items.size()) return false;
  item = name == 0 ? Item{} : items[name - 1];
  return true;
}

}  // namespace

StateNames::StateNames(const DecodeInput& input, flow::GraphCache& graphs)
    : input_(input), graphs_(graphs) {
  Add(input.code);
  for (const StayChange& change : input.changes) {
    if (change.stay == nullptr) continue;
    if (names_.try_emplace(change.stay, stays_.size() + 1).second) stays_.push_back(change.stay);
    Add(change.stay->code.get());
  }
}

void StateNames::Add(const AddressSpaceHistory* history) {
  if (history == nullptr) return;
  if (!names_.try_emplace(history, histories_.size() + 1).second) return;
  histories_.push_back(history);
  for (const AddressSpaceHistory::Epoch& epoch : history->epochs)
    if (names_.try_emplace(epoch.space.get(), spaces_.size() + 1).second)
      spaces_.push_back(epoch.space);
}

std::optional<StateNames::Name> StateNames::Of(const ThreadStay* stay) const {
  if (stay == nullptr) return 0;
  const auto found = names_.find(stay);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<StateNames::Name> StateNames::Of(const AddressSpace* space) const {
  if (space == nullptr) return 0;
  const auto found = names_.find(space);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<StateNames::Name> StateNames::Of(const AddressSpaceHistory* history) const {
  if (history == nullptr) return 0;
  const auto found = names_.find(history);
  return found == names_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<StateNames::Name> StateNames::Of(const uint8_t* place) const {
  if (place == nullptr) return 0;
  const auto offset = static_cast<uint64_t>(place - input_.bytes.data());
  if (offset > input_.bytes.size()) return std::nullopt;
  return offset + 1;
}

std::optional<StateNames::Name> StateNames::Of(const flow::BlockGraph* graph) const {
  if (graph == nullptr) return 0;
  const auto space = Of(&graph->space());
  if (!space) return std::nullopt;
  return *space << kModeBits | static_cast<uint64_t>(graph->mode());
}

std::optional<StateNames::Name> StateNames::Of(const std::shared_ptr<const CodeSection>& code,
                                               uint64_t address) const {
  if (code == nullptr) return 0;
  for (size_t i = 0; i < spaces_.size(); ++i)
    if (spaces_[i]->SectionOrReason(address) == code) return i + 1;
  return std::nullopt;
}

bool StateNames::Find(Name name, const ThreadStay*& stay) const {
  return FindIn(stays_, name, stay);
}

bool StateNames::Find(Name name, const AddressSpaceHistory*& history) const {
  return FindIn(histories_, name, history);
}

bool StateNames::Find(Name name, const uint8_t*& place) const {
  if (name > input_.bytes.size() + 1) return false;
  place = name == 0 ? nullptr : input_.bytes.data() + (name - 1);
  return true;
}

bool StateNames::Find(Name name, flow::BlockGraph*& graph) const {
  using Mode = decltype(graph->mode());
  Space space;
  graph = nullptr;
  if (!FindIn(spaces_, name >> kModeBits, space)) return false;
  if (space != nullptr)
    graph = &graphs_.Get(space, static_cast<Mode>(name & ((1U << kModeBits) - 1)));
  return true;
}

bool StateNames::Find(Name name, uint64_t address, std::shared_ptr<const CodeSection>& code) const {
  Space space;
  code = nullptr;
  if (!FindIn(spaces_, name, space)) return false;
  if (space != nullptr) code = space->SectionOrReason(address);
  return true;
}

bool StateNames::FindBlock(Name space, uint64_t count, BlockRun& run) const {
  flow::BlockGraph* graph = nullptr;
  if (!Find(space << kModeBits | static_cast<uint64_t>(run.mode), graph) || graph == nullptr)
    return false;
  const uint32_t node = graph->NodeAt(run.address);
  if (count > graph->node(node).count) return false;
  const BlockRun found = flow::RunOf(*graph, node, static_cast<unsigned>(count));
  run.lengths = found.lengths;
  run.space = found.space;
  return true;
}

}  // namespace flowback::pt
