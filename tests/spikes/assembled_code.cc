// SPDX-License-Identifier: MIT
#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include "decode/instruction/classify.h"
#include "tests/spikes/assembled_server.h"

namespace flowback::spikes {
namespace {

using testing::Node;
using testing::NodeKind;

class File {
 public:
  explicit File(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
  }
  template <class T>
  std::vector<T> Items(uint64_t offset, uint64_t size) const {
    std::vector<T> items(size / sizeof(T));
    std::memcpy(items.data(), bytes_.data() + offset, items.size() * sizeof(T));
    return items;
  }
  const char* Text(uint64_t offset) const { return bytes_.data() + offset; }
  // The header of a section.
  Elf64_Shdr Section(const std::string& name) const {
    const auto header = Items<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr)).front();
    const auto all = Items<Elf64_Shdr>(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
    const uint64_t names = all[header.e_shstrndx].sh_offset;
    for (const Elf64_Shdr& section : all)
      if (name == Text(names + section.sh_name)) return section;
    return {};
  }

 private:
  std::vector<char> bytes_;
};

NodeKind KindOf(const Instruction& instruction) {
  switch (instruction.kind) {
    case InstructionClass::kConditional:
      return NodeKind::kConditional;
    case InstructionClass::kCall:
      return NodeKind::kCall;
    case InstructionClass::kIndirectCall:
      return NodeKind::kIndirectCall;
    case InstructionClass::kReturn:
      return NodeKind::kReturn;
    case InstructionClass::kFarCall:
      return NodeKind::kSystemCall;
    default:
      return NodeKind::kPlain;
  }
}

}  // namespace

AssembledCode::AssembledCode(const std::string& file) : path(file) {
  const File program(file);
  const Elf64_Shdr text = program.Section(".text");
  address = text.sh_addr;
  offset = text.sh_offset;
  size = text.sh_size;
  const auto code = program.Items<uint8_t>(offset, size);
  std::map<uint64_t, uint32_t> numbers;
  std::vector<uint64_t> targets;
  for (uint64_t at = 0; at < size;) {
    Instruction instruction;
    if (!Classify(Bytes(code).subspan(at), CodeMode::kX86_64, instruction)) break;
    numbers[address + at] = static_cast<uint32_t>(nodes.size());
    targets.push_back(instruction.Target(address + at));
    nodes.push_back(
        Node{.address = address + at, .length = instruction.length, .kind = KindOf(instruction)});
    at += instruction.length;
  }
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind == NodeKind::kConditional || nodes[i].kind == NodeKind::kCall)
      nodes[i].target = numbers.at(targets[i]);
  const Elf64_Shdr section = program.Section(".places");
  const auto told = program.Items<uint64_t>(section.sh_offset, section.sh_size);
  for (size_t i = 0; i < kPlaces; ++i) places[i] = numbers.at(told.at(i));
  const Elf64_Shdr symbols = program.Section(".symtab");
  const uint64_t names = program.Section(".strtab").sh_offset;
  for (const auto& symbol : program.Items<Elf64_Sym>(symbols.sh_offset, symbols.sh_size))
    if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
      functions[numbers.at(symbol.st_value)] = program.Text(names + symbol.st_name);
}

}  // namespace flowback::spikes
