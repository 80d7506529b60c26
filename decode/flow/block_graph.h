// SPDX-License-Identifier: MIT
// The block graph: the control flow of one address space as far as a trace has walked it.
//
// A node is a block at an absolute address. Its successors are node numbers, found once and then
// followed without looking at addresses again: walking a TNT bit costs one load and one index. A
// block is decoded once per file section, in the section's BlockCache, however often and wherever
// it is mapped; a graph adds only the addresses.
//
//   code:   401000 dec rax ; jne 401000 ; ret        nodes:  1 {401000, conditional, next: 2, 1}
//                                                            2 {401005, return}
//
// A node may start anywhere a trace says so (in mid-block after a sync point, at an interrupted
// instruction): it then is a block of its own that ends where the surrounding one ends.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "decode/code/cache/block_cache.h"
#include "flowback/base/flow_digest.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/block_batch.h"
#include "flowback/model/instruction.h"

namespace flowback::flow {

// What a walk must do at the end of a node's block. The order matters to the two questions below.
enum class NodeKind : uint8_t {
  kConditional,     // one TNT bit
  kReturn,          // taken TNT bit, or a TIP
  kGoto,            // on to next[1]: direct jump, or a block cut in mid-code
  kCall,            // on to next[1], remembering the return address
  kSpecial,         // on to next[1]; a packet may bind to the last instruction
  kIndirect,        // TIP: jump
  kIndirectCall,    // TIP: call
  kFar,             // TIP or TIP.PGD
  kNoImage,         // no code is known here; no instructions
  kBadInstruction,  // the bytes here are no instruction; no instructions
};

// Whether the code alone determines the next place.
constexpr bool NeedsNoPacket(NodeKind kind) {
  return kind >= NodeKind::kGoto && kind <= NodeKind::kSpecial;
}
constexpr bool HasNoCode(NodeKind kind) { return kind >= NodeKind::kNoImage; }

struct Node {
  uint32_t next[2] = {0, 0};  // 0: not resolved yet. [0] not taken / after a call, [1] taken
  uint64_t power = 1;         // FlowDigest::Power(count)
  uint64_t hash = 0;          // digest of the block's instructions at this address
  uint16_t count = 0;         // instructions
  NodeKind kind = NodeKind::kNoImage;
  InstructionClass last = InstructionClass::kOther;
  bool pushes = false;      // a call that return compression remembers
  bool terminates = false;  // known: a walk from here comes to a packet; see Terminates
  uint16_t distance = 0;    // if so, blocks up to the one that needs it; kEndless: it never does

  static constexpr uint16_t kEndless = 0xffff;
};

// The rest of a node, which the hot loops do not need.
struct NodeInfo {
  uint64_t address = 0;
  const StaticBlock* block = nullptr;

  uint64_t end() const { return address + block->size; }
  uint64_t LastAddress() const { return end() - block->last.length; }
  // How many instructions lie before the one at `ip`. 0 where no instruction begins at `ip`, and
  // also where the first one does.
  unsigned InstructionsBefore(uint64_t ip) const;
  // Returns the address of the instruction after the first `count`. REQUIRES: there are more than
  // those.
  uint64_t AddressOf(unsigned count) const;
  // Whether an instruction begins at `ip`.
  bool HasInstruction(uint64_t ip) const { return ip == address || InstructionsBefore(ip) != 0; }
};

// Not thread-safe: one graph per decoder.
class BlockGraph {
 public:
  BlockGraph(std::shared_ptr<const AddressSpace> space, CodeMode mode);

  Node* nodes() { return nodes_.data(); }  // invalidated by NodeAt and Resolve
  const Node& node(uint32_t id) const { return nodes_[id]; }
  const NodeInfo& info(uint32_t id) const { return infos_[id]; }
  const AddressSpace& space() const { return *space_; }
  CodeMode mode() const { return mode_; }
  size_t size() const { return nodes_.size(); }
  CodeBlock Block(uint32_t id) const;
  // The blocks by node number, with all that are known now.
  const BlockTable& Table() {
    if (table_of_blocks_.size() != infos_.size()) FillTable();
    return table_of_blocks_;
  }

  // Returns the node that starts at `address`, and makes it if needed.
  uint32_t NodeAt(uint64_t address);
  // Fills nodes()[id].next[direction].
  uint32_t Resolve(uint32_t id, unsigned direction);
  uint32_t Successor(uint32_t id, unsigned direction) {
    const uint32_t next = nodes_[id].next[direction];
    return next != 0 ? next : Resolve(id, direction);
  }
  // Where `direction` leads: 1 the branch target or the code after a cut, 0 the next instruction.
  uint64_t SuccessorAddress(uint32_t id, unsigned direction) const;
  // The largest number of blocks in a row without a packet: about a million instructions. No
  // program runs code that goes on for longer, and each block takes memory.
  static constexpr unsigned kMaxWalk = 4096;

  // False when following next[1] from `id` through nodes that need no packet comes to none that
  // needs one within kMaxWalk: the code goes in circles, or is too long. Remembers the answer for
  // all nodes passed, so that each is looked at a few times at most. Nothing else in a walk can be
  // endless.
  bool Terminates(uint32_t id);
  // Whether code that needs no packet leads from node `id` to one that `is_it` says yes to. The
  // node may lie in a cycle, so being endless is no reason to end; `most` blocks are.
  template <class Predicate>
  bool Meets(uint32_t id, Predicate is_it, unsigned most = kMaxWalk) {
    for (unsigned blocks = 0; blocks <= most; ++blocks) {
      if (is_it(id)) return true;
      if (!NeedsNoPacket(nodes_[id].kind)) return false;
      id = Successor(id, 1);
    }
    return false;
  }
  // Whether a walk from `id`, through code that needs no packet, ends: at a block that needs one,
  // or before that at one that `is_it` says yes to. The answer holds for the whole walk.
  template <class Predicate>
  bool EndsOrMeets(uint32_t id, Predicate is_it) {
    return nodes_[id].terminates || Terminates(id) || Meets(id, is_it);
  }
  // A round of a loop that needs no packet.
  struct Round {
    uint64_t instructions = 0;  // 0: there is no such loop
    bool calls = false;         // it makes calls, and so leaves more of them at every turn
  };
  // The round that leads from the first instruction of `id` back to it. None where a packet may
  // bind to an instruction on the way: it then proves each round.
  Round RoundFrom(uint32_t id);
  // How many instructions there are from the begin of `id` to the end of the first block that needs
  // a packet. REQUIRES: a walk comes to one.
  uint64_t InstructionsToPacket(uint32_t id) {
    uint64_t count = nodes_[id].count;
    while (NeedsNoPacket(nodes_[id].kind)) {
      id = Successor(id, 1);
      count += nodes_[id].count;
    }
    return count;
  }
  // Whether packets bind to the last instruction of `id`, as it has one of `flags`.
  bool Binds(uint32_t id, uint8_t flags) const {
    return nodes_[id].kind == NodeKind::kSpecial && (infos_[id].block->last.flags & flags) != 0;
  }

 private:
  uint32_t AddNode(uint64_t address);
  const StaticBlock* FindBlock(uint64_t address);
  const StaticBlock* CutBlock(const StaticBlock& block, uint64_t limit);
  const StaticBlock* CrossingInstruction(uint64_t address);
  std::optional<unsigned> DistanceToPacket(uint32_t id);
  void Grow();
  void MakeRoom();
  void FillTable();
  size_t Slot(uint64_t address) const;

  std::shared_ptr<const AddressSpace> space_;
  CodeMode mode_;
  uint64_t address_mask_;
  std::vector<Node> nodes_;
  std::vector<NodeInfo> infos_;
  std::vector<uint32_t> table_;  // open addressing by address; 0: free
  BlockTable table_of_blocks_;   // only as far as it was requested
  // Blocks that belong to no section: cut by a mapping's end, or across two mappings.
  struct OwnedBlock {
    StaticBlock block;
    std::vector<uint8_t> lengths;
  };
  std::vector<std::unique_ptr<OwnedBlock>> owned_;
};

}  // namespace flowback::flow
