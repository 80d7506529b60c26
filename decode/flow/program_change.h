// SPDX-License-Identifier: MIT
// Whether the trace itself leaves room for an execve since the place at hand was last certain.
//
// The kernel's records contain when a process went on to another program, but the trace's clock may
// be wrong: one flipped bit in an MTC or CYC packet moves it by seconds. Decoding by the clock
// alone would then read the flow of the old program with the new one's code. But a program does not
// change unseen: its thread makes a system call and goes on elsewhere than behind it, or the
// kernel's own trace shows other page tables, or packets were lost.
//
//   old program: SYSCALL | tracing is off | TIP.PGE behind the SYSCALL: the same program goes on
//                SYSCALL | tracing is off | TIP.PGE elsewhere: it may be another program
//
// The clock may lag behind the records for some time. So room that there was stays, up to a PSB+
// whose TSC shows that the next program's time has not come. A PSB+ whose TSC shows that it has
// come makes room: its time needs no packet before it.
#pragma once

#include <cstdint>
#include <optional>

namespace flowback::flow {

class ProgramChange {
 public:
  // Whether the next program may run by now.
  bool possible() const { return possible_; }

  // Packets were lost, or other page tables are in use, or nothing is known yet.
  void Allow() { possible_ = true; }
  // The time of the next program has not come, or its code is in use now.
  void Forget() { possible_ = false; }
  // Tracing stopped; the same program goes on at `next`. Empty: that is not known.
  void Stop(std::optional<uint64_t> next) { next_ = next; }
  // Tracing goes on at `ip`.
  void Start(uint64_t ip) {
    possible_ |= next_ != ip;
    next_.reset();
  }

  bool operator==(const ProgramChange&) const = default;

  // All that it consists of, for a state to be written and read.
  template <class T, class Use>
  static void Parts(T& of, Use use) {
    auto& [possible, next] = of;
    use(possible, next);
  }

 private:
  bool possible_ = true;
  std::optional<uint64_t> next_;  // where the program goes on, while tracing is off
};

}  // namespace flowback::flow
