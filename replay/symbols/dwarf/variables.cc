// SPDX-License-Identifier: MIT
#include "replay/symbols/dwarf/variables.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/DebugInfo/DWARF/DWARFCompileUnit.h>
#include <llvm/DebugInfo/DWARF/DWARFDie.h>
#include <llvm/DebugInfo/DWARF/DWARFTypePrinter.h>
#include <llvm/DebugInfo/DWARF/DWARFUnit.h>
#include <llvm/Support/raw_ostream.h>

#include <string>

namespace flowback::symbols {
namespace {

using llvm::DWARFDie;
namespace dwarf = llvm::dwarf;
using Kind = VariableInfo::Kind;

constexpr unsigned kMostNested = 100;      // of nested blocks, and of names for one type
constexpr size_t kMostVariables = 10'000;  // of one address

class Finder {
 public:
  Finder(uint64_t address, const std::function<void(llvm::Error)>& note)
      : address_(address), note_(note) {}

  void AddFunction(const DWARFDie& function, uint32_t level) { AddBlock(function, level, 0); }
  VariablesInfo& info() { return info_; }

 private:
  void AddBlock(const DWARFDie& block, uint32_t level, unsigned depth) {
    if (depth > kMostNested) return;
    for (const DWARFDie& child : block.children()) {
      if (info_.variables.size() >= kMostVariables) return;
      const dwarf::Tag tag = child.getTag();
      if (tag == dwarf::DW_TAG_formal_parameter || tag == dwarf::DW_TAG_variable)
        AddVariable(child, level);
      if (tag == dwarf::DW_TAG_lexical_block && child.addressRangeContainsAddress(address_))
        AddBlock(child, level, depth + 1);
    }
  }

  void AddVariable(const DWARFDie& die, uint32_t level) {
    const char* name = die.getName(llvm::DINameKind::ShortName);
    if (name == nullptr || die.find(dwarf::DW_AT_declaration)) return;
    VariableInfo variable;
    variable.name = name;
    variable.level = level;
    DescribeType(TypeOf(die), variable);
    if (const auto constant = die.find(dwarf::DW_AT_const_value))
      variable.constant = ConstantOf(*constant);
    if (die.find(dwarf::DW_AT_location)) variable.location = LocationOf(die);
    info_.variables.push_back(std::move(variable));
  }

  // An inlined variable has its type in the function itself.
  static DWARFDie TypeOf(const DWARFDie& die) {
    if (DWARFDie type = die.getAttributeValueAsReferencedDie(dwarf::DW_AT_type)) return type;
    const DWARFDie origin = die.getAttributeValueAsReferencedDie(dwarf::DW_AT_abstract_origin);
    return origin ? origin.getAttributeValueAsReferencedDie(dwarf::DW_AT_type) : DWARFDie();
  }

  static std::optional<int64_t> ConstantOf(const llvm::DWARFFormValue& value) {
    if (const auto number = value.getAsSignedConstant()) return *number;
    if (const auto number = value.getAsUnsignedConstant()) return static_cast<int64_t>(*number);
    // A float's bytes.
    const auto block = value.getAsBlock();
    if (!block || block->size() > sizeof(uint64_t)) return std::nullopt;
    uint64_t bytes = 0;
    for (size_t i = block->size(); i-- > 0;) bytes = (bytes << 8) | (*block)[i];
    return static_cast<int64_t>(bytes);
  }

  std::string LocationOf(const DWARFDie& die) {
    auto locations = die.getLocations(dwarf::DW_AT_location);
    if (!locations) {
      note_(locations.takeError());
      return {};
    }
    for (const llvm::DWARFLocationExpression& each : *locations) {
      const bool holds =
          !each.Range || (each.Range->LowPC <= address_ && address_ < each.Range->HighPC);
      if (holds) return {each.Expr.begin(), each.Expr.end()};
    }
    return {};
  }

  static void DescribeType(DWARFDie type, VariableInfo& variable) {
    if (!type) return;
    llvm::raw_string_ostream text(variable.type);
    llvm::DWARFTypePrinter(text).appendQualifiedName(type);
    for (unsigned i = 0; i < kMostNested && type && IsName(type.getTag()); ++i)
      type = type.getAttributeValueAsReferencedDie(dwarf::DW_AT_type);
    if (!type) return;
    variable.kind = KindOf(type);
    const uint64_t address_bytes = type.getDwarfUnit()->getAddressByteSize();
    const uint64_t usual = variable.kind == Kind::kPointer ? address_bytes : 0;
    variable.bytes =
        static_cast<uint32_t>(dwarf::toUnsigned(type.find(dwarf::DW_AT_byte_size), usual));
  }

  static bool IsName(dwarf::Tag tag) {
    return tag == dwarf::DW_TAG_typedef || tag == dwarf::DW_TAG_const_type ||
           tag == dwarf::DW_TAG_volatile_type || tag == dwarf::DW_TAG_restrict_type ||
           tag == dwarf::DW_TAG_atomic_type;
  }

  static Kind KindOf(const DWARFDie& type) {
    switch (type.getTag()) {
      case dwarf::DW_TAG_pointer_type:
      case dwarf::DW_TAG_reference_type:
      case dwarf::DW_TAG_rvalue_reference_type:
        return Kind::kPointer;
      case dwarf::DW_TAG_enumeration_type:
        return Kind::kSigned;
      case dwarf::DW_TAG_base_type:
        return KindOfEncoding(dwarf::toUnsigned(type.find(dwarf::DW_AT_encoding), 0));
      default:
        return Kind::kOther;
    }
  }

  static Kind KindOfEncoding(uint64_t encoding) {
    switch (encoding) {
      case dwarf::DW_ATE_signed:
        return Kind::kSigned;
      case dwarf::DW_ATE_unsigned:
        return Kind::kUnsigned;
      case dwarf::DW_ATE_float:
        return Kind::kFloat;
      case dwarf::DW_ATE_boolean:
        return Kind::kBool;
      case dwarf::DW_ATE_signed_char:
      case dwarf::DW_ATE_unsigned_char:
        return Kind::kCharacter;
      default:
        return Kind::kOther;
    }
  }

  const uint64_t address_;
  const std::function<void(llvm::Error)>& note_;
  VariablesInfo info_;
};

}  // namespace

VariablesInfo VariablesAt(llvm::DWARFContext& context, uint64_t address,
                          const std::function<void(llvm::Error)>& note) {
  Finder finder(address, note);
  llvm::DWARFCompileUnit* unit = context.getCompileUnitForCodeAddress(address);
  if (unit == nullptr) return {};
  llvm::SmallVector<DWARFDie, 4> chain;
  unit->getInlinedChainForAddress(address, chain);
  for (uint32_t level = 0; level < chain.size(); ++level) finder.AddFunction(chain[level], level);
  if (chain.empty()) return {};
  if (const auto base = chain.back().find(dwarf::DW_AT_frame_base))
    if (const auto block = base->getAsBlock())
      finder.info().frame_base.assign(block->begin(), block->end());
  return std::move(finder.info());
}

}  // namespace flowback::symbols
