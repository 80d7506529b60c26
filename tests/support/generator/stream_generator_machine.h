// SPDX-License-Identifier: MIT
// Executes a generated program: decides branches by chance and lets things happen.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/support/generator/stream_generator_hardware.h"
#include "tests/support/generator/stream_generator_program.h"

namespace flowback::testing {

class Machine {
 public:
  Machine(const GeneratorOptions& options, const Program& program, Random& random,
          TracingHardware& hardware, GeneratedTruth& truth);

  // Runs from main's entry to the end of the stream, which it returns.
  std::vector<uint8_t> Run();

 private:
  struct Frame {
    uint32_t node;   // where control returns to
    bool interrupt;  // pushed by an interrupt or system call, not by a CALL
  };
  struct Thread {
    uint32_t at = 0;
    std::vector<Frame> frames;
    unsigned recursion_left = 0;
  };

  const Node& NodeAt(uint32_t index) const { return program_.nodes[index]; }
  const Node& Here() const { return NodeAt(thread_->at); }
  uint64_t NextAddress() const { return Here().address + Here().length; }

  void Step();
  void Conditional(const Node& node);
  bool Taken(const Node& node);
  void Go(Transfer kind, uint32_t target);
  uint32_t Choice(const Node& node);
  void Call(Transfer kind, uint32_t target);
  void Return();
  bool OddReturn();
  void SystemCall();
  void SoftInterrupt();
  void ReturnFromHandler(const Node& node);
  void BeginTransaction(const Node& node);
  void EndTransaction();
  void Abort();

  void Happen();
  void ScheduleHappening();
  void Interrupt();
  void EnterHandler();
  void OutsideUser();
  void Overflow();
  bool MayEnd() const;

  const GeneratorOptions& options_;
  const Program& program_;
  Random& random_;
  TracingHardware& hardware_;
  GeneratedTruth& truth_;
  std::vector<Thread> threads_;
  Thread* thread_;
  unsigned transaction_depth_ = 0;
  uint64_t transaction_start_ = 0;  // in instructions
  uint32_t fallback_ = 0;
  std::vector<Frame> frames_before_transaction_;
  uint64_t until_happening_ = ~uint64_t{0};
};

}  // namespace flowback::testing
