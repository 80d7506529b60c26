// SPDX-License-Identifier: MIT
#include "replay/coverage/reachable_code.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "decode/code/images/image_search.h"
#include "decode/code/images/image_store.h"
#include "flowback/base/bytes.h"
#include "replay/symbols/elf/code_references.h"

namespace flowback {
namespace {

using symbols::CodeReferences;

constexpr size_t kOperandBytes = 4;

CodeReferences ReferencesOf(const ObjectImage& image) {
  const auto file = symbols::SymbolFile::Open(image.file(), image.bytes(), image.content());
  return file == nullptr ? CodeReferences() : CodeReferences::Read(*file);
}

// Follows control through the functions of one object.
class CodeReach {
 public:
  CodeReach(const ObjectImage& image, const StaticCode& code, bool is_movable)
      : image_(image),
        code_(code),
        functions_(code.functions()),
        is_movable_(is_movable),
        reached_(functions_.size()),
        parts_(functions_.size()) {
    for (uint32_t i = 0; i < functions_.size(); ++i) parts_[functions_[i].whole].push_back(i);
  }

  // Control comes to the function that has `address`.
  void Add(uint64_t address) {
    if (const StaticFunction* function = code_.FunctionAt(address)) AddFunction(function);
  }
  // The address is used in a way that is not known. Inside of a function, of a program at fixed
  // addresses, it is an entry of a table for a switch of that function.
  void AddPointer(uint64_t address) {
    const StaticFunction* function = code_.FunctionAt(address);
    if (function == nullptr) return;
    if (is_movable_ || IsEntry(*function, address)) AddFunction(function);
  }

  std::vector<bool> Run() {
    while (!pending_.empty()) {
      const StaticFunction& function = functions_[pending_.back()];
      pending_.pop_back();
      AddFunction(&functions_[function.whole]);
      for (const uint32_t part : parts_[function.whole]) AddFunction(&functions_[part]);
      FollowInstructions(function);
      FollowUncertain(function);
    }
    return std::move(reached_);
  }

 private:
  static bool IsEntry(const StaticFunction& function, uint64_t address) {
    return function.begin == address || function.source == StaticFunction::Source::kWholeSection;
  }

  void AddFunction(const StaticFunction* function) {
    const auto number = static_cast<uint32_t>(function - functions_.data());
    if (reached_[number]) return;
    reached_[number] = true;
    pending_.push_back(number);
  }

  std::span<const StaticCodeBlock> BlocksOf(const StaticFunction& function) const {
    return code_.blocks().subspan(function.first_block, function.block_count);
  }

  void FollowInstructions(const StaticFunction& function) {
    const StaticInstruction* last = nullptr;
    for (const StaticCodeBlock& block : BlocksOf(function))
      for (const StaticInstruction& each : code_.instructions().subspan(block.first, block.count)) {
        if (IsDirect(each.kind)) Add(each.target);
        FollowOperands(each.address, each.length);
        last = &each;
      }
    // Hand-written code goes on in the function behind it.
    if (last != nullptr &&
        (last->kind == InstructionClass::kOther || last->kind == InstructionClass::kConditional))
      Add(last->address + last->length);
  }

  // Operands that are addresses are four bytes: a distance from the next instruction, behind the
  // byte that says so, or, in programs at fixed addresses, the address itself, which may be of
  // eight.
  void FollowOperands(uint64_t address, uint64_t length) {
    const Bytes bytes = Slice(image_.CodeAt(address), 0, length);
    for (size_t at = 1; at + kOperandBytes <= bytes.size(); ++at) {
      if (IsDistance(bytes[at - 1])) AddDistance(WordAt(bytes, at), address + bytes.size());
      if (!is_movable_) AddEntry(WordAt(bytes, at));
    }
    constexpr size_t kLong = 8;
    if (!is_movable_ && bytes.size() > kLong)
      AddEntry(LoadLittleEndian(bytes.data() + bytes.size() - kLong, kLong));
  }

  // ModRM with mod 0 and rm 5.
  static bool IsDistance(uint8_t before) { return (before & 0xc7) == 0x05; }
  // CALL, JMP, or the second byte of a conditional branch.
  static bool IsBranch(uint8_t before) {
    return before == 0xe8 || before == 0xe9 || (before & 0xf0) == 0x80;
  }
  static uint32_t WordAt(Bytes bytes, size_t at) {
    return static_cast<uint32_t>(LoadLittleEndian(bytes.data() + at, kOperandBytes));
  }
  void AddDistance(uint32_t word, uint64_t next) {
    AddEntry(next + static_cast<uint64_t>(int64_t{static_cast<int32_t>(word)}));
  }

  void AddEntry(uint64_t address) {
    const StaticFunction* function = code_.FunctionAt(address);
    if (function != nullptr && IsEntry(*function, address)) AddFunction(function);
  }

  // Where no instruction is known, one may begin at any byte.
  void FollowUncertain(const StaticFunction& function) {
    if (function.uncertain_bytes == 0) return;
    const Bytes bytes = Slice(image_.CodeAt(function.begin), 0, function.end - function.begin);
    for (size_t at = 1; at + kOperandBytes <= bytes.size(); ++at) {
      const uint32_t word = WordAt(bytes, at);
      const uint64_t next = function.begin + at + kOperandBytes;
      if (IsBranch(bytes[at - 1])) AddDistance(word, next);
      constexpr size_t kMostBehind = 4;  // bytes of an operand behind the distance
      if (IsDistance(bytes[at - 1]))
        for (size_t behind = 0; behind <= kMostBehind; ++behind) AddDistance(word, next + behind);
      if (!is_movable_) AddEntry(word);
    }
  }

  const ObjectImage& image_;
  const StaticCode& code_;
  std::span<const StaticFunction> functions_;
  const bool is_movable_;
  std::vector<bool> reached_;
  std::vector<std::vector<uint32_t>> parts_;  // of a whole function, by its number
  std::vector<uint32_t> pending_;
};

bool AsksForNamesAtRunTime(const CodeReferences& references) {
  const bool is_own = references.soname.starts_with("libc.so") ||
                      references.soname.starts_with("ld-") ||
                      references.soname.starts_with("libdl.so");
  return !is_own && (references.names.contains("dlsym") || references.names.contains("dlvsym"));
}

}  // namespace

ReachableCode::ReachableCode(const CoverageCounts& counts, const Open& open) {
  for (const ObjectCounts& object : counts.objects) {
    // The vDSO calls no other code.
    if (object.id.made_at_run_time || object.id.path == kVdso) continue;
    const Result<ObjectImage> image = open(object.id);
    CodeReferences references = image ? ReferencesOf(*image) : CodeReferences();
    any_export_ |= !references.known || AsksForNamesAtRunTime(references);
    names_.merge(references.names);
    const auto number = static_cast<uint32_t>(objects_.size());
    for (const std::string& word : references.words)
      if (const auto [known, is_new] = words_.emplace(word, number); !is_new)
        known->second = kSeveral;
    needed_.insert(references.needed.begin(), references.needed.end());
    references.names = references.words = {};
    objects_.push_back({object.id, std::move(references)});
  }
}

// A file that looks its own names up asks for dlsym itself.
bool ReachableCode::IsAskedFor(const std::string& name, uint32_t object) const {
  if (any_export_ || names_.contains(name)) return true;
  const auto word = words_.find(name);
  return word != words_.end() && word->second != object;
}

std::vector<bool> ReachableCode::Of(const ObjectImage& image, const StaticCode& code,
                                    const std::vector<uint64_t>& times) const {
  if (image.mode() != CodeMode::kX86_64) return {};
  const auto own = std::ranges::find_if(
      objects_, [&](const Object& object) { return object.id.SameObject(image.id()); });
  // The constructor leaves the vDSO out.
  std::optional<CodeReferences> left_out;
  if (own == objects_.end()) left_out = ReferencesOf(image);
  const CodeReferences& references = left_out ? *left_out : own->references;
  if (!references.known) return {};
  CodeReach reach(image, code, image.content()->elf && image.content()->elf->position_independent);
  const std::string name(BaseName(image.id().path));
  const auto number = static_cast<uint32_t>(own - objects_.begin());
  const bool is_loaded_by_name =
      !references.is_program && !needed_.contains(references.soname) && !needed_.contains(name);
  for (const auto& [symbol, address] : references.exports)
    if (is_loaded_by_name || IsAskedFor(symbol, number)) reach.Add(address);
  for (const uint64_t address : references.pointers) reach.AddPointer(address);
  for (const StaticFunction& function : code.functions())
    if (function.linkage_name.find("personality") != std::string::npos) reach.Add(function.begin);
  for (size_t i = 0; i < times.size(); ++i)
    if (times[i] != 0) reach.Add(code.instructions()[i].address);
  return reach.Run();
}

}  // namespace flowback
