// SPDX-License-Identifier: MIT
#include "decode/flow/block_graph.h"

#include <algorithm>
#include <utility>

#include "decode/instruction/classify.h"

namespace flowback::flow {
namespace {

NodeKind KindOf(const StaticBlock& block) {
  switch (block.stop) {
    case StaticBlock::Stop::kSpecial:
      return NodeKind::kSpecial;
    case StaticBlock::Stop::kLimit:
    case StaticBlock::Stop::kSectionEnd:
    case StaticBlock::Stop::kBad:
      return NodeKind::kGoto;
    case StaticBlock::Stop::kBranch:
      break;
  }
  switch (block.last.kind) {
    case InstructionClass::kConditional:
      return NodeKind::kConditional;
    case InstructionClass::kReturn:
      return NodeKind::kReturn;
    case InstructionClass::kCall:
      return NodeKind::kCall;
    case InstructionClass::kIndirectJump:
      return NodeKind::kIndirect;
    case InstructionClass::kIndirectCall:
      return NodeKind::kIndirectCall;
    case InstructionClass::kFarCall:
    case InstructionClass::kFarJump:
    case InstructionClass::kFarReturn:
      return NodeKind::kFar;
    case InstructionClass::kJump:
    case InstructionClass::kOther:
      break;
  }
  return NodeKind::kGoto;
}

// So a step has its block's count in a byte.
static_assert(StaticBlock::kMaxInstructions <= StepCount::kMost);

// The digest part of a block whose instruction lengths are known.
void FillDigest(StaticBlock& block) {
  FlowDigest offsets;
  uint64_t offset = 0;
  for (unsigned i = 0; i < block.count; ++i) {
    offsets.Append(offset);
    offset += block.lengths[i];
  }
  block.offset_hash = offsets.hash;
}

const StaticBlock kNothing = [] {
  StaticBlock block{};
  block.stop = StaticBlock::Stop::kSectionEnd;
  return block;
}();
const StaticBlock kUndecodable = [] {
  StaticBlock block{};
  block.stop = StaticBlock::Stop::kBad;
  return block;
}();

}  // namespace

BlockGraph::BlockGraph(std::shared_ptr<const AddressSpace> space, CodeMode mode)
    : space_(std::move(space)),
      mode_(mode),
      address_mask_(TraitsOf(mode).address_mask),
      table_of_blocks_(*space_, mode) {
  nodes_.emplace_back();  // number 0 means "not resolved"
  infos_.push_back({0, &kNothing});
  table_.resize(1024);
}

size_t BlockGraph::Slot(uint64_t address) const {
  const size_t mask = table_.size() - 1;
  size_t slot = (address * FlowDigest::kFactor) >> 32 & mask;
  while (table_[slot] != 0 && infos_[table_[slot]].address != address) slot = (slot + 1) & mask;
  return slot;
}

void BlockGraph::Grow() {
  table_.assign(table_.size() * 4, 0);
  for (uint32_t id = 1; id < nodes_.size(); ++id) table_[Slot(infos_[id].address)] = id;
}

// In big steps: memory that is not touched yet costs nothing, but each move touches all anew.
void BlockGraph::MakeRoom() {
  constexpr size_t kFirst = 256;
  constexpr size_t kManyNodes = 1 << 16;
  const size_t size = nodes_.size();
  const size_t room = std::max(kFirst, size * (size < kManyNodes ? 8 : 2));
  nodes_.reserve(room);
  infos_.reserve(room);
}

CodeBlock BlockGraph::Block(uint32_t id) const {
  const StaticBlock& block = *infos_[id].block;
  return {.address = infos_[id].address,
          .lengths = block.lengths,
          .size = block.size,
          .count = block.count,
          .last = nodes_[id].last};
}

void BlockGraph::FillTable() {
  for (size_t id = table_of_blocks_.size(); id < infos_.size(); ++id)
    table_of_blocks_.Add(Block(static_cast<uint32_t>(id)));
}

uint32_t BlockGraph::NodeAt(uint64_t address) {
  address &= address_mask_;
  const size_t slot = Slot(address);
  if (table_[slot] != 0) return table_[slot];
  const uint32_t id = AddNode(address);
  if (nodes_.size() * 2 > table_.size())
    Grow();
  else
    table_[slot] = id;
  return id;
}

uint32_t BlockGraph::AddNode(uint64_t address) {
  const StaticBlock* block = FindBlock(address);
  Node node;
  if (block->count == 0) {
    node.kind =
        block->stop == StaticBlock::Stop::kBad ? NodeKind::kBadInstruction : NodeKind::kNoImage;
  } else {
    const FlowDigest digest = block->At(address);
    node.power = block->power();
    node.hash = digest.hash;
    node.count = block->count;
    node.kind = KindOf(*block);
    node.last = block->last.kind;
    node.pushes = (node.kind == NodeKind::kCall || node.kind == NodeKind::kIndirectCall) &&
                  !(block->last.flags & kFlagZeroCall);
  }
  if (nodes_.size() == nodes_.capacity()) MakeRoom();
  nodes_.push_back(node);
  infos_.push_back({address, block});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

const StaticBlock* BlockGraph::FindBlock(uint64_t address) {
  const CodeMapping* mapping = space_->Find(address);
  if (mapping == nullptr) return &kNothing;
  const uint64_t in_mapping = address - mapping->address;
  const StaticBlock* block =
      mapping->section->blocks().Get(mapping->section_offset + in_mapping, mode_);
  const uint64_t room = mapping->size - in_mapping;
  if (block->size > room) block = CutBlock(*block, room);
  if (block->count > 0) return block;
  return block->stop == StaticBlock::Stop::kBad ? block : CrossingInstruction(address);
}

// The part of `block` that fits into `limit` bytes: the mapping ends before the section does.
const StaticBlock* BlockGraph::CutBlock(const StaticBlock& block, uint64_t limit) {
  auto owned = std::make_unique<OwnedBlock>();
  uint64_t size = 0;
  for (unsigned i = 0; i < block.count && size + block.lengths[i] <= limit; ++i) {
    owned->lengths.push_back(block.lengths[i]);
    size += block.lengths[i];
  }
  owned->block = StaticBlock{};
  owned->block.size = static_cast<uint32_t>(size);
  owned->block.count = static_cast<uint16_t>(owned->lengths.size());
  owned->block.lengths = owned->lengths.data();
  owned->block.last.length = owned->lengths.empty() ? 0 : owned->lengths.back();
  owned->block.stop = StaticBlock::Stop::kSectionEnd;
  FillDigest(owned->block);
  owned_.push_back(std::move(owned));
  return &owned_.back()->block;
}

// One instruction whose bytes lie in two adjacent mappings.
const StaticBlock* BlockGraph::CrossingInstruction(uint64_t address) {
  uint8_t bytes[kLongestInstruction];
  const size_t longest = TraitsOf(mode_).longest_instruction;
  const size_t size = space_->Read(address, bytes, longest);
  Instruction instruction;
  if (!Classify(Bytes(bytes, size), mode_, instruction))
    return size == longest ? &kUndecodable : &kNothing;
  auto owned = std::make_unique<OwnedBlock>();
  owned->lengths.push_back(instruction.length);
  owned->block = StaticBlock{};
  owned->block.size = instruction.length;
  owned->block.count = 1;
  owned->block.lengths = owned->lengths.data();
  owned->block.last = instruction;
  const uint8_t binding = instruction.flags & (kFlagPtwrite | kFlagMovCr3 | kFlagVmPtrld);
  owned->block.stop = instruction.kind != InstructionClass::kOther ? StaticBlock::Stop::kBranch
                      : binding != 0                               ? StaticBlock::Stop::kSpecial
                                                                   : StaticBlock::Stop::kLimit;
  FillDigest(owned->block);
  owned_.push_back(std::move(owned));
  return &owned_.back()->block;
}

unsigned NodeInfo::InstructionsBefore(uint64_t ip) const {
  if (ip <= address || ip >= end()) return 0;
  uint64_t at = address;
  for (unsigned i = 0; i < block->count; ++i) {
    if (at == ip) return i;
    at += block->lengths[i];
  }
  return 0;
}

uint64_t NodeInfo::AddressOf(unsigned count) const {
  uint64_t at = address;
  for (unsigned i = 0; i < count; ++i) at += block->lengths[i];
  return at;
}

uint64_t BlockGraph::SuccessorAddress(uint32_t id, unsigned direction) const {
  const NodeInfo& info = infos_[id];
  const Node& node = nodes_[id];
  if (direction == 1 && IsDirect(node.last))
    return info.block->last.Target(info.LastAddress()) & address_mask_;
  return info.end() & address_mask_;
}

uint32_t BlockGraph::Resolve(uint32_t id, unsigned direction) {
  const uint32_t next = NodeAt(SuccessorAddress(id, direction));
  nodes_[id].next[direction] = next;
  return next;
}

BlockGraph::Round BlockGraph::RoundFrom(uint32_t id) {
  if (Terminates(id)) return {};
  const uint64_t begin = infos_[id].address;
  Round round;
  for (unsigned blocks = 0; blocks <= kMaxWalk; ++blocks) {
    const Node& node = nodes_[id];
    if (!NeedsNoPacket(node.kind) || node.kind == NodeKind::kSpecial) return {};
    round.instructions += node.count;
    round.calls = round.calls || node.pushes;
    id = Successor(id, 1);
    const NodeInfo& next = infos_[id];
    if (!next.HasInstruction(begin)) continue;
    round.instructions += next.InstructionsBefore(begin);
    return round;
  }
  return {};
}

bool BlockGraph::Terminates(uint32_t id) {
  const uint32_t first = id;
  const std::optional<unsigned> distance = DistanceToPacket(first);
  // Now it is known for the nodes passed on the way, too. If no packet was found, it is known for
  // the first half of them: they are too far from a packet in any case.
  for (unsigned left = distance.value_or(2 * kMaxWalk); distance || left > kMaxWalk; --left) {
    Node& node = nodes_[id];
    if (node.terminates || node.distance == Node::kEndless) break;
    node.terminates = left <= kMaxWalk;
    node.distance = node.terminates ? static_cast<uint16_t>(left) : Node::kEndless;
    if (left == 0) break;
    id = node.next[1];
  }
  return nodes_[first].terminates;
}

// Blocks from `id` to the one that needs a packet; nullopt: more than 2 * kMaxWalk, or known to be
// more than kMaxWalk.
std::optional<unsigned> BlockGraph::DistanceToPacket(uint32_t id) {
  for (unsigned passed = 0; passed < 2 * kMaxWalk; ++passed) {
    const Node& node = nodes_[id];
    if (node.distance == Node::kEndless) return std::nullopt;
    if (node.terminates) return passed + node.distance;
    if (!NeedsNoPacket(node.kind)) return passed;
    id = node.next[1] != 0 ? node.next[1] : Resolve(id, 1);
  }
  return std::nullopt;
}

}  // namespace flowback::flow
