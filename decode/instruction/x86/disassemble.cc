// SPDX-License-Identifier: MIT
// Intel syntax, because it is what the manuals use and what capstone, Zydis and LLVM agree on best.
#include "decode/instruction/x86/disassemble.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <new>

#include "decode/instruction/capstone_library.h"
#include "decode/instruction/x86/llvm_fallback.h"
#include "decode/instruction/x86/machine_modes.h"

namespace flowback::x86 {
namespace {

struct Alias {
  std::string_view capstone;
  std::string_view zydis;
};

constexpr Alias kAliases[] = {
#define FLOWBACK_ALIAS(capstone, zydis) {capstone, zydis},
#include "decode/instruction/x86/mnemonic_aliases.def"
#undef FLOWBACK_ALIAS
};

// capstone writes the predicate of a floating-point comparison into its name: "cmpltsd" is CMPSD.
bool IsComparison(std::string_view capstone, std::string_view zydis) {
  const std::string_view stem = zydis.substr(0, zydis.size() - std::min<size_t>(2, zydis.size()));
  if (stem != "cmp" && stem != "vcmp") return false;
  return capstone.starts_with(stem) && capstone.ends_with(zydis.substr(stem.size()));
}

// One of capstone's handles with the instruction it decodes into.
class CapstoneDecoder {
 public:
  explicit CapstoneDecoder(cs_mode mode) {
    if (library_.open == nullptr || library_.open(CS_ARCH_X86, mode, &handle_) != CS_ERR_OK) return;
    instruction_ = library_.allocate(handle_);
    // capstone sorts tables of its own when it first decodes, and without a lock.
    [[maybe_unused]] static const bool kSorted = DecodeNop();
    DecodeNop();
  }
  ~CapstoneDecoder() {
    if (instruction_ != nullptr) library_.free(instruction_, 1);
    if (handle_ != 0) library_.close(&handle_);
  }
  CapstoneDecoder(const CapstoneDecoder&) = delete;
  CapstoneDecoder& operator=(const CapstoneDecoder&) = delete;

  const cs_insn* Decode(Bytes code, uint64_t address) {
    if (instruction_ == nullptr) return nullptr;
    const uint8_t* at = code.data();
    size_t size = code.size();
    return library_.decode(handle_, &at, &size, &address, instruction_) ? instruction_ : nullptr;
  }

  // When a handle first decodes, capstone makes a table for it and does not look whether it got the
  // memory. This takes as much memory for a moment: std::bad_alloc if it cannot be had.
  bool DecodeNop() {
    constexpr size_t kTable = size_t{64} << 10;
    constexpr uint8_t kNop[] = {0x90};
    ::operator delete(::operator new(kTable));
    return Decode(kNop, 0) != nullptr;
  }

  // The mnemonic without its prefixes.
  const char* Name(const cs_insn& instruction) const {
    const char* name = library_.name(handle_, instruction.id);
    return name == nullptr ? "" : name;
  }

 private:
  const CapstoneLibrary& library_ = CapstoneLibrary::Get();
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

class ZydisTextDecoder {
 public:
  explicit ZydisTextDecoder(const MachineMode& machine) {
    ZydisDecoderInit(&decoder_, machine.mode, machine.width);
    ZydisFormatterInit(&formatter_, ZYDIS_FORMATTER_STYLE_INTEL);
    // As capstone writes numbers.
    for (const auto property :
         {ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
          ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING})
      ZydisFormatterSetProperty(&formatter_, property, ZYDIS_PADDING_DISABLED);
    ZydisFormatterSetProperty(&formatter_, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
  }

  bool Decode(Bytes code) {
    return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, code.data(), code.size(), &instruction_,
                                               operands_.data()));
  }
  unsigned length() const { return instruction_.length; }
  const char* Name() const { return ZydisMnemonicGetString(instruction_.mnemonic); }
  std::string Text(uint64_t address) const {
    std::array<char, 256> text{};
    const ZyanStatus status = ZydisFormatterFormatInstruction(
        &formatter_, &instruction_, operands_.data(), instruction_.operand_count_visible,
        text.data(), text.size(), address, nullptr);
    return ZYAN_SUCCESS(status) ? text.data() : Name();
  }

 private:
  ZydisDecoder decoder_;
  ZydisFormatter formatter_;
  ZydisDecodedInstruction instruction_;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands_;
};

std::string CapstoneText(const cs_insn& instruction) {
  std::string text = instruction.mnemonic;
  // The mnemonic of an instruction without operands may end with a space after its prefix.
  while (text.ends_with(' ')) text.pop_back();
  if (instruction.op_str[0] != '\0') text += std::string(" ") + instruction.op_str;
  return text;
}

}  // namespace

struct Disassembler::Engines {
  CapstoneDecoder capstone[kModes] = {CapstoneDecoder(CS_MODE_64), CapstoneDecoder(CS_MODE_32),
                                      CapstoneDecoder(CS_MODE_16)};
  ZydisTextDecoder zydis[kModes] = {ZydisTextDecoder(kMachineModes[0]),
                                    ZydisTextDecoder(kMachineModes[1]),
                                    ZydisTextDecoder(kMachineModes[2])};
};

Disassembler::Disassembler() : engines_(std::make_unique<Engines>()) {}
Disassembler::~Disassembler() = default;

std::string Disassembler::Text(Bytes code, uint64_t address, CodeMode mode) {
  code = code.first(std::min<size_t>(code.size(), TraitsOf(mode).longest_instruction));
  if (code.empty()) return "(bad)";
  const size_t index = IndexOf(mode);
  CapstoneDecoder& capstone = engines_->capstone[index];
  ZydisTextDecoder& zydis = engines_->zydis[index];
  if (!zydis.Decode(code)) {
    std::string text;
    return LlvmDisassemble(code, address, mode, &text) != 0 ? text : "(bad)";
  }
  const cs_insn* instruction = capstone.Decode(code, address);
  if (instruction == nullptr || instruction->size != zydis.length() ||
      !AreSameMnemonic(capstone.Name(*instruction), zydis.Name()))
    return zydis.Text(address);
  return CapstoneText(*instruction);
}

bool AreSameMnemonic(std::string_view capstone, std::string_view zydis) {
  if (capstone == zydis || IsComparison(capstone, zydis)) return true;
  return std::any_of(std::begin(kAliases), std::end(kAliases), [&](const Alias& alias) {
    return alias.capstone == capstone && alias.zydis == zydis;
  });
}

}  // namespace flowback::x86
