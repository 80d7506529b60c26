// SPDX-License-Identifier: MIT
#include "decode/flow/block_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "tests/flow/test_code.h"

namespace flowback::flow {
namespace {

// dec rax; jne -5; ret
const std::vector<uint8_t> kLoop = {0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};

TEST(BlockGraph, ABlockEndsAtItsBranchAndNamesItsSuccessors) {
  BlockGraph graph(Space({At(0x401000, kLoop)}), CodeMode::kX86_64);
  const uint32_t loop = graph.NodeAt(0x401000);
  EXPECT_EQ(graph.node(loop).kind, NodeKind::kConditional);
  EXPECT_EQ(graph.node(loop).count, 2);
  EXPECT_EQ(graph.SuccessorAddress(loop, 1), 0x401000u);
  EXPECT_EQ(graph.SuccessorAddress(loop, 0), 0x401005u);
  EXPECT_EQ(graph.Resolve(loop, 1), loop);
  EXPECT_EQ(graph.node(graph.Resolve(loop, 0)).kind, NodeKind::kReturn);
}

TEST(BlockGraph, TheSameAddressIsTheSameNode) {
  BlockGraph graph(Space({At(0x401000, kLoop)}), CodeMode::kX86_64);
  EXPECT_EQ(graph.NodeAt(0x401000), graph.NodeAt(0x401000));
  EXPECT_NE(graph.NodeAt(0x401000), graph.NodeAt(0x401003));
}

TEST(BlockGraph, ABlockKnowsWhereItsInstructionsBegin) {
  BlockGraph graph(Space({At(0x401000, kLoop)}), CodeMode::kX86_64);
  const NodeInfo& loop = graph.info(graph.NodeAt(0x401000));
  EXPECT_EQ(loop.InstructionsBefore(0x401003), 1u);
  EXPECT_EQ(loop.InstructionsBefore(0x401000), 0u);
  EXPECT_EQ(loop.InstructionsBefore(0x401001), 0u);
  EXPECT_TRUE(loop.HasInstruction(0x401000));
  EXPECT_TRUE(loop.HasInstruction(0x401003));
  EXPECT_FALSE(loop.HasInstruction(0x401001));
  EXPECT_FALSE(loop.HasInstruction(0x401005)) << "it is the next block's";
}

// 401000: nop; jmp 401003; 401003: dec rax; jne 401003
TEST(BlockGraph, CodeTellsHowFarItIsToAPacket) {
  BlockGraph graph(Space({At(0x401000, {0x90, 0xeb, 0x00, 0x48, 0xff, 0xc8, 0x75, 0xfb})}),
                   CodeMode::kX86_64);
  EXPECT_EQ(graph.InstructionsToPacket(graph.NodeAt(0x401000)), 4u);
  EXPECT_EQ(graph.InstructionsToPacket(graph.NodeAt(0x401003)), 2u);
  EXPECT_EQ(graph.InstructionsToPacket(graph.NodeAt(0x401006)), 1u);
}

// 401000: jmp 401002; 401002: jmp 401002
TEST(BlockGraph, CodeThatGoesInCirclesMayMeetSomething) {
  BlockGraph graph(Space({At(0x401000, {0xeb, 0x00, 0xeb, 0xfe})}), CodeMode::kX86_64);
  const uint32_t first = graph.NodeAt(0x401000);
  const auto is_at = [&graph](uint64_t address) {
    return [&graph, address](uint32_t id) { return graph.info(id).address == address; };
  };
  EXPECT_TRUE(graph.Meets(first, is_at(0x401002)));
  EXPECT_FALSE(graph.Meets(first, is_at(0x401002), 0)) << "so far was not asked for";
  EXPECT_FALSE(graph.Meets(first, is_at(0x401003)));
  EXPECT_TRUE(graph.EndsOrMeets(first, is_at(0x401002)));
  EXPECT_FALSE(graph.EndsOrMeets(first, is_at(0x401003)));
}

TEST(BlockGraph, TheDigestIsThatOfTheAddresses) {
  BlockGraph graph(Space({At(0x401000, kLoop)}), CodeMode::kX86_64);
  FlowDigest digest;
  digest.Append(0x401000);
  digest.Append(0x401003);
  const Node& node = graph.node(graph.NodeAt(0x401000));
  EXPECT_EQ(node.hash, digest.hash);
  EXPECT_EQ(node.power, FlowDigest::Power(2));
}

TEST(BlockGraph, UnmappedAndUndecodableCodeAreDifferentThings) {
  // In 64-bit mode 06 (push es) is no instruction.
  BlockGraph graph(Space({At(0x401000, std::vector<uint8_t>(32, 0x06))}), CodeMode::kX86_64);
  EXPECT_EQ(graph.node(graph.NodeAt(0x500000)).kind, NodeKind::kNoImage);
  EXPECT_EQ(graph.node(graph.NodeAt(0x401000)).kind, NodeKind::kBadInstruction);
}

TEST(BlockGraph, AnInstructionAcrossTwoMappings) {
  // 48 ff c8 (dec rax) in two pieces, then ret.
  BlockGraph graph(Space({At(0x401000, {0x90, 0x48}), At(0x401002, {0xff, 0xc8, 0xc3})}),
                   CodeMode::kX86_64);
  const uint32_t nop = graph.NodeAt(0x401000);
  EXPECT_EQ(graph.node(nop).kind, NodeKind::kGoto);
  EXPECT_EQ(graph.node(nop).count, 1);
  const uint32_t crossing = graph.Resolve(nop, 1);
  EXPECT_EQ(graph.info(crossing).address, 0x401001u);
  EXPECT_EQ(graph.info(crossing).block->size, 3u);
  EXPECT_EQ(graph.node(graph.Resolve(crossing, 1)).kind, NodeKind::kReturn);
}

TEST(BlockGraph, AMappingThatEndsBeforeItsSectionCutsTheBlock) {
  CodeMapping mapping = At(0x401000, {0x90, 0x90, 0x90, 0xc3});
  mapping.size = 2;
  BlockGraph graph(Space({mapping}), CodeMode::kX86_64);
  const uint32_t id = graph.NodeAt(0x401000);
  EXPECT_EQ(graph.node(id).count, 2);
  EXPECT_EQ(graph.node(id).kind, NodeKind::kGoto);
  EXPECT_EQ(graph.node(graph.Resolve(id, 1)).kind, NodeKind::kNoImage);
}

TEST(BlockGraph, FindsLoopsThatNeedNoPacket) {
  // jmp +0; jmp -4: round and round. And a chain of jumps that ends in a ret.
  BlockGraph round(Space({At(0x401000, {0xeb, 0x00, 0xeb, 0xfc})}), CodeMode::kX86_64);
  EXPECT_FALSE(round.Terminates(round.NodeAt(0x401000)));
  BlockGraph chain(Space({At(0x401000, {0xeb, 0x00, 0xeb, 0x00, 0xc3})}), CodeMode::kX86_64);
  EXPECT_TRUE(chain.Terminates(chain.NodeAt(0x401000)));
  EXPECT_TRUE(chain.node(chain.NodeAt(0x401002)).terminates);
}

// Jumps to the next instruction, and behind them a ret.
class Line {
 public:
  explicit Line(size_t jumps) : code_(2 * jumps, 0x00) {
    for (size_t i = 0; i < jumps; ++i) code_[2 * i] = 0xeb;
    code_.push_back(0xc3);
    space_ = Space({At(0x401000, code_)});
  }
  // The answer of each graph must not depend on what it was asked before.
  void ExpectFrom(const std::vector<size_t>& begins) const {
    BlockGraph graph(space_, CodeMode::kX86_64);
    for (const size_t begin : begins) {
      const bool ends = code_.size() / 2 - begin <= BlockGraph::kMaxWalk;
      EXPECT_EQ(graph.Terminates(graph.NodeAt(0x401000 + 2 * begin)), ends) << begin;
    }
  }

 private:
  std::vector<uint8_t> code_;
  std::shared_ptr<const AddressSpace> space_;
};

TEST(BlockGraph, AWalkWithoutPacketsHasABoundThatNothingElseMoves) {
  constexpr size_t kMost = BlockGraph::kMaxWalk;
  for (const size_t jumps : {kMost, kMost + 1, 2 * kMost, 2 * kMost + 1, 5 * kMost}) {
    const Line line(jumps);
    const size_t last = jumps - kMost;  // from where it ends within the bound
    line.ExpectFrom({0, last, last - std::min<size_t>(last, 1), jumps});
    line.ExpectFrom({jumps, last, 0});
    line.ExpectFrom({jumps / 2, 0, last, 1, jumps - 1});
    std::vector<size_t> all;
    for (size_t begin = 0; begin <= jumps; ++begin) all.push_back(begin * 7919 % (jumps + 1));
    line.ExpectFrom(all);
  }
}

TEST(BlockGraph, ThirtyTwoBitAddressesWrap) {
  // jmp rel32 over the end of the address space.
  BlockGraph graph(Space({At(0xfffffff0, {0xe9, 0x0b, 0x10, 0x00, 0x00}), At(0x1000, {0xc3})}),
                   CodeMode::kX86_32);
  const uint32_t jump = graph.NodeAt(0xfffffff0);
  EXPECT_EQ(graph.SuccessorAddress(jump, 1), 0x1000u);
  EXPECT_EQ(graph.node(graph.Resolve(jump, 1)).kind, NodeKind::kReturn);
}

TEST(BlockGraph, ACallToTheNextInstructionIsNotPushed) {
  BlockGraph graph(Space({At(0x401000, {0xe8, 0, 0, 0, 0, 0x58, 0xe8, 1, 0, 0, 0, 0xc3, 0xc3})}),
                   CodeMode::kX86_64);
  EXPECT_FALSE(graph.node(graph.NodeAt(0x401000)).pushes);
  EXPECT_TRUE(graph.node(graph.NodeAt(0x401006)).pushes);
}

TEST(BlockGraph, ThousandsOfNodesKeepTheirNumbers) {
  BlockGraph graph(Space({At(0x401000, std::vector<uint8_t>(5000, 0xc3))}), CodeMode::kX86_64);
  std::vector<uint32_t> ids;
  for (uint64_t i = 0; i < 5000; ++i) ids.push_back(graph.NodeAt(0x401000 + i));
  for (uint64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(graph.NodeAt(0x401000 + i), ids[i]);
    EXPECT_EQ(graph.info(ids[i]).address, 0x401000 + i);
  }
}

}  // namespace
}  // namespace flowback::flow
