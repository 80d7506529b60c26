// SPDX-License-Identifier: MIT
// The calls within instances, merged by call path, and what one instance spent in each.
//
//   root: the region itself
//     slow_path, called at 0x401152
//       system call nanosleep, made at 0x401090
//     interrupted
//       while in slow_path
//         at 0x401160
//
// A recursion is folded: a function that is called while the path has it already, from the same
// place, is the path's own node again. So the table is bounded by the code, not by the flow. Calls
// deeper than kDeepest are counted with the call there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/replay/timeline.h"

namespace flowback {

enum class PathKind : uint8_t {
  kRegion,       // the root
  kCall,         // of a function
  kSystemCall,   // time in the kernel, or off the CPU, from a system call to its return
  kInterrupted,  // the same without a system call: faults, interrupts, preemption
  kLost,         // the trace, or the code to read it with, is missing
  kOtherStack,   // the thread ran on another of its stacks
  kQueued,       // another thread has begun it, and the thread that ends it has not come to it
  kCut,          // paths beyond the table's limit
};

struct InstancePath {
  uint32_t parent = 0;
  PathKind kind = PathKind::kRegion;
  uint32_t function = CallPath::kNoFunction;  // kCall, kInterrupted: its number; kSystemCall: the
                                              // system call's number, or kNoFunction
  uint8_t abi = 0;                            // of a system call: its LinuxAbi
  // The address of the call or jump, or of the instruction that was interrupted; 0: not known.
  uint64_t site = 0;
  const AddressSpace* space = nullptr;  // in which `site` lies
  uint32_t depth = 0;                   // below the root; PathTree fills it in
};

// The cost of one instance in one node, without the nodes below it.
struct PathCost {
  uint64_t entries = 0;
  uint64_t instructions = 0;
  uint64_t cycles = 0;  // as Instance::cycles
  ClassTimes times{};

  uint64_t time() const {
    uint64_t sum = 0;
    for (const uint64_t each : times) sum += each;
    return sum;
  }
  void Add(const PathCost& other) {
    entries += other.entries;
    instructions += other.instructions;
    cycles += other.cycles;
    for (size_t i = 0; i < times.size(); ++i) times[i] += other.times[i];
  }
};

class PathTree {
 public:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kDeepest = 1000;
  static constexpr size_t kMostNodes = size_t{1} << 18;

  PathTree() { nodes_.push_back({}); }
  // Takes the nodes of another tree, to look at: Find does not know them.
  explicit PathTree(std::vector<InstancePath> nodes) : nodes_(std::move(nodes)) {}

  const std::vector<InstancePath>& nodes() const { return nodes_; }
  // Returns the node for `child` below child.parent, and makes it if needed.
  uint32_t Find(const InstancePath& child);

 private:
  struct Key {
    uint64_t parent_and_function = 0;
    uint64_t site = 0;
    uint8_t kind = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  // The child that was found last below a node: most calls come again and again.
  struct Last {
    uint32_t function = CallPath::kNoFunction;
    uint32_t child = 0;
    uint64_t site = 0;
  };

  uint32_t Make(const InstancePath& child);
  uint32_t FoldedInto(const InstancePath& child) const;

  std::vector<InstancePath> nodes_;
  std::vector<Last> last_ = std::vector<Last>(1);
  std::unordered_map<Key, uint32_t, Hash> children_;
};

// The costs of the instance that is open.
class PathCosts {
 public:
  PathCost& Of(uint32_t node) {
    if (node >= costs_.size()) costs_.resize(node + size_t{1});
    if (!costs_[node].touched) {
      costs_[node].touched = true;
      touched_.push_back(node);
    }
    return costs_[node].cost;
  }
  // The nodes with costs, in the order in which the instance came to them.
  const std::vector<uint32_t>& touched() const { return touched_; }
  const PathCost& operator[](uint32_t node) const { return costs_[node].cost; }
  void Clear() {
    for (const uint32_t node : touched_) costs_[node] = {};
    touched_.clear();
  }

 private:
  struct Entry {
    PathCost cost;
    bool touched = false;
  };
  std::vector<Entry> costs_;
  std::vector<uint32_t> touched_;
};

}  // namespace flowback
