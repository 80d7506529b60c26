// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include "capture/record/control/recorder.h"
#include "capture/record/emulate/emulator_file.h"

namespace flowback {
namespace record {
namespace {

enum Ability : unsigned {
  kAttaches = 1,
  kPerCpu = 2,
  kCountsInstructions = 4,
  kProcessesApart = 8,
  kHardware = 16,
  kBranchStacks = 32,
  kOfKernel = kHardware | kAttaches | kPerCpu
};

constexpr RecorderInfo Able(std::string_view name, std::string_view needs, unsigned abilities) {
  return {.name = name,
          .needs = needs,
          .hardware = (abilities & kHardware) != 0,
          .attaches = (abilities & kAttaches) != 0,
          .per_cpu = (abilities & kPerCpu) != 0,
          .counts_instructions = (abilities & kCountsInstructions) != 0,
          .processes_apart = (abilities & kProcessesApart) != 0,
          .branch_stacks = (abilities & kBranchStacks) != 0};
}

constexpr RecorderRow kRows[] = {
#define FLOWBACK_RECORDER(engine, takes, abilities, checker, maker) \
  {Able(#engine, takes, abilities), checker, maker},
#include "capture/record/recorders.def"
#undef FLOWBACK_RECORDER
};

constexpr auto kInfos = [] {
  std::array<RecorderInfo, std::size(kRows)> infos;
  std::ranges::transform(kRows, infos.begin(), &RecorderRow::info);
  return infos;
}();

}  // namespace

const RecorderRow* FindRecorderRow(std::string_view name) {
  const auto row = std::ranges::find(
      kRows, name, [](const RecorderRow& candidate) { return candidate.info.name; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace record

std::span<const RecorderInfo> Recorders() { return record::kInfos; }

const RecorderInfo* FindRecorder(std::string_view name) {
  const record::RecorderRow* row = record::FindRecorderRow(name);
  return row == nullptr ? nullptr : &row->info;
}

}  // namespace flowback
