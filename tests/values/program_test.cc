// SPDX-License-Identifier: MIT
// A compiled program that dies, stepped by the kernel. From its registers and memory at the end the
// value engine proves what it had along its last instructions: each value must be the one that the
// kernel told there.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <deque>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "decode/instruction/effects.h"
#include "replay/values/value_history.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

using values::ValueHistory;

constexpr size_t kKept = 20000;      // instructions before the end
constexpr size_t kNear = 200;        // that somebody looks at first
constexpr size_t kStackBytes = 192;  // of the stack, above its pointer
constexpr size_t kDataBytes = 16;    // at the address in RDI

struct Logged {
  user_regs_struct registers{};
  std::array<uint8_t, kStackBytes> stack{};
  std::array<uint8_t, kDataBytes> data{};
  bool has_data = false;
};

struct Region {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool writable = false;
};

class StoppedProgram {
 public:
  explicit StoppedProgram(const std::string& path) {
    pid_ = fork();
    if (pid_ != 0) return;
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, 1);
    execl(path.c_str(), path.c_str(), nullptr);
    _exit(127);
  }
  StoppedProgram(const StoppedProgram&) = delete;
  StoppedProgram& operator=(const StoppedProgram&) = delete;
  ~StoppedProgram() {
    close(memory_);
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  // Runs to the breakpoint, and steps to the signal that kills it.
  int Run(std::deque<Logged>& log) {
    int status = 0;
    waitpid(pid_, &status, 0);
    memory_ = open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
    ptrace(PTRACE_CONT, pid_, nullptr, nullptr);
    waitpid(pid_, &status, 0);
    while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP) {
      Logged one;
      ptrace(PTRACE_GETREGS, pid_, nullptr, &one.registers);
      // An instruction that repeats is one.
      if (log.empty() || log.back().registers.rip != one.registers.rip) {
        Read(one.registers.rsp, one.stack);
        one.has_data = Read(one.registers.rdi, one.data);
        log.push_back(one);
        if (log.size() > kKept) log.pop_front();
      }
      if (ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) != 0) break;
      waitpid(pid_, &status, 0);
    }
    return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
  }

  template <class Buffer>
  bool Read(uint64_t address, Buffer& bytes) const {
    iovec local{bytes.data(), bytes.size()};
    iovec remote{reinterpret_cast<void*>(address), bytes.size()};
    return process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes.size());
  }
  std::optional<uint8_t> Byte(uint64_t address) const {
    uint8_t byte = 0;
    if (pread(memory_, &byte, 1, static_cast<off_t>(address)) != 1) return std::nullopt;
    return byte;
  }
  // Private memory of the process.
  std::vector<Region> Regions() const {
    std::vector<Region> regions;
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      std::istringstream words(line);
      std::string range, rights, offset, device, node, path;
      words >> range >> rights >> offset >> device >> node >> path;
      const bool writable = rights[1] == 'w';
      if (rights[3] != 'p' || (!writable && path[0] != '/')) continue;
      const size_t dash = range.find('-');
      regions.push_back({.begin = std::stoull(range.substr(0, dash), nullptr, 16),
                         .end = std::stoull(range.substr(dash + 1), nullptr, 16),
                         .writable = writable});
    }
    return regions;
  }

 private:
  pid_t pid_ = -1;
  int memory_ = -1;
};

std::array<uint64_t, 16> GeneralOf(const user_regs_struct& regs) {
  return {regs.rax, regs.rcx, regs.rdx, regs.rbx, regs.rsp, regs.rbp, regs.rsi, regs.rdi,
          regs.r8,  regs.r9,  regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15};
}

struct Build {
  const char* name;
  const char* program;
  // Percentages that are at least proven of the last kNear instructions.
  int registers;
  int stack;
};

class ProgramValuesTest : public ::testing::TestWithParam<Build> {
 protected:
  values::ExecutedPath PathOf(const std::deque<Logged>& log, const StoppedProgram& program) {
    values::ExecutedPath path;
    for (size_t i = 0; i + 1 < log.size(); ++i) {
      values::PathInstruction one{.address = log[i].registers.rip,
                                  .next = log[i + 1].registers.rip};
      std::array<uint8_t, 15> code{};
      EXPECT_TRUE(program.Read(one.address, code));
      std::copy(code.begin(), code.end(), one.bytes.begin());
      InstructionEffects effects;
      EXPECT_TRUE(EffectsOf(code, one.address, one.mode, effects));
      one.length = effects.length;
      path.instructions.push_back(one);
    }
    path.end_address = log.back().registers.rip;
    return path;
  }

  values::Surroundings SurroundingsOf(const std::deque<Logged>& log,
                                      const StoppedProgram& program) {
    values::KnownState end{.point = log.size() - 1};
    const auto general = GeneralOf(log.back().registers);
    for (uint8_t i = 0; i < 16; ++i) end.registers.emplace_back(i, general[i]);
    const uint64_t thread = log.back().registers.fs_base;
    end.registers.emplace_back(step_register::kFsBase, thread);
    end.registers.emplace_back(step_register::kFlags, log.back().registers.eflags);
    end.memory = [&program](uint64_t address) { return program.Byte(address); };
    values::Surroundings surroundings{.states = {end}, .is_private = {}, .constant = {}};
    const auto find = [regions = program.Regions()](uint64_t address) -> const Region* {
      for (const Region& region : regions)
        if (address >= region.begin && address < region.end) return &region;
      return nullptr;
    };
    // The kernel itself writes to glibc's rseq area.
    surroundings.is_private = [find, thread](uint64_t address) {
      const Region* region = find(address);
      return region != nullptr && region->writable && address - thread + 0x1000 > 0x2000;
    };
    surroundings.constant = [find, &program](uint64_t address) -> std::optional<uint8_t> {
      const Region* region = find(address);
      if (region == nullptr || region->writable) return std::nullopt;
      return program.Byte(address);
    };
    return surroundings;
  }

  struct Share {
    uint64_t all = 0;
    uint64_t proven = 0;
    void Count(bool is_proven) {
      ++all;
      proven += is_proven ? 1 : 0;
    }
    double Percent() const { return 100.0 * double(proven) / double(all); }
  };
  struct Shares {
    Share registers;
    Share memory;
  };

  void CountRegister(size_t point, bool is_proven, size_t points) {
    all_.registers.Count(is_proven);
    if (point + kNear >= points) near_.registers.Count(is_proven);
  }
  void CheckMemory(const ValueHistory& history, size_t points, size_t point, uint64_t address,
                   uint8_t logged) {
    const auto byte = history.Byte(point, address);
    all_.memory.Count(byte.has_value());
    if (point + kNear >= points) near_.memory.Count(byte.has_value());
    if (!byte) return;
    ASSERT_EQ(+*byte, +logged) << "at 0x" << std::hex << address << " before instruction "
                               << std::dec << point;
  }

  Shares all_;
  Shares near_;
};

TEST_P(ProgramValuesTest, WhatIsProvenIsWhatTheProgramHad) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  StoppedProgram program(GetParam().program);
  std::deque<Logged> log;
  ASSERT_EQ(program.Run(log), SIGSEGV);
  ASSERT_GT(log.size(), 1000U);
  const ValueHistory history = ValueHistory::Of(PathOf(log, program), SurroundingsOf(log, program));
  ASSERT_FALSE(history.contradiction())
      << "0x" << std::hex << log[history.contradiction().value_or(0)].registers.rip;
  for (size_t point = 0; point < log.size(); ++point) {
    const Logged& logged = log[point];
    const auto general = GeneralOf(logged.registers);
    for (uint8_t i = 0; i < 16; ++i) {
      const values::KnownBits bits = history.Bits(point, i);
      CountRegister(point, bits.all(), log.size());
      ASSERT_EQ(bits.value, general[i] & bits.known)
          << "register " << +i << " before instruction " << point << " at 0x" << std::hex
          << logged.registers.rip;
    }
    for (size_t i = 0; i < kStackBytes; ++i)
      ASSERT_NO_FATAL_FAILURE(
          CheckMemory(history, log.size(), point, logged.registers.rsp + i, logged.stack[i]));
    for (size_t i = 0; logged.has_data && i < kDataBytes; ++i)
      ASSERT_NO_FATAL_FAILURE(
          CheckMemory(history, log.size(), point, logged.registers.rdi + i, logged.data[i]));
  }
  const auto tell = [](const char* which, const Shares& shares) {
    std::cout << which << ": proven " << shares.registers.Percent() << " % of registers, "
              << shares.memory.Percent() << " % of the stack and the data\n";
  };
  tell("all", all_);
  tell("the last ones", near_);
  EXPECT_GE(near_.registers.Percent(), GetParam().registers);
  EXPECT_GE(near_.memory.Percent(), GetParam().stack);
}

INSTANTIATE_TEST_SUITE_P(Optimised, ProgramValuesTest,
                         ::testing::Values(Build{"O0", WORK_O0, 40, 20},
                                           Build{"O2", WORK_O2, 40, 20}),
                         [](const auto& build) { return build.param.name; });

}  // namespace
}  // namespace flowback::test
