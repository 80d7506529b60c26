// SPDX-License-Identifier: MIT
// Each instruction changes a rule, or moves on in the code; those up to the address count.
#include "replay/symbols/frames/frame_rules.h"

#include <vector>

namespace flowback::symbols {
namespace {

using Kind = FrameRule::Kind;

class Interpreter {
 public:
  Interpreter(const FrameProgram& program, uint64_t address)
      : program_(program), address_(address), at_(program.begin) {
    rules_.return_register = program.return_register;
    rules_.of_signal = program.of_signal;
  }

  bool RunCommon() {
    if (!Run(program_.common, program_.common_address)) return false;
    initial_ = rules_;
    return true;
  }
  bool RunOwn() { return Run(program_.own, program_.own_address); }
  const FrameRules& rules() const { return rules_; }

 private:
  static constexpr size_t kMostRemembered = 64;
  static constexpr unsigned kMostSteps = 1 << 14;  // the largest functions have some hundreds

  bool Run(Bytes code, uint64_t address) {
    EncodedValues in(code, address, program_.address_bytes);
    while (in.ok() && !in.at_end() && at_ <= address_)
      if (++steps_ > kMostSteps || !Step(in)) return false;
    return in.ok();
  }

  bool Step(EncodedValues& in) {
    const auto opcode = static_cast<uint8_t>(in.Fixed(1));
    const unsigned low = opcode & 0x3f;
    switch (opcode >> 6) {
      case 1:
        return Advance(low);
      case 2:
        return Set(low, {Kind::kAtCfa, Scaled(in.Leb())});
      case 3:
        return Restore(low);
      default:
        return StepOther(opcode, in);
    }
  }

  bool StepOther(uint8_t opcode, EncodedValues& in) {
    switch (opcode) {
      case 0x00:  // nop
        return true;
      case 0x01:  // set_loc
        at_ = in.Pointer(program_.pointers);
        return true;
      case 0x02:
      case 0x03:
      case 0x04:  // advance_loc1, 2, 4
        return Advance(in.Fixed(1U << (opcode - 2)));
      case 0x0a:
        return Remember();
      case 0x0b:
        return Recall();
      case 0x2d:  // AArch64: whether the return address is signed; elsewhere of SPARC
        rules_.is_signed = !rules_.is_signed;
        return program_.is_aarch64;
      case 0x2e:  // how many bytes of arguments were pushed
        in.Leb();
        return true;
      default:
        return opcode >= 0x0c && opcode <= 0x13 && opcode != 0x10 && opcode != 0x11
                   ? DefineCfa(opcode, in)
                   : DefineRegister(opcode, in);
    }
  }

  bool DefineCfa(uint8_t opcode, EncodedValues& in) {
    switch (opcode) {
      case 0x0c:  // def_cfa
      case 0x12:  // def_cfa_sf
        rules_.cfa_register = static_cast<unsigned>(in.Leb());
        rules_.cfa_offset = opcode == 0x0c ? static_cast<int64_t>(in.Leb()) : Scaled(in.Leb(true));
        break;
      case 0x0d:
        rules_.cfa_register = static_cast<unsigned>(in.Leb());
        break;
      case 0x0e:
        rules_.cfa_offset = static_cast<int64_t>(in.Leb());
        break;
      case 0x13:
        rules_.cfa_offset = Scaled(in.Leb(true));
        break;
      default:
        rules_.cfa_expression = in.Take(in.Leb());
        return !rules_.cfa_expression.empty();
    }
    rules_.cfa_expression = {};
    return true;
  }

  bool DefineRegister(uint8_t opcode, EncodedValues& in) {
    const uint64_t reg = in.Leb();
    switch (opcode) {
      case 0x05:  // offset_extended
        return Set(reg, {Kind::kAtCfa, Scaled(in.Leb())});
      case 0x06:  // restore_extended
        return Restore(reg);
      case 0x07:
        return Set(reg, {Kind::kUndefined});
      case 0x08:
        return Set(reg, {Kind::kSame});
      case 0x09:
        return Set(reg, {Kind::kRegister, static_cast<int64_t>(in.Leb())});
      case 0x10:
        return Set(reg, {Kind::kAtExpression, 0, in.Take(in.Leb())});
      case 0x11:  // offset_extended_sf
        return Set(reg, {Kind::kAtCfa, Scaled(in.Leb(true))});
      case 0x14:
        return Set(reg, {Kind::kIsCfa, Scaled(in.Leb())});
      case 0x15:
        return Set(reg, {Kind::kIsCfa, Scaled(in.Leb(true))});
      case 0x16:
        return Set(reg, {Kind::kIsExpression, 0, in.Take(in.Leb())});
      case 0x2f:  // GNU: negative_offset_extended
        return Set(reg, {Kind::kAtCfa, -Scaled(in.Leb())});
      default:
        return false;
    }
  }

  int64_t Scaled(uint64_t count) const {
    return static_cast<int64_t>(count * static_cast<uint64_t>(program_.data_unit));
  }
  bool Advance(uint64_t count) {
    at_ += count * program_.code_unit;
    return true;
  }
  // Registers that are not followed, such as those of vectors, are passed over.
  bool Set(uint64_t reg, const FrameRule& rule) {
    if (reg < kFrameRegisters) rules_.registers[reg] = rule;
    return true;
  }
  bool Restore(uint64_t reg) { return reg >= kFrameRegisters || Set(reg, initial_.registers[reg]); }
  bool Remember() {
    if (remembered_.size() == kMostRemembered) return false;
    remembered_.push_back(rules_);
    return true;
  }
  bool Recall() {
    if (remembered_.empty()) return false;
    rules_ = remembered_.back();
    remembered_.pop_back();
    return true;
  }

  const FrameProgram& program_;
  const uint64_t address_;
  uint64_t at_;
  FrameRules rules_;
  FrameRules initial_;
  std::vector<FrameRules> remembered_;
  unsigned steps_ = 0;
};

}  // namespace

std::optional<FrameRules> RulesAt(const FrameProgram& program, uint64_t address) {
  Interpreter interpreter(program, address);
  if (!interpreter.RunCommon() || !interpreter.RunOwn()) return std::nullopt;
  return interpreter.rules();
}

}  // namespace flowback::symbols
