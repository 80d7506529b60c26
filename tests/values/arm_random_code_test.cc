// SPDX-License-Identifier: MIT
// Random programs of AArch64 run in QEMU, which logs all registers before each instruction. From
// the state at their end, or at another point, the value engine proves values along the way: each
// must be the one that was logged.
//
// FLOWBACK_VALUES_INSTRUCTIONS=1000000 runs more of them.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "decode/instruction/effects.h"
#include "replay/values/value_history.h"
#include "replay/values/value_operations.h"
#include "tests/values/arm_code_writer.h"

namespace flowback::test {
namespace {

using values::ValueHistory;

constexpr uint64_t kCode = 0x10000000, kData = 0x20000000, kPage = 4096;
constexpr size_t kRegisters = 32;

struct LoggedState {
  uint64_t address = 0;
  std::array<uint64_t, kRegisters> registers{};
  uint64_t flags = 0;  // CPSR
};

struct ArmRun {
  std::vector<uint32_t> words;
  std::vector<uint8_t> first;  // the data at the begin
  std::string last;            // and at the end
  std::vector<LoggedState> states;
};

uint64_t HexIn(const std::string& text, size_t at, size_t digits) {
  uint64_t number = 0;
  std::from_chars(text.data() + at, text.data() + std::min(text.size(), at + digits), number, 16);
  return number;
}

class ArmRandomCodeTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system("qemu-aarch64 --version > /dev/null 2>&1") != 0)
      GTEST_SKIP() << "no qemu-aarch64 (Debian: qemu-user)";
    folder_ = ::testing::TempDir() + "arm_random_" + std::to_string(getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
  }

  static std::vector<uint8_t> ElfOf(const ArmRun& run) {
    std::vector<uint8_t> file(3 * kPage + run.words.size() * 4);
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_AARCH64;
    header.e_version = EV_CURRENT;
    header.e_entry = kCode;
    header.e_phoff = sizeof header;
    header.e_ehsize = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    std::memcpy(file.data(), &header, sizeof header);
    const std::array<Elf64_Phdr, 2> programs = {
        Elf64_Phdr{PT_LOAD, PF_R | PF_W, kPage, kData, kData, kPage, kPage, kPage},
        Elf64_Phdr{PT_LOAD, PF_R | PF_X, 2 * kPage, kCode, kCode, run.words.size() * 4,
                   run.words.size() * 4, kPage}};
    std::memcpy(file.data() + sizeof header, programs.data(), sizeof programs);
    std::memcpy(file.data() + kPage, run.first.data(), run.first.size());
    std::memcpy(file.data() + 2 * kPage, run.words.data(), run.words.size() * 4);
    return file;
  }

  void Execute(uint64_t seed, ArmRun& run) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < ArmCodeWriter::kDataSize; ++i)
      run.first.push_back(static_cast<uint8_t>(random()));
    ArmCodeWriter writer(seed, kData);
    const uint64_t end = kCode + writer.Program(300 + seed * 37 % 300).size() * 4;
    // write(1, data), exit(0)
    for (const auto& [number, value] : {std::pair{0U, uint64_t{1}},
                                        {1U, kData},
                                        {2U, ArmCodeWriter::kDataSize},
                                        {8U, uint64_t{64}}})
      writer.Set(number, value);
    run.words = writer.words();
    run.words.insert(run.words.end(), {0xd4000001, 0xd2800000, 0xd2800ba8, 0xd4000001});
    const std::string program = folder_ + "/program";
    const std::vector<uint8_t> file = ElfOf(run);
    std::ofstream(program, std::ios::binary)
        .write(reinterpret_cast<const char*>(file.data()),
               static_cast<std::streamsize>(file.size()));
    chmod(program.c_str(), 0700);
    const std::string command = "cd " + folder_ + " && timeout 20 qemu-aarch64 -singlestep -d " +
                                "cpu,nochain -D log ./program > data";
    ASSERT_EQ(std::system(command.c_str()), 0) << "seed " << seed;
    std::stringstream data;
    data << std::ifstream(folder_ + "/data", std::ios::binary).rdbuf();
    run.last = data.str();
    ASSERT_EQ(run.last.size(), ArmCodeWriter::kDataSize);
    ReadLog(end, run);
    ASSERT_EQ(run.states.back().address, end) << "seed " << seed;
  }

  // " PC=... X00=...", "X01=...", "PSTATE=...".
  void ReadLog(uint64_t end, ArmRun& run) {
    std::ifstream log(folder_ + "/log");
    for (std::string line; std::getline(log, line);) {
      if (const size_t at = line.find("PC="); at != std::string::npos) {
        if (!run.states.empty() && run.states.back().address == end) return;
        run.states.push_back({.address = HexIn(line, at + 3, 16)});
      }
      if (run.states.empty()) continue;
      LoggedState& state = run.states.back();
      for (size_t at = line.find('X'); at != std::string::npos; at = line.find('X', at + 1)) {
        const size_t number = static_cast<size_t>(std::atoi(line.c_str() + at + 1));
        if (number < kRegisters && line[at + 3] == '=')
          state.registers[number] = HexIn(line, at + 4, 16);
      }
      if (const size_t at = line.find(" SP="); at != std::string::npos)
        state.registers[31] = HexIn(line, at + 4, 16);
      if (line.starts_with("PSTATE=")) state.flags = HexIn(line, 7, 8);
    }
  }

  static values::ExecutedPath PathOf(const ArmRun& run) {
    values::ExecutedPath path{.mode = CodeMode::kAArch64};
    for (size_t i = 0; i + 1 < run.states.size(); ++i) {
      values::PathInstruction one{.address = run.states[i].address,
                                  .next = run.states[i + 1].address,
                                  .length = 4,
                                  .mode = CodeMode::kAArch64};
      std::memcpy(one.bytes.data(), &run.words[(one.address - kCode) / 4], 4);
      path.instructions.push_back(one);
    }
    path.end_address = run.states.back().address;
    return path;
  }

  static values::KnownState StateAt(const ArmRun& run, size_t point) {
    values::KnownState state{.point = point};
    for (uint8_t i = 0; i < kRegisters; ++i)
      state.registers.emplace_back(i, run.states[point].registers[i]);
    state.registers.emplace_back(step_register::kFlags,
                                 values::StepFlagsOfArm(run.states[point].flags));
    if (point + 1 != run.states.size()) return state;
    state.memory = [&run](uint64_t address) -> std::optional<uint8_t> {
      if (address - kData >= run.last.size()) return std::nullopt;
      return static_cast<uint8_t>(run.last[address - kData]);
    };
    return state;
  }

  static std::string CodeAt(const ArmRun& run, size_t point) {
    std::ostringstream text;
    for (size_t i = point < 4 ? 0 : point - 4; i < std::min(point + 4, run.states.size()); ++i)
      text << (i == point ? "\n> " : "\n  ") << std::hex
           << run.words[(run.states[i].address - kCode) / 4];
    return text.str();
  }

  void Check(const ValueHistory& history, const ArmRun& run, uint64_t seed) {
    ASSERT_FALSE(history.contradiction())
        << "seed " << seed << CodeAt(run, history.contradiction().value_or(0));
    constexpr uint64_t kFlags =
        values::flag::kCarry | values::flag::kZero | values::flag::kSign | values::flag::kOverflow;
    for (size_t point = 0; point < run.states.size(); ++point) {
      const LoggedState& logged = run.states[point];
      for (uint8_t i = 0; i < kRegisters; ++i) {
        const values::KnownBits bits = history.Bits(point, i);
        ASSERT_EQ((bits.value ^ logged.registers[i]) & bits.known, 0)
            << "seed " << seed << ": register " << +i << " before instruction " << point << std::hex
            << " known " << bits.known << " value " << bits.value << " logged "
            << logged.registers[i] << CodeAt(run, point);
        bits_proven_ += static_cast<uint64_t>(std::popcount(bits.known));
        if (bits.all()) ++registers_proven_;
      }
      const values::KnownBits flags = history.Bits(point, step_register::kFlags);
      ASSERT_EQ((flags.value ^ values::StepFlagsOfArm(logged.flags)) & flags.known & kFlags, 0)
          << "seed " << seed << ": flags before instruction " << point << CodeAt(run, point);
    }
    registers_all_ += run.states.size() * kRegisters;
    for (size_t i = 0; i < run.first.size(); ++i) {
      ++bytes_all_;
      const auto byte = history.Byte(0, kData + i);
      if (!byte) continue;
      ++bytes_proven_;
      ASSERT_EQ(+*byte, +run.first[i]) << "seed " << seed << ": byte " << i << " at the begin";
    }
    instructions_ += history.path().instructions.size();
  }

  std::string folder_;
  uint64_t instructions_ = 0;
  uint64_t registers_proven_ = 0;
  uint64_t registers_all_ = 0;
  uint64_t bits_proven_ = 0;
  uint64_t bytes_proven_ = 0;
  uint64_t bytes_all_ = 0;
};

TEST_F(ArmRandomCodeTest, WhatIsProvenIsWhatWasLogged) {
  const char* asked = std::getenv("FLOWBACK_VALUES_INSTRUCTIONS");
  const uint64_t wanted = asked != nullptr ? std::strtoull(asked, nullptr, 10) : 15000;
  for (uint64_t seed = 1; instructions_ < wanted; ++seed) {
    ArmRun run;
    ASSERT_NO_FATAL_FAILURE(Execute(seed, run));
    values::Surroundings surroundings;
    surroundings.is_private = [](uint64_t address) {
      return address - kData < ArmCodeWriter::kDataSize;
    };
    const size_t end = run.states.size() - 1;
    if (seed % 4 == 0) surroundings.states.push_back(StateAt(run, end * (seed % 7) / 7));
    if (seed % 8 != 0) surroundings.states.push_back(StateAt(run, end));
    const ValueHistory history = ValueHistory::Of(PathOf(run), surroundings);
    ASSERT_NO_FATAL_FAILURE(Check(history, run, seed));
  }
  const auto share = [](uint64_t part, uint64_t of) { return 100.0 * double(part) / double(of); };
  std::cout << instructions_
            << " instructions; proven: " << share(registers_proven_, registers_all_)
            << " % of registers, " << share(bits_proven_, 64 * registers_all_)
            << " % of their bits, " << share(bytes_proven_, bytes_all_)
            << " % of bytes at the begin\n";
  EXPECT_GT(share(registers_proven_, registers_all_), 30);
}

}  // namespace
}  // namespace flowback::test
