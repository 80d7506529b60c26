// SPDX-License-Identifier: MIT
#include "tests/support/generator/stream_generator_layout.h"

namespace flowback::testing {
namespace {

uint64_t SectionBase(unsigned section, const GeneratorOptions& options, Random& random) {
  const uint64_t page = random.Below(0x1000) << 12;
  if (options.mode == CodeMode::kX86_32) {
    static constexpr uint64_t kBases[] = {0x08048000, 0x20000000, 0xa0000000, 0xd1000000};
    return kBases[section] + page;
  }
  static constexpr uint64_t kBases[] = {0x401000, 0x4c001000, 0x7f5512340000, 0xffffffff81000000};
  // Half the programs are position-independent: their first two sections lie high.
  const bool low = options.compat || options.seed % 2 == 1 || section >= 2;
  const uint64_t high = !low ? 0x555555554000 : 0;
  return kBases[section] + page + high;
}

// Displacements need every address, so only lengths are final here: direct branches get their
// displacement in FillDisplacements.
void Encode(Draft& draft, uint32_t index, Random& random) {
  const Node& node = draft.program.nodes[index];
  Code& code = draft.codes[index];
  const uint8_t condition = static_cast<uint8_t>(random.Below(16));
  const bool jump = node.kind == NodeKind::kJump;
  switch (draft.forms[index]) {
    case Form::kFixed:
      break;
    case Form::kShort:
      code.Add({static_cast<uint8_t>(jump ? 0xeb : 0x70 | condition), 0});
      break;
    case Form::kCounter:
      code.Add({static_cast<uint8_t>(0xe0 | condition % 4), 0});
      break;
    case Form::kNear:
      if (jump) {
        code.Add(0xe9);
      } else {
        code.Add({0x0f, static_cast<uint8_t>(0x80 | condition)});
      }
      code.AddValue(0, 4);
  }
  std::vector<uint8_t>& bytes = draft.program.sections.back().bytes;
  bytes.insert(bytes.end(), code.bytes.begin(), code.bytes.begin() + code.size);
}

bool HasDisplacement(NodeKind kind) {
  return kind == NodeKind::kConditional || kind == NodeKind::kJump || kind == NodeKind::kCall ||
         kind == NodeKind::kTransactionBegin;
}

void FillDisplacements(Program& program) {
  for (const Node& node : program.nodes) {
    if (!HasDisplacement(node.kind)) continue;
    for (GeneratedSection& section : program.sections) {
      const uint64_t end = node.address - section.address + node.length;
      if (node.address < section.address || end > section.bytes.size()) continue;
      const uint64_t displacement = program.nodes[node.target].address - node.address - node.length;
      const unsigned width = node.length == 2 ? 1 : 4;
      for (unsigned i = 0; i < width; ++i)
        section.bytes[end - width + i] = static_cast<uint8_t>(displacement >> (8 * i));
    }
  }
}

}  // namespace

Program LayOut(Draft draft, const GeneratorOptions& options, Random& random) {
  Program& program = draft.program;
  for (size_t i = 0; i < draft.forms.size(); ++i) {
    Node& node = program.nodes[i];
    const bool jump = node.kind == NodeKind::kJump;
    if (draft.forms[i] == Form::kNear) node.length = jump ? 5 : 6;
    if (draft.forms[i] == Form::kShort || draft.forms[i] == Form::kCounter) node.length = 2;
  }
  uint64_t address = 0;
  size_t next_section = 0;
  for (uint32_t i = 0; i < program.nodes.size(); ++i) {
    if (next_section < draft.section_starts.size() &&
        draft.section_starts[next_section].first == i) {
      address = SectionBase(draft.section_starts[next_section++].second, options, random);
      program.sections.push_back({address, {}});
    }
    program.nodes[i].address = address;
    address += program.nodes[i].length;
    Encode(draft, i, random);
  }
  FillDisplacements(program);
  return std::move(program);
}

}  // namespace flowback::testing
