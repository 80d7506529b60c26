// SPDX-License-Identifier: MIT
// Copies of stacks that nobody wrote, against a real file's tables: an end, whatever they hold.
// That sound ones are unwound as perf does is for tests/cli/sampled_stack_test.cc.
#include "replay/calls/unwind/stack_unwinder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/mapped_file.h"
#include "base/sanitized.h"
#include "decode/instruction/classify.h"
#include "replay/calls/unwind/behind_call.h"
#include "replay/symbols/elf/elf_symbols.h"
#include "replay/symbols/elf/symbol_file.h"

namespace flowback {
namespace {

constexpr uint64_t kBase = 0x5000000000;
constexpr uint64_t kStack = 0x7fff00000000;
constexpr uint64_t kMask = 0xff01ff;  // the general registers and the program counter
constexpr unsigned kStackWord = 7;    // where they have the stack pointer
constexpr unsigned kCounterWord = 8;

class Unwinding : public ::testing::Test {
 protected:
  Unwinding() : path_(std::filesystem::read_symlink("/proc/self/exe")) {
    file_ = *MappedFile::Open(path_);
    const auto symbols = symbols::SymbolFile::Open(path_);
    const symbols::FileSection* text = symbols->Find(".text");
    begin_ = text->header.sh_offset;
    size_ = text->header.sh_size;
    auto section =
        std::make_shared<CodeSection>(path_, 0, file_->bytes(), file_, Verification::kGiven);
    space_.Map({kBase, file_->bytes().size(), 0, section});
  }
  uint64_t Code(uint64_t offset) const { return kBase + begin_ + offset % size_; }
  StackCopy Copy(const std::vector<uint64_t>& registers, const std::vector<uint64_t>& stack) {
    return {.registers = {Bytes(reinterpret_cast<const uint8_t*>(registers.data()),
                                8 * registers.size()),
                          false},
            .mask = kMask,
            .memory = {reinterpret_cast<const uint8_t*>(stack.data()), 8 * stack.size()}};
  }

  std::string path_;
  std::shared_ptr<const MappedFile> file_;
  AddressSpace space_;
  uint64_t begin_ = 0;
  uint64_t size_ = 1;
};

TEST_F(Unwinding, RandomCopiesComeToAnEnd) {
  std::mt19937_64 random(7);
  StackUnwinder unwinder(CodeMode::kX86_64);
  size_t frames = 0;
  constexpr size_t kRounds = FLOWBACK_SANITIZED ? 300 : 5000;
  for (size_t round = 0; round < kRounds; ++round) {
    std::vector<uint64_t> registers(17);
    for (uint64_t& each : registers) each = kStack + random() % 4096;
    registers[kStackWord] = kStack;
    registers[kCounterWord] = Code(random());
    std::vector<uint64_t> stack(random() % 512);
    for (uint64_t& word : stack)
      word = random() % 2 == 0 ? Code(random()) : kStack + random() % 4096;
    const UnwoundStack unwound = unwinder.Unwind(Copy(registers, stack), space_);
    ASSERT_FALSE(unwound.addresses.empty());
    EXPECT_EQ(unwound.addresses.size(), unwound.exact.size());
    EXPECT_EQ(unwound.addresses.front(), registers[kCounterWord]);
    EXPECT_EQ(unwound.where, unwound.addresses.back());
    frames += unwound.addresses.size();
  }
  EXPECT_GT(frames, kRounds + kRounds / 4) << "some frames are left";
}

TEST_F(Unwinding, WithoutRegistersOrWithFewThereIsNothing) {
  StackUnwinder unwinder(CodeMode::kX86_64);
  const UnwoundStack none = unwinder.Unwind(Copy({}, {1, 2, 3}), space_);
  EXPECT_EQ(none.end, UnwoundStack::End::kNoRegisters);
  EXPECT_TRUE(none.addresses.empty());
  const UnwoundStack few = unwinder.Unwind(Copy({1, 2, 3}, {}), space_);
  EXPECT_EQ(few.end, UnwoundStack::End::kNoRegisters);
  std::vector<uint64_t> registers(17, kStack);
  registers[kCounterWord] = 0x1234;
  const UnwoundStack nowhere = unwinder.Unwind(Copy(registers, {}), space_);
  EXPECT_EQ(nowhere.end, UnwoundStack::End::kNoTable);
  EXPECT_EQ(nowhere.addresses, (std::vector<uint64_t>{0x1234}));
}

// The linker's own code has no table: it runs the destructors of C++, and calls others for that.
TEST_F(Unwinding, CodeWithoutATableIsUnwoundByWhatItDoes) {
  const auto file = symbols::SymbolFile::Open(path_);
  if (file->machine() != EM_X86_64) GTEST_SKIP() << "not a program for x86-64";
  const auto symbols = symbols::ElfSymbols::Read(*file, nullptr);
  const auto it =
      std::ranges::find(symbols.symbols(), "__do_global_dtors_aux", &symbols::ElfSymbol::name);
  if (it == symbols.symbols().end()) GTEST_SKIP() << "the linker adds no such function here";
  const uint64_t begin = it->begin;
  const Bytes code = file->bytes().subspan(begin, 64);
  uint64_t call = 0;  // the first one's place
  while (call < code.size()) {
    Instruction instruction;
    ASSERT_TRUE(Classify(code.subspan(call), CodeMode::kX86_64, instruction));
    call += instruction.length;
    if (instruction.kind == InstructionClass::kCall) break;
  }
  // A place behind a call, and one that is behind none.
  uint64_t behind = 0;
  uint64_t elsewhere = 0;
  for (uint64_t at = 16; behind == 0 || elsewhere == 0; ++at)
    (IsBehindCall(space_, Code(at), CodeMode::kX86_64) ? behind : elsewhere) = Code(at);
  for (const uint64_t back : {behind, elsewhere}) {
    std::vector<uint64_t> registers(17, kStack + 16);
    registers[kStackWord] = kStack;
    registers[kCounterWord] = kBase + begin + call;
    const std::vector<uint64_t> stack = {kStack + 64, back, 0, 0};
    StackUnwinder unwinder(CodeMode::kX86_64);
    const UnwoundStack unwound = unwinder.Unwind(Copy(registers, stack), space_);
    ASSERT_EQ(unwound.addresses.size() > 1, back == behind);
    if (back == behind) {
      EXPECT_EQ(unwound.addresses[1], behind);
    } else {
      EXPECT_EQ(unwound.end, UnwoundStack::End::kNoTable);
    }
  }
}

}  // namespace
}  // namespace flowback
