// SPDX-License-Identifier: MIT
// Words for the model's enumerations, generated from their tables.
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"

namespace flowback {

const char* Name(EventKind kind) {
  switch (kind) {
#define FLOWBACK_EVENT(name, text, meaning) \
  case EventKind::name:                     \
    return text;
#include "flowback/model/events.def"
#undef FLOWBACK_EVENT
  }
  return "?";
}

const char* Name(LossCause cause) {
  switch (cause) {
#define FLOWBACK_LOSS(name, kind, text, remedy) \
  case LossCause::name:                         \
    return text;
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
  }
  return "?";
}

LossClass ClassOf(LossCause cause) {
  switch (cause) {
#define FLOWBACK_LOSS(name, kind, text, remedy) \
  case LossCause::name:                         \
    return LossClass::kind;
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
  }
  return LossClass::kLost;
}

const char* Remedy(LossCause cause) {
  switch (cause) {
#define FLOWBACK_LOSS(name, kind, text, remedy) \
  case LossCause::name:                         \
    return remedy;
#include "flowback/model/loss_causes.def"
#undef FLOWBACK_LOSS
  }
  return "";
}

const char* Name(InstructionClass kind) {
  switch (kind) {
    case InstructionClass::kOther:
      return "other";
    case InstructionClass::kConditional:
      return "conditional";
    case InstructionClass::kJump:
      return "jump";
    case InstructionClass::kCall:
      return "call";
    case InstructionClass::kIndirectJump:
      return "indirect jump";
    case InstructionClass::kIndirectCall:
      return "indirect call";
    case InstructionClass::kReturn:
      return "return";
    case InstructionClass::kFarCall:
      return "far call";
    case InstructionClass::kFarJump:
      return "far jump";
    case InstructionClass::kFarReturn:
      return "far return";
  }
  return "?";
}

std::string BuildId::ToHex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace flowback
