// SPDX-License-Identifier: MIT
// Random programs of 64-bit and 32-bit code run on this processor, one instruction at a time. From
// the state at their end, or at another point, the value engine proves values along the way: each
// must be the one that the processor had.
//
// FLOWBACK_VALUES_INSTRUCTIONS=1000000 runs more of them.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "decode/instruction/effects.h"
#include "replay/values/value_history.h"
#include "replay/values/value_operations.h"
#include "tests/support/host.h"
#include "tests/values/code_writer.h"
#include "tests/values/stepped_child.h"

namespace flowback::test {
namespace {

using values::KnownBits;
using values::ValueHistory;

constexpr uint64_t kFollowedFlags = values::flag::kCarry | values::flag::kParity |
                                    values::flag::kZero | values::flag::kSign |
                                    values::flag::kOverflow;

struct LoggedState {
  std::array<uint64_t, 16> registers{};
  uint64_t flags = 0;
  uint64_t address = 0;
  std::array<uint8_t, CodeWriter::kDataSize> data{};
};

LoggedState StateOf(const user_regs_struct& regs, std::span<const uint8_t> data) {
  LoggedState state;
  state.registers = {regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp,
                     regs.rsi, regs.rdi, regs.r8,  regs.r9,  regs.r10, regs.r11,
                     regs.r12, regs.r13, regs.r14, regs.r15};
  state.flags = regs.eflags;
  state.address = regs.rip;
  std::copy_n(data.begin(), state.data.size(), state.data.begin());
  return state;
}

// Which code a test runs, and how many registers it has.
struct Machine {
  CodeMode mode = CodeMode::kX86_64;
  uint8_t registers = 16;
};

constexpr Machine kWide{}, kShort{CodeMode::kX86_32, 8};

struct Log {
  Machine machine{};
  std::vector<LoggedState> states{};  // before each instruction, and at the end
};

class RandomCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    child_ = SteppedChild::Start();
    ASSERT_NE(child_, nullptr);
    data_ = reinterpret_cast<uint64_t>(child_->data().data());
  }

  void Run(const std::vector<uint8_t>& program, uint64_t seed, Log& log) {
    std::mt19937_64 random(seed);
    std::copy(program.begin(), program.end(), child_->code().begin());
    for (size_t i = 0; i < CodeWriter::kDataSize; ++i)
      child_->data()[i] = static_cast<uint8_t>(random());
    user_regs_struct regs = child_->Registers();
    for (auto* one : {&regs.rax, &regs.rcx, &regs.rdx, &regs.rbx, &regs.rbp, &regs.rsi, &regs.rdi,
                      &regs.r8, &regs.r9, &regs.r10, &regs.r11, &regs.r12, &regs.r13, &regs.r15})
      *one = random() >> (random() % 3 * 24);
    if (log.machine.mode == CodeMode::kX86_32) {
      for (auto* one : {&regs.rax, &regs.rcx, &regs.rdx, &regs.rbp, &regs.rsi, &regs.rdi})
        *one &= values::LowBits(32);
      // The segments of 32-bit code.
      regs.rbx = data_;
      regs.cs = 0x23;
      regs.ds = regs.es = 0x2b;
    }
    regs.r14 = data_;
    regs.rsp = data_ + 900;
    regs.rip = reinterpret_cast<uint64_t>(child_->code().data());
    regs.orig_rax = ~0ULL;
    ASSERT_TRUE(child_->Set(regs));
    const uint64_t end = regs.rip + program.size() - 1;
    log.states = {StateOf(regs, child_->data())};
    while (log.states.back().address != end) {
      ASSERT_TRUE(child_->Step()) << "seed " << seed << " at " << std::hex
                                  << child_->Registers().rip - regs.rip;
      const LoggedState state = StateOf(child_->Registers(), child_->data());
      // An instruction that repeats is one.
      if (state.address == log.states.back().address) continue;
      log.states.push_back(state);
    }
  }

  values::ExecutedPath PathOf(const Log& log) {
    values::ExecutedPath path{.mode = log.machine.mode};
    const auto begin = reinterpret_cast<uint64_t>(child_->code().data());
    for (size_t i = 0; i + 1 < log.states.size(); ++i) {
      values::PathInstruction one{.mode = log.machine.mode};
      one.address = log.states[i].address;
      one.next = log.states[i + 1].address;
      std::copy_n(child_->code().begin() + static_cast<int64_t>(one.address - begin), 15,
                  one.bytes.begin());
      InstructionEffects effects;
      EXPECT_TRUE(EffectsOf(one.bytes, one.address, one.mode, effects));
      one.length = effects.length;
      path.instructions.push_back(one);
    }
    path.end_address = log.states.back().address;
    return path;
  }

  values::KnownState StateAt(const Log& log, size_t point) const {
    values::KnownState state{.point = point};
    const LoggedState& logged = log.states[point];
    for (uint8_t i = 0; i < log.machine.registers; ++i)
      state.registers.emplace_back(i, logged.registers[i]);
    state.registers.emplace_back(step_register::kFlags, logged.flags);
    state.memory = [this, &logged](uint64_t address) -> std::optional<uint8_t> {
      if (address - data_ >= logged.data.size()) return std::nullopt;
      return logged.data[address - data_];
    };
    return state;
  }

  bool IsTrue(const KnownBits& bits, uint64_t logged, uint64_t mask) {
    bits_proven_ += static_cast<uint64_t>(std::popcount(bits.known & mask));
    bits_all_ += static_cast<uint64_t>(std::popcount(mask));
    return ((bits.value ^ logged) & bits.known & mask) == 0;
  }

  void Check(const ValueHistory& history, const Log& log, const std::string& which) {
    ASSERT_FALSE(history.contradiction()) << which << ": at " << history.contradiction().value_or(0)
                                          << CodeAt(history, history.contradiction().value_or(0));
    const uint64_t mask = values::LowBits(TraitsOf(log.machine.mode).bits);
    for (size_t point = 0; point < log.states.size(); ++point) {
      const LoggedState& logged = log.states[point];
      for (uint8_t i = 0; i < log.machine.registers; ++i) {
        ASSERT_TRUE(IsTrue(history.Bits(point, i), logged.registers[i], mask))
            << which << ": register " << +i << " before instruction " << point << " of "
            << log.states.size() << CodeAt(history, point) << std::hex << " known "
            << history.Bits(point, i).known << " value " << history.Bits(point, i).value
            << " logged " << logged.registers[i];
        if (history.Register(point, i)) ++registers_proven_;
      }
      registers_all_ += log.machine.registers;
      ASSERT_TRUE(IsTrue(history.Bits(point, step_register::kFlags), logged.flags, kFollowedFlags))
          << which << ": flags before instruction " << point << CodeAt(history, point);
      for (size_t i = 0; i < logged.data.size(); i += 1 + i % 3) {
        const auto byte = history.Byte(point, data_ + i);
        ++bytes_all_;
        if (!byte) continue;
        ++bytes_proven_;
        ASSERT_EQ(+*byte, +logged.data[i])
            << which << ": byte " << i << " before instruction " << point << CodeAt(history, point);
      }
    }
    instructions_ += history.path().instructions.size();
  }

  // Runs programs until there are enough instructions, and checks what is proven of each.
  void Judge(const Machine& machine) {
    const char* asked = std::getenv("FLOWBACK_VALUES_INSTRUCTIONS");
    const uint64_t wanted = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 20000;
    for (uint64_t seed = 1; instructions_ < wanted; ++seed) {
      const size_t length = 40 + seed * 37 % 300;
      const std::vector<uint8_t> program = CodeWriter(seed, machine.mode).Program(length);
      Log log{.machine = machine};
      ASSERT_NO_FATAL_FAILURE(Run(program, seed, log));
      values::Surroundings surroundings;
      surroundings.is_private = [this](uint64_t address) {
        return address - data_ < CodeWriter::kDataSize;
      };
      // Most know the end, as from a core dump; others also a point in between.
      const size_t end = log.states.size() - 1;
      if (seed % 4 == 0) surroundings.states.push_back(StateAt(log, end * (seed % 7) / 7));
      if (seed % 8 != 0) surroundings.states.push_back(StateAt(log, end));
      const ValueHistory history = ValueHistory::Of(PathOf(log), surroundings);
      ASSERT_NO_FATAL_FAILURE(Check(history, log, "seed " + std::to_string(seed)));
    }
    const auto share = [](uint64_t part, uint64_t of) { return 100.0 * double(part) / double(of); };
    std::cout << instructions_
              << " instructions; proven: " << share(registers_proven_, registers_all_)
              << " % of registers, " << share(bits_proven_, bits_all_) << " % of their bits, "
              << share(bytes_proven_, bytes_all_) << " % of bytes\n";
    EXPECT_GT(share(registers_proven_, registers_all_), 30);
  }

  static std::string CodeAt(const ValueHistory& history, size_t point) {
    std::string text;
    const auto& instructions = history.path().instructions;
    for (size_t i = point < 3 ? 0 : point - 3; i < std::min(point + 12, instructions.size()); ++i) {
      text += i == point ? "\n> " : "\n  ";
      for (unsigned b = 0; b < instructions[i].length; ++b) {
        constexpr char kDigits[] = "0123456789abcdef";
        text += kDigits[instructions[i].bytes[b] >> 4];
        text += kDigits[instructions[i].bytes[b] & 15];
        text += ' ';
      }
    }
    return text + "\n";
  }

  std::unique_ptr<SteppedChild> child_;
  uint64_t data_ = 0;
  uint64_t instructions_ = 0;
  uint64_t registers_proven_ = 0;
  uint64_t registers_all_ = 0;
  uint64_t bits_proven_ = 0;
  uint64_t bits_all_ = 0;
  uint64_t bytes_proven_ = 0;
  uint64_t bytes_all_ = 0;
};

TEST_F(RandomCodeTest, WhatIsProvenIsWhatTheProcessorHad) { Judge(kWide); }

TEST_F(RandomCodeTest, WhatIsProvenOf32BitCodeIsWhatTheProcessorHad) {
  FLOWBACK_NEEDS_HOST(host::Trait::kCode32);
  Judge(kShort);
}

}  // namespace
}  // namespace flowback::test
