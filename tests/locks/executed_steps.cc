// SPDX-License-Identifier: MIT
#include "tests/locks/executed_steps.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/mapped_file.h"
#include "decode/instruction/effects.h"

namespace flowback {
namespace {

class Stepper {
 public:
  Stepper(pid_t pid, ExecutedSteps& steps) : pid_(pid), steps_(steps) {}

  // False: the program did not stop, or for another reason.
  bool Go(bool one_step) {
    if (ptrace(one_step ? PTRACE_SINGLESTEP : PTRACE_CONT, pid_, nullptr, nullptr) != 0)
      return false;
    int status = 0;
    return waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }

  uint64_t Here() {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid_, nullptr, &registers);
    const uint64_t address = registers.rip;
    const auto [at, added] = steps_.code.try_emplace(address);
    if (added) at->second = InstructionAt(address);
    return address;
  }

 private:
  std::vector<uint8_t> InstructionAt(uint64_t address) const {
    std::vector<uint8_t> bytes(15);
    iovec to{bytes.data(), bytes.size()};
    iovec from{reinterpret_cast<void*>(address), bytes.size()};  // NOLINT
    const ssize_t got = process_vm_readv(pid_, &to, 1, &from, 1, 0);
    InstructionEffects effects;
    const Bytes read = Bytes(bytes).first(got > 0 ? static_cast<size_t>(got) : 0);
    bytes.resize(EffectsOf(read, address, CodeMode::kX86_64, effects) ? effects.length : 1);
    return bytes;
  }

  pid_t pid_;
  ExecutedSteps& steps_;
};

// The program's code by its segments.
class StaticProgram {
 public:
  explicit StaticProgram(const std::string& path) {
    if (auto file = MappedFile::Open(path)) file_ = *std::move(file);
  }

  // Empty: the program has no bytes there.
  Bytes At(uint64_t address, size_t size) const {
    const Bytes bytes = file_ == nullptr ? Bytes() : file_->bytes();
    Elf64_Ehdr header{};
    if (bytes.size() < sizeof header) return {};
    std::memcpy(&header, bytes.data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment{};
      std::memcpy(&segment, &bytes[header.e_phoff + i * sizeof segment], sizeof segment);
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
          address + size > segment.p_vaddr + segment.p_filesz)
        continue;
      return bytes.subspan(segment.p_offset + address - segment.p_vaddr, size);
    }
    return {};
  }

 private:
  std::shared_ptr<const MappedFile> file_;
};

constexpr std::array<uint8_t, 4> kMark = {0xbf, 0x2a, 0x03, 0xd5};  // HINT 85

struct TracedStep {
  uint64_t address = 0;  // 0: the line has none
  unsigned thread = 0;
};

// Parses a line like "Trace 0: 0x7fa7abed67c0 [00009331/00000000004192a0/...] name".
TracedStep StepIn(const char* line) {
  constexpr std::string_view kBegin = "Trace ";
  const char* const at = std::strchr(line, '/');
  if (!std::string_view(line).starts_with(kBegin) || at == nullptr) return {};
  return {.address = std::strtoull(at + 1, nullptr, 16),
          .thread = static_cast<unsigned>(std::strtoul(line + kBegin.size(), nullptr, 10))};
}

}  // namespace

ExecutedSteps StepHere(const std::string& path, const std::string& argument, size_t steps,
                       const StepHook& before) {
  ExecutedSteps executed;
  const pid_t pid = fork();
  if (pid == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    execl(path.c_str(), path.c_str(), argument.c_str(), nullptr);
    _exit(1);
  }
  int status = 0;
  if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) {
    executed.error = "cannot run " + path;
    return executed;
  }
  Stepper stepper(pid, executed);
  if (!stepper.Go(false)) executed.error = path + " " + argument + " does not reach its mark";
  while (executed.error.empty() && executed.addresses.size() < steps) {
    const uint64_t here = stepper.Here();
    const std::vector<uint8_t>& code = executed.code.at(here);
    if (code.front() == 0xcc) break;
    if (before) before(pid, code);
    executed.addresses.push_back(here);
    if (!stepper.Go(true)) executed.error = path + " " + argument + " ended while it was stepped";
  }
  kill(pid, SIGKILL);
  waitpid(pid, &status, 0);
  return executed;
}

ExecutedSteps StepInQemu(const std::string& path, const std::string& argument, size_t steps) {
  ExecutedSteps executed;
  executed.mode = CodeMode::kAArch64;
  const StaticProgram program(path);
  // The C library goes through the environment before main, step by step.
  const std::string command =
      "exec env -i qemu-aarch64 -singlestep -d exec,nochain " + path + " " + argument + " 2>&1";
  FILE* const out = popen(command.c_str(), "r");
  std::array<char, 300> line{};
  unsigned marks = 0;
  unsigned thread = 0;
  while (out != nullptr && executed.addresses.size() < steps &&
         fgets(line.data(), line.size(), out) != nullptr) {
    const TracedStep step = StepIn(line.data());
    if (step.address == 0) executed.printed += line.data();
    if (step.address == 0 || marks == 2) continue;
    const Bytes code = program.At(step.address, 4);
    if (std::ranges::equal(code, kMark)) {
      ++marks;
      thread = step.thread;
    } else if (marks == 1 && step.thread == thread) {
      executed.addresses.push_back(step.address);
      const auto [at, added] = executed.code.try_emplace(step.address, 4);
      if (added) std::ranges::copy(code, at->second.begin());
    }
  }
  if (out != nullptr) pclose(out);
  if (marks == 0)
    executed.error = path + " " + argument + " does not reach its mark in qemu-aarch64";
  return executed;
}

}  // namespace flowback
