// SPDX-License-Identifier: MIT
#include "decode/pt/memo/memo_cache.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/flow/test_code.h"

namespace flowback::pt {
namespace {

// A recording of a thousand processes must not need a thousand big tables.
TEST(MemoCache, KeepsThoseThatWereUsedLast) {
  CodeMemory memory;
  const auto space = [](unsigned process) {
    return Space({At(0x401000 + 0x1000 * uint64_t{process}, {0x75, 0xfe, 0xc3})});
  };
  std::vector<std::shared_ptr<const AddressSpace>> spaces;
  for (unsigned process = 0; process < 12; ++process) spaces.push_back(space(process));
  const auto graph = [&](unsigned process) -> BlockGraph& {
    return memory.graphs.Get(spaces[process], CodeMode::kX86_64);
  };
  const auto taken = TipTnt::Tnt(0b110);
  const auto knows = [&] {
    const Seed seed = Seed::Of(graph(0).NodeAt(0x401000));
    return memory.memos.Of(graph(0), true).LookUp(seed, taken, ReturnStack()).answer.is_path();
  };
  ReturnStack stack;
  PathUses evicted;
  const Seed seed = Seed::Of(graph(0).NodeAt(0x401000));
  ASSERT_NE(memory.memos.Of(graph(0), true).Learn(seed, taken, stack, evicted), nullptr);
  EXPECT_TRUE(knows());
  EXPECT_NE(&memory.memos.Of(graph(0), false), &memory.memos.Of(graph(0), true));
  for (unsigned process = 1; process < 4; ++process) memory.memos.Of(graph(process), true);
  EXPECT_TRUE(knows());
  for (unsigned process = 1; process < 12; ++process) memory.memos.Of(graph(process), true);
  EXPECT_FALSE(knows());
}

}  // namespace
}  // namespace flowback::pt
