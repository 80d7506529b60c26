// SPDX-License-Identifier: MIT
//
// Dumps of the registers in which a processor keeps its last branches, as firmware, a kernel's
// crash handler or a debug probe writes them (docs/reference/register-dumps.md).
//
//     flowback-branch-registers 1
//     unit brbe
//     map 42 0x400000 0x1000 0x0 /elf            process, address, size, offset in the file, path
//     dump pid=42 tid=42 cpu=3 time=1000 ip=0x40051c
//     BRBINF0_EL1 0x0000000100000843
//     BRBSRC0_EL1 0x0000000000400513
//     ...
//
// Each dump is a stack. Where not every dump has a time, their order stands for it.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_words.h"
#include "capture/formats/branches/branch_registers.h"
#include "capture/formats/branches/perf_branch_stacks.h"
#include "capture/formats/input/format.h"
#include "capture/formats/input/stream_owner.h"
#include "capture/formats/input/text.h"

namespace flowback {
namespace {

using Role = BranchRegister::Role;

constexpr std::string_view kMark = "flowback-branch-registers";
constexpr uint64_t kVersion = 1;
constexpr std::string_view kSyntax = "docs/reference/register-dumps.md describes such files";

// What a line `dump` says.
struct DumpHead {
  uint64_t line = 0;
  std::optional<uint64_t> time;
  uint64_t ip = 0;
  int32_t pid = -1;
  int32_t tid = -1;
  int32_t cpu = -1;
};

struct Stack {
  DumpHead head;
  std::vector<BranchRecord> newest_first;
};

struct Map {
  uint64_t line = 0;
  std::optional<uint64_t> time;  // of the last dump ahead of it that has one
  MmapRecord record;
};

std::optional<int32_t> SmallNumber(std::string_view text) {
  const auto number = Number(text, 10);
  if (!number || *number > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*number);
}

class DumpReader {
 public:
  explicit DumpReader(Recording& recording) : recording_(recording) {}

  // Errors: kUnsupported, kUnreadable.
  Status Take(std::string_view line, uint64_t number) {
    if (IsBlank(line) || line.size() > kLongestLine) {
      if (line.size() > kLongestLine) LeaveOut(number);
      return {};
    }
    Words words(line);
    const std::string_view first = words.Next();
    if (first == kMark) return CheckVersion(words.Next());
    if (first == "unit") return TakeUnit(words.Next(), number);
    if (!unit_)
      return Fail(Broken(number, "registers stand ahead of the line that names their unit"));
    if (first == "map") {
      if (!TakeMap(line, number)) LeaveOut(number);
    } else if (first == "dump") {
      if (!TakeDump(words, number)) LeaveOut(number);
    } else if (!TakeRegister(first, words, number)) {
      LeaveOut(number);
    }
    return {};
  }

  Status Finish() {
    if (!unit_) return Fail(Broken(1, "no line names the unit"));
    EndDump();
    recording_.machine.architecture = ArchitectureOf(*unit_);
    perf::BranchStackCollector collector;
    for (Stack& stack : stacks_) {
      for (BranchRecord& record : stack.newest_first) record.time_is_order = !timed_;
      perf::SampleId id;
      id.pid = stack.head.pid;
      id.tid = stack.head.tid >= 0 ? stack.head.tid : stack.head.pid;
      id.cpu = stack.head.cpu;
      id.time = timed_ ? *stack.head.time : stack.head.line;
      collector.AddStack(id, stack.head.ip, stack.newest_first);
    }
    for (Map& map : maps_) {
      map.record.time = timed_ ? map.time.value_or(0) : map.line;
      recording_.sideband.emplace_back(std::move(map.record));
    }
    std::move(collector).Finish({}, recording_);
    Warn();
    if (recording_.streams.empty()) return {};
    auto& config = recording_.config.Make<BranchStackConfig>();
    config = summary_;
    recording_.levels = config.levels;
    if (timed_) recording_.time = {.shift = 0, .mult = 1, .zero = 0};
    AssignOwners(recording_);
    return {};
  }

 private:
  Error Broken(uint64_t line, std::string_view what) const {
    return Error(ErrorCode::kUnreadable,
                 recording_.path + ": line " + Dec(line) + ": " + std::string(what))
        .Remedy(std::string(kSyntax));
  }
  Status CheckVersion(std::string_view version) const {
    if (Number(version, 10) == kVersion) return {};
    return Fail(Error(ErrorCode::kUnsupported, recording_.path + ": branch registers of version '" +
                                                   std::string(version) + "', and this reads " +
                                                   Dec(kVersion))
                    .Remedy("use a newer flowback, or write version " + Dec(kVersion)));
  }
  Status TakeUnit(std::string_view name, uint64_t line) {
    const auto unit = BranchUnitNamed(name);
    if (!unit)
      return Fail(Broken(line, "no unit is called '" + std::string(name) +
                                   "'; these are: " + std::string(BranchUnitNames())));
    if (unit_ && *unit_ != *unit) return Fail(Broken(line, "a second unit: write a file for each"));
    unit_ = unit;
    return {};
  }

  bool TakeMap(std::string_view line, uint64_t number) {
    Words words(line);
    words.Next();
    const auto pid = SmallNumber(words.Next());
    const auto address = Number(words.Next(), 16);
    const auto size = Number(words.Next(), 16);
    const auto offset = Number(words.Next(), 16);
    // The path is the rest of the line: it may have spaces.
    std::string_view path = words.rest();
    path.remove_prefix(std::min(path.find_first_not_of(" \t"), path.size()));
    if (path.ends_with('\r')) path.remove_suffix(1);
    if (!pid || !address || !size || !offset || path.empty()) return false;
    Map map;
    map.line = number;
    if (in_dump_) map.time = head_.time;
    map.record.pid = map.record.tid = *pid;
    map.record.address = *address;
    map.record.size = *size;
    map.record.file_offset = *offset;
    map.record.path = path;
    maps_.push_back(std::move(map));
    return true;
  }

  bool TakeDump(Words& words, uint64_t number) {
    BeginDump(number);
    for (std::string_view word = words.Next(); !word.empty(); word = words.Next()) {
      const size_t equals = std::min(word.find('='), word.size());
      const std::string_view key = word.substr(0, equals);
      const std::string_view value = word.substr(std::min(equals + 1, word.size()));
      if (!Set(key, value)) return false;
    }
    return true;
  }
  bool Set(std::string_view key, std::string_view value) {
    if (key == "time" || key == "ip") {
      const auto number = Number(value, key == "time" ? 10 : 16);
      if (!number) return false;
      if (key == "ip") head_.ip = *number;
      if (key == "time") head_.time = *number;
      return true;
    }
    int32_t* const place = key == "pid"   ? &head_.pid
                           : key == "tid" ? &head_.tid
                           : key == "cpu" ? &head_.cpu
                                          : nullptr;
    const auto number = SmallNumber(value);
    if (place == nullptr || !number) return false;
    *place = *number;
    return true;
  }

  // Ahead of the first dump: settings of all of them.
  bool TakeRegister(std::string_view name, Words& words, uint64_t line) {
    if (name.ends_with(':') || name.ends_with('=')) name.remove_suffix(1);
    std::string_view text = words.Next();
    if (text == "=" || text == ":") text = words.Next();
    const auto value = Number(text, 16);
    auto each = BranchRegisterNamed(*unit_, name);
    if (!value || !each || !words.Next().empty()) return false;
    const bool of_record =
        each->role == Role::kFrom || each->role == Role::kTo || each->role == Role::kInfo;
    if (!in_dump_ && of_record) BeginDump(line);
    if (!in_dump_) {
      settings_[*each] = *value;
      return true;
    }
    constexpr uint32_t kHalf = 32;
    if (*unit_ == BranchUnit::kBrbe && each->role == Role::kSelect)
      half_ = (*value >> 28 & 3) == 1 ? kHalf : 0;
    if (of_record && each->number < kHalf) each->number += half_;
    if (!registers_.emplace(*each, *value).second && of_record && told_twice_ == 0)
      told_twice_ = line;
    return true;
  }

  void BeginDump(uint64_t line) {
    EndDump();
    head_ = {};
    head_.line = line;
    in_dump_ = true;
  }
  // Converts its content to stacks: its registers take more memory.
  void EndDump() {
    if (!in_dump_) return;
    in_dump_ = false;
    registers_.insert(settings_.begin(), settings_.end());
    RegisterStacks found = StacksOf(*unit_, registers_);
    registers_.clear();
    half_ = 0;
    timed_ = timed_ && head_.time.has_value();
    incomplete_ += found.incomplete;
    bad_ += found.bad;
    ++summary_.samples;
    summary_.empty_samples += found.stacks.empty() ? 1 : 0;
    summary_.all_kinds = summary_.all_kinds && found.all_kinds;
    summary_.call_stacks = summary_.call_stacks || found.call_stacks;
    summary_.names_compare = summary_.names_compare || found.names_compare;
    AddLevel(found.levels.user, summary_.levels.user);
    AddLevel(found.levels.kernel, summary_.levels.kernel);
    for (std::vector<BranchRecord>& stack : found.stacks) {
      summary_.depth = std::max<uint64_t>(summary_.depth, stack.size());
      stacks_.push_back({head_, std::move(stack)});
      if (&stack != &found.stacks.back()) stacks_.back().head.ip = 0;  // it stood behind the newest
    }
  }
  // Recorded in one of the dumps; unknown if one does not say.
  void AddLevel(std::optional<bool> one, std::optional<bool>& all) const {
    if (summary_.samples == 1) all = one;
    if (!one) all.reset();
    if (one && all) all = *all || *one;
  }

  void LeaveOut(uint64_t number) {
    if (left_out_++ == 0) first_left_out_ = number;
  }
  void Warn() {
    const auto warn = [&](uint64_t count, const std::string& why, std::string_view remedy) {
      if (count != 0)
        recording_.warnings.push_back(
            {Dec(count) + (count == 1 ? " record is" : " records are") + " left out" + why,
             std::string(remedy)});
    };
    if (left_out_ != 0)
      recording_.warnings.push_back(
          {Dec(left_out_) + (left_out_ == 1 ? " line is" : " lines are") +
               " neither registers of the unit nor anything else that is known, and left out; the "
               "first is line " +
               Dec(first_left_out_),
           std::string(kSyntax)});
    warn(incomplete_,
         " for want of a register, or of the field with the newest record; the flow across is not "
         "known",
         "dump all registers of the unit");
    warn(bad_, " that the processor marked as bad (erratum 1452); what ran across is not known",
         "");
    if (told_twice_ != 0)
      recording_.warnings.push_back({"a register stands twice in one dump, first in line " +
                                         Dec(told_twice_) + ": the first is taken",
                                     "begin each dump with a line `dump`"});
  }

  Recording& recording_;
  std::optional<BranchUnit> unit_;
  BranchRegisters settings_;
  bool in_dump_ = false;
  DumpHead head_;  // of the dump that is being read
  BranchRegisters registers_;
  uint32_t half_ = 0;  // of the records, that the registers behind belong to
  std::vector<Stack> stacks_;
  bool timed_ = true;  // each dump has a time
  std::vector<Map> maps_;
  BranchStackConfig summary_;
  uint64_t left_out_ = 0;
  uint64_t first_left_out_ = 0;
  uint64_t incomplete_ = 0;
  uint64_t bad_ = 0;
  uint64_t told_twice_ = 0;  // the first line
};

}  // namespace

bool MatchesRegisterDump(const Candidate& candidate) { return StartsWith(candidate.bytes, kMark); }

Status ReadRegisterDump(const Candidate& candidate, Recording& recording) {
  DumpReader reader(recording);
  Status status;
  ForEachLine(candidate.bytes, [&](std::string_view line, uint64_t number) {
    status = reader.Take(line, number);
    return status.has_value();
  });
  if (!status) return status;
  return reader.Finish();
}

}  // namespace flowback
