// SPDX-License-Identifier: MIT
#include "replay/coverage/coverage_parts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "base/mapped_file.h"
#include "base/number_bytes.h"
#include "base/saturated.h"
#include "decode/code/images/kept_images.h"
#include "flowback/replay/loss_tally.h"

namespace flowback {
namespace {

constexpr std::string_view kMagic = "flowback-coverage ";
constexpr std::string_view kVersion = "3";
// Parts of this version have no losses of their own, only those of each object.
constexpr std::string_view kVersionWithoutLosses = "2";
constexpr size_t kLongestVersion = 20;
constexpr size_t kChecksumSize = 8;

Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}
std::string AsText(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

void Write(NumberWriter& out, const ObjectId& id) {
  out.Number(id.made_at_run_time ? 1 : 0);
  out.Block(AsBytes(id.path));
  out.Block(id.build_id.bytes);
  out.Word(id.checksum);
}

void Write(NumberWriter& out, const ObjectCounts& object) {
  Write(out, object.id);
  out.Number(IndexOf(object.mode));
  out.Number(object.losses.size());
  for (const auto& [cause, count] : object.losses) {
    out.Block(AsBytes(cause));
    out.Number(count);
  }
  uint64_t offset = 0;
  out.Number(object.replaced.size());
  for (const ReplacedRange& range : object.replaced) {
    out.Number(range.begin - std::exchange(offset, range.end));
    out.Number(range.end - range.begin);
  }
  offset = 0;
  out.Number(object.instructions.size());
  for (const InstructionCount& count : object.instructions) {
    out.Number(count.offset - std::exchange(offset, count.offset));
    out.Number(count.times);
    out.Number(count.length);
  }
  offset = 0;
  out.Number(object.branches.size());
  for (const BranchCount& count : object.branches) {
    out.Number(count.offset - std::exchange(offset, count.offset));
    out.Number(count.taken);
    out.Number(count.not_taken);
  }
  offset = 0;
  out.Number(object.targets.size());
  for (const TargetCount& count : object.targets) {
    out.Number(count.offset - std::exchange(offset, count.offset));
    out.Number(static_cast<uint64_t>(count.kind));
    out.Number(count.object == TargetCount::kNoObject ? 0 : uint64_t{count.object} + 1);
    out.Distance(count.offset, count.target);
    out.Number(count.times);
  }
}

// Causes are written by their names, which stay when others are added.
void Write(NumberWriter& out, const KeptLosses& losses) {
  std::map<std::string, KeptLosses::Sum> by_name;
  for (const auto& [cause, sum] : losses.causes) by_name.emplace(Name(cause), sum);
  out.Number(by_name.size());
  for (const auto& [name, sum] : by_name) {
    out.Block(AsBytes(name));
    out.Number(sum.count);
    out.Number(sum.bytes);
  }
  out.Number(losses.trace_bytes);
  out.Number(losses.missing_bytes);
  out.Number(losses.unattributed_bytes);
  out.Number(losses.damage);
}

std::optional<LossCause> FindCause(const std::string& name) {
  const auto* found =
      std::ranges::find_if(kAllLossCauses, [&](LossCause cause) { return name == Name(cause); });
  return found == std::end(kAllLossCauses) ? std::nullopt : std::optional(*found);
}

// Returns what the objects' losses prove: each cause occurred as often as for the object that has
// most of it. What a snapshot did not keep is no loss for LossTally.
KeptLosses LeastLosses(const std::vector<ObjectCounts>& objects) {
  KeptLosses least;
  std::map<LossCause, uint64_t> causes;
  for (const ObjectCounts& object : objects)
    for (const auto& [name, count] : object.losses) {
      if (name == kDamagedCause) least.damage = std::max(least.damage, count);
      const std::optional<LossCause> cause = FindCause(name);
      if (cause && *cause != LossCause::kNotKept) causes[*cause] = std::max(causes[*cause], count);
    }
  for (const auto& [cause, count] : causes) least.Add(cause, {.count = count});
  return least;
}

// Reads what Write wrote; what that can't have written makes it fail.
class PartReader {
 public:
  PartReader(Bytes content, bool has_losses) : in_(content), has_losses_(has_losses) {}

  std::optional<CoverageCounts> Read() {
    CoverageCounts counts;
    counts.recordings = in_.Number();
    counts.instructions = in_.Number();
    counts.emulated = Below(2) != 0;
    if (has_losses_) Losses(counts.losses);
    objects_ = in_.Count();
    for (size_t left = objects_; left != 0 && in_.ok(); --left) {
      counts.objects.push_back(Object());
      if (counts.objects.size() > 1) CheckOrder(counts.objects);
    }
    if (counts.instructions != sum_ || !in_.Done()) return std::nullopt;
    if (!has_losses_) counts.losses = LeastLosses(counts.objects);
    return counts;
  }

 private:
  void Check(bool holds) {
    if (!holds) in_.Fail();
  }
  uint64_t Below(uint64_t end) {
    const uint64_t number = in_.Number();
    Check(number < end);
    return in_.ok() ? number : 0;
  }
  uint64_t Offset(uint64_t before, bool first, bool may_repeat) {
    const uint64_t distance = in_.Number();
    Check(first || may_repeat || distance != 0);
    Check(distance <= ~before);
    return before + distance;
  }
  void CheckOrder(const std::vector<ObjectCounts>& objects) {
    const ObjectCounts& a = objects[objects.size() - 2];
    const ObjectCounts& b = objects.back();
    const auto by = a.id.Compare(b.id);
    Check(by < 0 || (by == 0 && a.mode < b.mode));
  }

  // A cause that is not known was added later; another program found it.
  void Losses(KeptLosses& losses) {
    constexpr size_t kMostCauses = 256;
    size_t left = in_.Count();
    Check(left <= kMostCauses);
    for (std::string before; left != 0 && in_.ok(); --left) {
      std::string name = AsText(in_.Block());
      Check(before < name);
      const uint64_t count = in_.Number();
      const KeptLosses::Sum sum{.count = count, .bytes = in_.Number()};
      Check(sum != KeptLosses::Sum());
      losses.Add(FindCause(name).value_or(LossCause::kToldByRecorder), sum);
      before = std::move(name);
    }
    losses.trace_bytes = in_.Number();
    losses.missing_bytes = in_.Number();
    losses.unattributed_bytes = in_.Number();
    losses.damage = in_.Number();
  }
  ObjectId Id() {
    constexpr size_t kLongestBuildId = 20;
    ObjectId id;
    id.made_at_run_time = Below(2) != 0;
    id.path = AsText(in_.Block());
    const Bytes build_id = in_.Block();
    Check(build_id.size() <= kLongestBuildId);
    id.build_id.bytes.assign(build_id.begin(), build_id.end());
    id.checksum = in_.Word();
    Check(id.build_id.empty() || id.checksum == 0);
    return id;
  }
  ObjectCounts Object() {
    ObjectCounts object;
    object.id = Id();
    object.mode = static_cast<CodeMode>(Below(kCodeModes.size()));
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      std::string cause = AsText(in_.Block());
      Check(object.losses.empty() || object.losses.rbegin()->first < cause);
      object.losses.emplace(std::move(cause), in_.Number());
    }
    Replaced(object.replaced);
    Instructions(object.instructions);
    Branches(object.branches);
    Targets(object.targets);
    return object;
  }
  void Replaced(std::vector<ReplacedRange>& list) {
    uint64_t end = 0;
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      const uint64_t begin = Offset(end, list.empty(), false);
      const uint64_t size = in_.Number();
      Check(size != 0 && size <= ~begin);
      end = begin + size;
      list.push_back({begin, end});
    }
  }
  void Instructions(std::vector<InstructionCount>& list) {
    uint64_t offset = 0;
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      offset = Offset(offset, list.empty(), false);
      const uint64_t times = in_.Number();
      const uint64_t length = Below(kLongestInstruction + 1);
      Check(times != 0 && length != 0);
      AddSaturated(sum_, times);
      list.push_back({offset, times, static_cast<uint8_t>(length)});
    }
  }
  void Branches(std::vector<BranchCount>& list) {
    uint64_t offset = 0;
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      offset = Offset(offset, list.empty(), false);
      const uint64_t taken = in_.Number();
      list.push_back({offset, taken, in_.Number()});
      Check(taken != 0 || list.back().not_taken != 0);
    }
  }
  void Targets(std::vector<TargetCount>& list) {
    const auto key = [](const TargetCount& of) {
      return std::tuple(of.offset, of.kind, of.object, of.target);
    };
    uint64_t offset = 0;
    for (size_t left = in_.Count(); left != 0 && in_.ok(); --left) {
      TargetCount count;
      count.offset = offset = Offset(offset, list.empty(), true);
      count.kind = static_cast<InstructionClass>(
          Below(uint64_t{1} + static_cast<unsigned>(InstructionClass::kFarReturn)));
      const uint64_t object = Below(uint64_t{objects_} + 1);
      count.object = object == 0 ? TargetCount::kNoObject : static_cast<uint32_t>(object - 1);
      count.target = in_.Distance(count.offset);
      count.times = in_.Number();
      Check(count.times != 0 && (list.empty() || key(list.back()) < key(count)));
      list.push_back(count);
    }
  }

  NumberReader in_;
  const bool has_losses_;
  size_t objects_ = 0;
  uint64_t sum_ = 0;
};

Error NoPart(const std::string& name, const std::string& why) {
  return Error(ErrorCode::kUnreadable, name + ": " + why);
}

struct PartHead {
  size_t size = 0;  // in bytes
  bool has_losses = false;
};

Result<PartHead> ReadHead(Bytes bytes, const std::string& name) {
  const std::string head =
      AsText(bytes.first(std::min<size_t>(bytes.size(), kMagic.size() + kLongestVersion)));
  if (!head.starts_with(kMagic))
    return Fail(
        NoPart(name, "no part of coverage: it does not begin with '" + std::string(kMagic) + "'")
            .At(0)
            .Remedy("parts are written by `flowback coverage --save` and `flowback merge`"));
  const size_t end = head.find('\n');
  const std::string version = head.substr(kMagic.size(), end - kMagic.size());
  const bool is_number = end != std::string::npos && !version.empty() &&
                         std::ranges::all_of(version, [](char c) { return c >= '0' && c <= '9'; });
  if (!is_number)
    return Fail(NoPart(name, "its first line is cut or damaged")
                    .At(kMagic.size())
                    .Remedy("copy the file again, or count again"));
  if (version != kVersion && version != kVersionWithoutLosses)
    return Fail(
        NoPart(name, "a part of version " + version + "; this program reads versions " +
                         std::string(kVersionWithoutLosses) + " and " + std::string(kVersion))
            .At(kMagic.size())
            .Remedy("read it with the flowback that wrote it, or count again with this one"));
  return PartHead{.size = end + 1, .has_losses = version == kVersion};
}

}  // namespace

std::vector<uint8_t> PartToBytes(const CoverageCounts& counts) {
  NumberWriter out;
  out.Number(counts.recordings);
  out.Number(counts.instructions);
  out.Number(counts.emulated ? 1 : 0);
  Write(out, counts.losses);
  out.Number(counts.objects.size());
  for (const ObjectCounts& object : counts.objects) Write(out, object);
  const std::string head = std::string(kMagic) + std::string(kVersion) + '\n';
  std::vector<uint8_t> bytes(head.begin(), head.end());
  const std::vector<uint8_t> content = out.Take();
  bytes.insert(bytes.end(), content.begin(), content.end());
  out.Word(ImageHash::Of(bytes));
  const std::vector<uint8_t> checksum = out.Take();
  bytes.insert(bytes.end(), checksum.begin(), checksum.end());
  return bytes;
}

Result<CoverageCounts> PartFromBytes(Bytes bytes, const std::string& name) {
  const Result<PartHead> head = ReadHead(bytes, name);
  if (!head) return Fail(head.error());
  const size_t begin = head->size;
  const size_t end = bytes.size() < begin + kChecksumSize ? begin : bytes.size() - kChecksumSize;
  const bool whole = end != begin && ImageHash::Of(bytes.first(end)) ==
                                         LoadLittleEndian(bytes.data() + end, kChecksumSize);
  if (!whole)
    return Fail(NoPart(name, "cut or damaged: the checksum of its " + std::to_string(end) +
                                 " bytes is not the one behind them")
                    .At(end)
                    .Remedy("copy the file again, or count again"));
  std::optional<CoverageCounts> counts =
      PartReader(bytes.subspan(begin, end - begin), head->has_losses).Read();
  if (!counts)
    return Fail(NoPart(name,
                       "its checksum is right, and its content contradicts itself: it was "
                       "not written by this version")
                    .At(begin)
                    .Remedy("count again"));
  return *std::move(counts);
}

Result<CoverageCounts> ReadPart(const std::string& path) {
  const auto file = MappedFile::Open(path);
  if (!file) return Fail(file.error());
  Result<CoverageCounts> counts = PartFromBytes((*file)->bytes(), path);
  if (Status whole = (*file)->CheckWhole(); !whole) return Fail(whole.error());
  return counts;
}

bool LooksLikePart(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  std::ifstream file(path, std::ios::binary);
  char head[kMagic.size()] = {};
  file.read(head, sizeof head);
  return std::string_view(head, sizeof head) == kMagic;
}

}  // namespace flowback
