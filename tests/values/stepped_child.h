// SPDX-License-Identifier: MIT
// A child process whose code this process writes, and runs instruction by instruction: the
// processor itself has the registers and memory.
#pragma once

#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

namespace flowback::test {

class SteppedChild {
 public:
  static constexpr size_t kCodeSize = 1 << 16;
  static constexpr size_t kDataSize = 4096;

  // Null: this machine does not let a process trace its child.
  static std::unique_ptr<SteppedChild> Start() {
    auto child = std::unique_ptr<SteppedChild>(new SteppedChild());
    return child->IsReady() ? std::move(child) : nullptr;
  }
  SteppedChild(const SteppedChild&) = delete;
  SteppedChild& operator=(const SteppedChild&) = delete;
  ~SteppedChild() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (code_ != MAP_FAILED) munmap(code_, kCodeSize);
    if (data_ != MAP_FAILED) munmap(data_, kDataSize);
  }

  // Both are shared with the child.
  std::span<uint8_t> code() { return {static_cast<uint8_t*>(code_), kCodeSize}; }
  std::span<uint8_t> data() { return {static_cast<uint8_t*>(data_), kDataSize}; }

  bool Set(const user_regs_struct& registers) {
    return ptrace(PTRACE_SETREGS, pid_, nullptr, &registers) == 0;
  }
  user_regs_struct Registers() const {
    user_regs_struct registers{};
    ptrace(PTRACE_GETREGS, pid_, nullptr, &registers);
    return registers;
  }
  // One instruction, or one iteration of one that repeats. False: it was stopped by something else.
  bool Step() {
    int status = 0;
    return ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr) == 0 &&
           waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
  }

 private:
  SteppedChild() {
    const int all = PROT_READ | PROT_WRITE | PROT_EXEC;
    // 32-bit code reaches all of it.
    const int kind = MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT;
    code_ = mmap(nullptr, kCodeSize, all, kind, -1, 0);
    data_ = mmap(nullptr, kDataSize, PROT_READ | PROT_WRITE, kind, -1, 0);
    if (code_ == MAP_FAILED || data_ == MAP_FAILED) return;
    pid_ = fork();
    if (pid_ != 0) return;
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(0);
  }
  bool IsReady() const {
    int status = 0;
    return pid_ > 0 && waitpid(pid_, &status, 0) == pid_ && WIFSTOPPED(status);
  }

  void* code_ = MAP_FAILED;
  void* data_ = MAP_FAILED;
  pid_t pid_ = -1;
};

}  // namespace flowback::test
