// SPDX-License-Identifier: MIT
// BOLT's profile of functions: a line for each branch that was taken and for each step from one
// basic block to the next, by function and offset in it.
//
//   1 main 5d 1 qsort@PLT 0 0 1        from, to, wrongly predicted, times
//   1 main 1c 1 main 1f 0 17           no branch taken
//   0 [unknown] 0 1 main 62 0 1        from another file
//
// As perf2bolt makes it, it leaves out returns, whose times are those of the calls, and branches
// within stubs, which BOLT does not rewrite.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>

#include "flowback/replay/static_code.h"
#include "replay/profile/compiler_profile.h"
#include "replay/symbols/elf/bolt_names.h"
#include "replay/symbols/elf/symbol_file.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

// A blank would end the name, a line feed the line.
std::string Escaped(std::string_view name) {
  std::string text;
  for (const char each : name) {
    if (each == ' ' || each == '\\') text += '\\';
    text += each == '\n' ? '?' : each;
  }
  return text;
}

class FunctionPlaces {
 public:
  FunctionPlaces(const StaticCode& code, const symbols::SymbolFile& file)
      : code_(code), names_(symbols::BoltNames(file)) {}

  bool empty() const { return names_.empty(); }
  // The place as the profile has it; empty: in no function that has a name there.
  std::string Of(uint64_t address) const {
    const StaticFunction* function = code_.FunctionAt(address);
    if (function == nullptr) return {};
    if (function->is_stub) return StubName(*function, address);
    const auto name = names_.find(function->begin);
    if (name == names_.end()) return {};
    return fmt::format("1 {} {:x}", Escaped(name->second), address - function->begin);
  }
  bool IsStub(uint64_t address) const {
    const StaticFunction* function = code_.FunctionAt(address);
    return function != nullptr && function->is_stub;
  }

 private:
  static std::string StubName(const StaticFunction& stub, uint64_t address) {
    const std::string_view name = stub.linkage_name;
    const size_t end = name.rfind("@plt");
    if (end == name.npos) return {};
    return fmt::format("1 {}@PLT {:x}", Escaped(name.substr(0, end)), address - stub.begin);
  }

  const StaticCode& code_;
  const std::map<uint64_t, std::string> names_;
};

constexpr const char* kOutside = "0 [unknown] 0";

class FdataWriter {
 public:
  FdataWriter(const CompilerProfile& profile, const StaticCode& code, const FunctionPlaces& places)
      : profile_(profile), code_(code), places_(places) {}

  void Write(TextSink& sink) {
    for (const ProfileBranch& branch : profile_.branches) AddBranch(branch);
    for (const ProfileRange& range : profile_.ranges) AddSteps(range);
    for (const auto& [ends, times] : steps_) Add(ends.first, ends.second, 0, times);
    for (const auto& [text, counts] : lines_)
      fmt::format_to(std::back_inserter(sink.buffer()), "{} {} {}\n", text, counts.first,
                     counts.second);
    sink.Commit();
  }

 private:
  void AddBranch(const ProfileBranch& branch) {
    if (!branch.from_outside && branch.kind == InstructionClass::kReturn) return;
    const std::string from = branch.from_outside ? kOutside : places_.Of(branch.from);
    const std::string to = branch.to_outside ? kOutside : places_.Of(branch.to);
    if (!branch.from_outside && places_.IsStub(branch.from)) return;
    Add(from, to, branch.wrong, branch.times);
  }
  // From each block that the range goes through to the next.
  void AddSteps(const ProfileRange& range) {
    const auto blocks = code_.blocks();
    auto block = std::ranges::upper_bound(blocks, range.begin, {}, &StaticCodeBlock::begin);
    if (block == blocks.begin()) return;
    for (--block; block != blocks.end() && block->end <= range.end; ++block) {
      if (block->end <= range.begin || block->count == 0) continue;
      const StaticInstruction& last = code_.instructions()[block->first + block->count - 1];
      steps_[{last.address, block->end}] += range.times;
    }
  }
  void Add(uint64_t from, uint64_t to, uint64_t wrong, uint64_t times) {
    if (!places_.IsStub(from)) Add(places_.Of(from), places_.Of(to), wrong, times);
  }
  void Add(const std::string& from, const std::string& to, uint64_t wrong, uint64_t times) {
    if (from.empty() || to.empty() || (from == kOutside && to == kOutside)) return;
    auto& counts = lines_[from + ' ' + to];
    counts.first += wrong;
    counts.second += times;
  }

  const CompilerProfile& profile_;
  const StaticCode& code_;
  const FunctionPlaces& places_;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> steps_;
  std::map<std::string, std::pair<uint64_t, uint64_t>> lines_;
};

}  // namespace

Status WriteFdata(const ProfileExport& input, TextSink& sink) {
  const CompilerProfile& profile = input.profile;
  const ObjectImage& image = *profile.image;
  const auto file = symbols::SymbolFile::Open(image.file(), image.bytes(), image.content());
  const Result<StaticCode> code = StaticCode::Of(image, input.search);
  if (!code) return Fail(code.error());
  if (file == nullptr)
    return Fail(Error(ErrorCode::kUnreadable, image.file() + ": its symbols can't be read"));
  const FunctionPlaces places(*code, *file);
  if (places.empty())
    return Fail(Error(ErrorCode::kUnsupported,
                      "export: " + image.file() +
                          " has no table of symbols, and BOLT knows its functions by name")
                    .Remedy("record the program as the linker made it, ahead of strip; "
                            "--to bolt-preagg needs no names"));
  FdataWriter(profile, *code, places).Write(sink);
  return {};
}

}  // namespace flowback
