// SPDX-License-Identifier: MIT
// In which mode code executes, as MODE.Exec packets say.
#pragma once

#include <optional>

#include "decode/pt/packets/packet.h"
#include "flowback/model/instruction.h"

namespace flowback::pt {

class ExecutionMode {
 public:
  // What a packet says that was not so before.
  struct Change {
    bool code = false;
    bool interrupt_flag = false;
  };

  CodeMode code() const { return code_; }
  // Only a change of the flag says something: at the first packet it had its value all the time.
  Change Take(const ModeExec& packet) {
    const Change change{.code = packet.Mode() != code_,
                        .interrupt_flag = interrupt_flag_ && *interrupt_flag_ != packet.iflag};
    code_ = packet.Mode();
    interrupt_flag_ = packet.iflag;
    return change;
  }

  // All that it consists of, for a state to be written and read.
  template <class T, class Use>
  static void Parts(T& of, Use use) {
    auto& [code, interrupt_flag] = of;
    use(code, interrupt_flag);
  }

 private:
  CodeMode code_ = CodeMode::kX86_64;
  std::optional<bool> interrupt_flag_;
};

}  // namespace flowback::pt
