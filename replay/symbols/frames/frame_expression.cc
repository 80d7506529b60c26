// SPDX-License-Identifier: MIT
#include "replay/symbols/frames/frame_expression.h"

#include <utility>
#include <vector>

#include "replay/symbols/frames/encoded_values.h"

namespace flowback::symbols {
namespace {

class Evaluator {
 public:
  Evaluator(Bytes expression, const ExpressionInput& input)
      : whole_(expression), in_(expression, 0, input.address_bytes), input_(input) {}

  std::optional<uint64_t> Run(std::optional<uint64_t> first) {
    constexpr unsigned kMostSteps = 1000;
    if (first) stack_.push_back(*first);
    for (unsigned steps = 0; !in_.at_end(); ++steps)
      if (steps == kMostSteps || !Step() || !in_.ok() || stack_.size() > kMostSteps)
        return std::nullopt;
    if (stack_.empty()) return std::nullopt;
    return stack_.back();
  }

 private:
  bool Step() {
    const auto opcode = static_cast<uint8_t>(in_.Fixed(1));
    if (opcode >= 0x30 && opcode <= 0x4f) return Push(opcode - 0x30U);          // lit0 ...
    if (opcode >= 0x70 && opcode <= 0x8f) return PushRegister(opcode - 0x70U);  // breg0 ...
    if (opcode >= 0x08 && opcode <= 0x11) return PushConstant(opcode);
    if (opcode >= 0x1a && opcode <= 0x2e && opcode != 0x1f && opcode != 0x20 && opcode != 0x23 &&
        opcode != 0x28)
      return OfTwo(opcode);
    return StepOther(opcode);
  }

  bool StepOther(uint8_t opcode) {
    switch (opcode) {
      case 0x03:  // addr
        return Push(in_.Fixed(input_.address_bytes));
      case 0x06:
        return Load(input_.address_bytes);
      case 0x94:
        return Load(static_cast<unsigned>(in_.Fixed(1)));
      case 0x12:  // dup
        return Pick(0);
      case 0x13:
        return Pop().has_value();
      case 0x14:  // over
        return Pick(1);
      case 0x15:
        return Pick(in_.Fixed(1));
      case 0x16:
        return Swap();
      case 0x1f:  // neg
        return OfOne([](uint64_t value) { return 0 - value; });
      case 0x20:
        return OfOne([](uint64_t value) { return ~value; });
      case 0x23: {  // plus_uconst
        const uint64_t added = in_.Leb();
        return OfOne([added](uint64_t value) { return value + added; });
      }
      case 0x28:
      case 0x2f:
        return Branch(opcode == 0x28);
      case 0x92: {  // bregx
        const uint64_t reg = in_.Leb();
        return reg < 0x10000 && PushRegister(static_cast<unsigned>(reg));
      }
      case 0x96:  // nop
        return true;
      default:
        return false;
    }
  }

  // const1u, const1s, ... const8s, constu, consts
  bool PushConstant(uint8_t opcode) {
    if (opcode >= 0x10) return Push(in_.Leb(opcode == 0x11));
    const unsigned width = 1U << ((opcode - 0x08) / 2);
    return Push(opcode % 2 == 0 ? in_.Fixed(width) : in_.Signed(width));
  }
  bool PushRegister(unsigned reg) {
    const uint64_t offset = in_.Leb(true);
    const auto value = input_.register_value(reg);
    return value && Push(*value + offset);
  }
  bool Load(unsigned width) {
    const auto address = Pop();
    if (!address || width == 0 || width > 8) return false;
    const auto value = input_.memory(*address, width);
    return value && Push(*value);
  }
  bool Push(uint64_t value) {
    stack_.push_back(value);
    return true;
  }
  std::optional<uint64_t> Pop() {
    if (stack_.empty()) return std::nullopt;
    const uint64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }
  bool Pick(uint64_t depth) {
    return depth < stack_.size() && Push(stack_[stack_.size() - 1 - depth]);
  }
  bool Swap() {
    if (stack_.size() < 2) return false;
    std::swap(stack_.back(), stack_[stack_.size() - 2]);
    return true;
  }
  template <class Function>
  bool OfOne(Function function) {
    const auto value = Pop();
    return value && Push(function(*value));
  }
  bool OfTwo(uint8_t opcode) {
    const auto b = Pop();
    const auto a = Pop();
    const auto value = a && b ? Computed(opcode, *a, *b) : std::nullopt;
    return value && Push(*value);
  }
  static std::optional<uint64_t> Computed(uint8_t opcode, uint64_t a, uint64_t b) {
    const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
    switch (opcode) {
      case 0x1a:
        return a & b;
      case 0x1c:
        return a - b;
      case 0x1e:
        return a * b;
      case 0x21:
        return a | b;
      case 0x22:
        return a + b;
      case 0x24:
        return b < 64 ? a << b : 0;
      case 0x25:
        return b < 64 ? a >> b : 0;
      case 0x26:
        return static_cast<uint64_t>(x >> (b < 64 ? b : 63));
      case 0x27:
        return a ^ b;
      case 0x29:
        return a == b;
      case 0x2a:
        return x >= y;
      case 0x2b:
        return x > y;
      case 0x2c:
        return x <= y;
      case 0x2d:
        return x < y;
      case 0x2e:
        return a != b;
      default:  // divisions, which no compiler writes for a frame
        return std::nullopt;
    }
  }
  bool Branch(bool on_condition) {
    const auto distance = static_cast<int64_t>(in_.Signed(2));
    if (on_condition) {
      const auto condition = Pop();
      if (!condition) return false;
      if (*condition == 0) return true;
    }
    const auto target = static_cast<int64_t>(whole_.size() - in_.rest().size()) + distance;
    if (target < 0 || target > static_cast<int64_t>(whole_.size())) return false;
    in_ = EncodedValues(whole_, 0, input_.address_bytes);
    in_.Skip(static_cast<uint64_t>(target));
    return true;
  }

  Bytes whole_;
  EncodedValues in_;
  const ExpressionInput& input_;
  std::vector<uint64_t> stack_;
};

}  // namespace

std::optional<uint64_t> Evaluate(Bytes expression, std::optional<uint64_t> first,
                                 const ExpressionInput& input) {
  return Evaluator(expression, input).Run(first);
}

}  // namespace flowback::symbols
