// SPDX-License-Identifier: MIT
#include "replay/spikes/instances/path_tree.h"

#include "base/mix_bits.h"

namespace flowback {

size_t PathTree::Hash::operator()(const Key& key) const {
  uint64_t hash = (key.parent_and_function ^ key.site << 1) + key.kind;
  hash ^= hash >> 32;
  hash = MixBits(hash);
  return hash ^ hash >> 32;
}

uint32_t PathTree::Find(const InstancePath& child) {
  Last& last = last_[child.parent];
  const bool is_call = child.kind == PathKind::kCall;
  if (is_call && last.function == child.function && last.site == child.site) return last.child;
  const Key key{.parent_and_function = uint64_t{child.parent} << 32 | child.function,
                .site = child.site,
                .kind = static_cast<uint8_t>(child.kind)};
  const auto [known, added] = children_.try_emplace(key, 0);
  uint32_t& node = known->second;  // stays in its place when nodes are added
  if (added) node = Make(child);
  if (is_call)
    last_[child.parent] = {.function = child.function, .child = node, .site = child.site};
  return node;
}

uint32_t PathTree::Make(const InstancePath& child) {
  if (const uint32_t folded = FoldedInto(child); folded != kRoot) return folded;
  InstancePath made = child;
  made.depth = nodes_[child.parent].depth + 1;
  if (made.depth > kDeepest) return child.parent;
  if (nodes_.size() >= kMostNodes) {
    made = {.parent = kRoot, .kind = PathKind::kCut};
    const auto [cut, added] = children_.try_emplace(
        Key{.parent_and_function = 0, .site = 0, .kind = static_cast<uint8_t>(PathKind::kCut)},
        static_cast<uint32_t>(nodes_.size()));
    if (!added) return cut->second;
  }
  nodes_.push_back(made);
  last_.push_back({});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

// Returns kRoot where the call is no recursion.
uint32_t PathTree::FoldedInto(const InstancePath& child) const {
  if (child.kind != PathKind::kCall || child.function == CallPath::kNoFunction) return kRoot;
  for (uint32_t node = child.parent; node != kRoot; node = nodes_[node].parent) {
    const InstancePath& at = nodes_[node];
    if (at.kind == PathKind::kCall && at.function == child.function && at.site == child.site)
      return node;
  }
  return kRoot;
}

}  // namespace flowback
