// SPDX-License-Identifier: MIT
// `coverage --format drcov`: version 2 of DynamoRIO's log, which plug-ins of disassemblers read:
// which blocks were executed, not how often. Blocks are those of the static code; what was executed
// outside of it is there instruction by instruction.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "flowback/writers.h"
#include "replay/writers/text/printable.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

struct DrcovBlock {
  uint32_t start = 0;  // from the module's base
  uint16_t size = 0;
  uint16_t module = 0;
};

struct Module {
  const ObjectCoverage* object = nullptr;
  uint64_t base = 0;
  uint64_t end = 0;
};

std::vector<Module> ModulesOf(const CoverageReport& report) {
  std::vector<Module> modules;
  for (const ObjectCoverage& object : report.objects) {
    if (object.image == nullptr || object.counts->instructions.empty()) continue;
    const std::vector<CodeMapping> mappings = object.image->space().mappings();
    if (mappings.empty() || modules.size() == UINT16_MAX) continue;
    // The base is where the file's first byte would lie.
    const uint64_t base = std::min(mappings.front().FileBase(), mappings.front().address);
    modules.push_back({&object, base, mappings.back().address + mappings.back().size});
  }
  return modules;
}

void AddRange(uint64_t begin, uint64_t size, const Module& module, uint16_t number,
              std::vector<DrcovBlock>& blocks) {
  if (begin < module.base || begin - module.base > UINT32_MAX) return;
  blocks.push_back({static_cast<uint32_t>(begin - module.base),
                    static_cast<uint16_t>(std::min<uint64_t>(size, UINT16_MAX)), number});
}

void AddBlocks(const Module& module, uint16_t number, std::vector<DrcovBlock>& blocks) {
  const ObjectCoverage& object = *module.object;
  if (object.code != nullptr)
    for (const StaticCodeBlock& block : object.code->blocks()) {
      uint64_t executed_end = block.begin;  // a block may be left in its middle
      for (uint32_t i = block.first; i < block.first + block.count; ++i)
        if (object.times[i] != 0)
          executed_end =
              object.code->instructions()[i].address + object.code->instructions()[i].length;
      if (executed_end != block.begin)
        AddRange(block.begin, executed_end - block.begin, module, number, blocks);
    }
  for (const InstructionCount& each : object.counts->instructions) {
    const auto address = object.image->AddressOf(each.offset);
    if (!address) continue;
    if (object.code == nullptr || object.code->InstructionAt(*address) == nullptr)
      AddRange(*address, each.length, module, number, blocks);
  }
}

}  // namespace

void WriteCoverageDrcov(const CoverageView& view, TextSink& sink) {
  const std::vector<Module> modules = ModulesOf(view.report);
  std::vector<DrcovBlock> blocks;
  for (size_t i = 0; i < modules.size(); ++i)
    AddBlocks(modules[i], static_cast<uint16_t>(i), blocks);
  std::string& out = sink.buffer();
  out += "DRCOV VERSION: 2\nDRCOV FLAVOR: drcov\n";
  out += fmt::format("Module Table: version 2, count {}\nColumns: id, base, end, entry, path\n",
                     modules.size());
  for (size_t i = 0; i < modules.size(); ++i)
    out += fmt::format("{:3}, {:#018x}, {:#018x}, {:#018x}, {}\n", i, modules[i].base,
                       modules[i].end, 0, Printable(modules[i].object->counts->id.path));
  out += fmt::format("BB Table: {} bbs\n", blocks.size());
  for (const DrcovBlock& block : blocks) {
    char bytes[sizeof(DrcovBlock)];
    std::memcpy(bytes, &block, sizeof bytes);
    sink.Write({bytes, sizeof bytes});
  }
  sink.Commit();
}

}  // namespace flowback
