// SPDX-License-Identifier: MIT
// Three disassemblers read all code of the shared images: capstone, Zydis (with what we make of it)
// and LLVM. Each kind of difference is a row of differences.tsv with a verdict on who is right; one
// that has no row fails the test, and so does a row that no image shows any more.
//
// The images are 64-bit programs. The same bytes are read as 32- and 16-bit code too, where only
// transfers of control are compared: as data for the three to disagree about they are as good as
// any, and there are hardly any programs of that kind left.
#include <Zydis/Zydis.h>
#include <capstone/capstone.h>
#include <gelf.h>
#include <gtest/gtest.h>
#include <libelf.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/mapped_file.h"
#include "decode/instruction/classify.h"
#include "decode/instruction/disassemble.h"
#include "decode/instruction/x86/disassemble.h"
#include "decode/instruction/x86/llvm_fallback.h"
#include "flowback/model/execution.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;
using enum InstructionClass;

constexpr size_t kFewestImages = 30;  // the shared recordings have more
constexpr const char* kModeNames[] = {"64", "32", "16"};

struct Reading {
  unsigned length = 0;  // 0: no instruction
  std::string name = "-";
  InstructionClass kind = kOther;
};

// Returns the class for a name in Intel syntax. `operands` separate direct from indirect.
InstructionClass KindByName(std::string_view name, std::string_view operands) {
  static const std::map<std::string_view, InstructionClass> kKinds = {
      {"loop", kConditional},  {"loope", kConditional},  {"loopne", kConditional},
      {"ret", kReturn},        {"retf", kFarReturn},     {"retfq", kFarReturn},
      {"iret", kFarReturn},    {"iretd", kFarReturn},    {"iretq", kFarReturn},
      {"lcall", kFarCall},     {"ljmp", kFarJump},       {"int", kFarCall},
      {"int1", kFarCall},      {"int3", kFarCall},       {"syscall", kFarCall},
      {"sysenter", kFarCall},  {"sysret", kFarReturn},   {"sysretq", kFarReturn},
      {"sysexit", kFarReturn}, {"sysexitq", kFarReturn}, {"rsm", kFarReturn},
      {"uiret", kFarReturn},   {"vmlaunch", kFarReturn}, {"vmresume", kFarReturn},
      {"eretu", kFarReturn},   {"erets", kFarReturn},
  };
  const bool direct = operands.find_first_of("-0123456789") == 0;
  const bool far = operands.starts_with('[');  // without the size that a near one has
  if (name == "jmp") return direct ? kJump : far ? kFarJump : kIndirectJump;
  if (name == "call") return direct ? kCall : far ? kFarCall : kIndirectCall;
  if (name.starts_with('j')) return kConditional;
  const auto found = kKinds.find(name);
  return found == kKinds.end() ? kOther : found->second;
}

class Capstone {
 public:
  explicit Capstone(CodeMode mode) {
    constexpr cs_mode kModes[] = {CS_MODE_64, CS_MODE_32, CS_MODE_16};
    EXPECT_EQ(cs_open(CS_ARCH_X86, kModes[static_cast<size_t>(mode)], &handle_), CS_ERR_OK);
    instruction_ = cs_malloc(handle_);
  }
  ~Capstone() {
    cs_free(instruction_, 1);
    cs_close(&handle_);
  }
  Reading Read(Bytes code) {
    const uint8_t* at = code.data();
    size_t size = code.size();
    uint64_t address = 0x1000;
    if (!cs_disasm_iter(handle_, &at, &size, &address, instruction_)) return {};
    const std::string name = cs_insn_name(handle_, instruction_->id);
    return {instruction_->size, name, KindByName(name, instruction_->op_str)};
  }

 private:
  csh handle_ = 0;
  cs_insn* instruction_ = nullptr;
};

Reading ReadWithLlvm(Bytes code, CodeMode mode) {
  static const std::set<std::string> kPrefixes = {
      "lock",   "rep",    "repe",   "repne",  "bnd",    "notrack", "xacquire", "xrelease",
      "data16", "data32", "addr32", "addr16", "rex64",  "cs",      "ds",       "es",
      "ss",     "fs",     "gs",     "{nf}",   "{evex}", "{vex}"};
  std::string text;
  Reading reading{.length = x86::LlvmDisassemble(code, 0x1000, mode, &text)};
  if (reading.length == 0) return {};
  std::istringstream words(text);
  while (words >> reading.name && kPrefixes.contains(reading.name)) {
  }
  std::string operands;
  std::getline(words >> std::ws, operands);
  reading.kind = KindByName(reading.name, operands);
  return reading;
}

// Zydis by itself has the name; our classification, which may have asked LLVM, the class.
class Ours {
 public:
  explicit Ours(CodeMode mode) : mode_(mode) {
    constexpr ZydisMachineMode kModes[] = {ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_MACHINE_MODE_LEGACY_32,
                                           ZYDIS_MACHINE_MODE_LEGACY_16};
    constexpr ZydisStackWidth kWidths[] = {ZYDIS_STACK_WIDTH_64, ZYDIS_STACK_WIDTH_32,
                                           ZYDIS_STACK_WIDTH_16};
    const auto index = static_cast<size_t>(mode);
    ZydisDecoderInit(&decoder_, kModes[index], kWidths[index]);
  }
  Reading Read(Bytes code) const {
    ZydisDecodedInstruction decoded;
    Instruction instruction;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, code.data(), code.size(),
                                                    &decoded)) ||
        !Classify(code, mode_, instruction))
      return {};
    EXPECT_EQ(instruction.length, decoded.length);
    return {decoded.length, ZydisMnemonicGetString(decoded.mnemonic), instruction.kind};
  }

 private:
  CodeMode mode_;
  ZydisDecoder decoder_;
};

std::string HexBytes(Bytes bytes) {
  std::string text;
  char two[3];
  for (const uint8_t byte : bytes) {
    snprintf(two, sizeof two, "%02x", byte);
    text += two;
  }
  return text;
}

// A difference's first five columns; the others are an example and the verdict.
std::string Row(CodeMode mode, const char* library, const std::string& what, const Reading& ours,
                const Reading& theirs) {
  return std::string(kModeNames[static_cast<size_t>(mode)]) + '\t' + library + '\t' + what + '\t' +
         ours.name + '\t' + theirs.name;
}

// What differs, in the words of the table; empty when nothing does.
std::string Compare(const Reading& ours, const Reading& theirs, bool names, bool transfers_only) {
  if (transfers_only && ours.kind == kOther && theirs.kind == kOther) return "";
  if (ours.length != 0 && theirs.length == 0) return "unknown to it";
  if (ours.length == 0 && theirs.length != 0) return "known to it only";
  if (ours.length != theirs.length)
    return std::to_string(theirs.length) + " bytes, not " + std::to_string(ours.length);
  if (ours.kind != theirs.kind) return std::string(Name(theirs.kind)) + ", not " + Name(ours.kind);
  if (names && !x86::AreSameMnemonic(theirs.name, ours.name)) return "another name";
  return "";
}

using Differences = std::map<std::string, std::string>;  // row -> an example's bytes

class Sweep {
 public:
  explicit Sweep(CodeMode mode) : mode_(mode), ours_(mode), capstone_(mode) {}

  // Linear; one byte on after bytes that are no instruction to us.
  void Run(Bytes code) {
    for (size_t at = 0; at < code.size();) {
      const Bytes window = Slice(code, at, TraitsOf(mode_).longest_instruction);
      const Reading ours = ours_.Read(window);
      const size_t size = std::max(ours.length, 1u);
      // Bytes that are no instruction may mean anything with what follows: they are kept whole.
      const Bytes unique = ours.length != 0 ? window.first(size) : window;
      if (seen_.emplace(reinterpret_cast<const char*>(unique.data()), unique.size()).second)
        CompareAll(window, ours);
      at += size;
      ++instructions_;
    }
  }

  const Differences& differences() const { return differences_; }
  size_t distinct() const { return seen_.size(); }
  size_t instructions() const { return instructions_; }

 private:
  void CompareAll(Bytes window, const Reading& ours) {
    const bool transfers_only = mode_ != CodeMode::kX86_64;
    Note("capstone", window, ours, capstone_.Read(window), !transfers_only, transfers_only);
    // LLVM's names are not compared: it spells many aliases, and its text is printed only for what
    // Zydis does not know.
    Note("LLVM", window, ours, ReadWithLlvm(window, mode_), false, transfers_only);
  }

  void Note(const char* library, Bytes window, const Reading& ours, const Reading& theirs,
            bool names, bool transfers_only) {
    const std::string what = Compare(ours, theirs, names, transfers_only);
    if (what.empty()) return;
    const size_t size = std::max({ours.length, theirs.length, 1u});
    differences_.emplace(Row(mode_, library, what, ours, theirs),
                         HexBytes(window.first(std::min(size, window.size()))));
  }

  CodeMode mode_;
  Ours ours_;
  Capstone capstone_;
  std::unordered_set<std::string> seen_;
  Differences differences_;
  size_t instructions_ = 0;
};

// The executable sections' bytes, or nothing for other files.
std::vector<Bytes> CodeOf(const MappedFile& file) {
  std::vector<Bytes> code;
  elf_version(EV_CURRENT);
  char* image = const_cast<char*>(reinterpret_cast<const char*>(file.bytes().data()));
  Elf* elf = elf_memory(image, file.bytes().size());
  GElf_Ehdr header;
  if (elf != nullptr && gelf_getehdr(elf, &header) != nullptr && header.e_type != ET_CORE) {
    for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
         section = elf_nextscn(elf, section)) {
      GElf_Shdr range;
      if (gelf_getshdr(section, &range) == nullptr) break;
      if ((range.sh_flags & SHF_EXECINSTR) != 0 && range.sh_type != SHT_NOBITS)
        code.push_back(Slice(file.bytes(), range.sh_offset, range.sh_size));
    }
  }
  elf_end(elf);
  return code;
}

fs::path SharedTraces() {
  const char* shared = std::getenv("FLOWBACK_SHARED");
  const fs::path root =
      shared != nullptr ? fs::path(shared) : fs::path(SourceFolder() + "/../shared");
  return root / "traces";
}

std::vector<std::shared_ptr<const MappedFile>> OpenImages() {
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (const char* folder : {"generated", "intel-pt"}) {
    for (const auto& entry : fs::recursive_directory_iterator(SharedTraces() / folder)) {
      if (!entry.is_regular_file() || entry.file_size() > (64u << 20)) continue;
      auto file = MappedFile::Open(entry.path());
      if (file && (*file)->bytes().size() > 4 && (*file)->bytes()[0] == 0x7f)
        files.push_back(std::move(*file));
    }
  }
  return files;
}

// Row -> verdict.
std::map<std::string, std::string> ReadTable(const std::string& path) {
  std::map<std::string, std::string> rows;
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    size_t end = 0;
    for (unsigned column = 0; column < 5; ++column) end = line.find('\t', end + (column != 0));
    const size_t verdict = line.find('\t', end + 1);
    if (end == std::string::npos || verdict == std::string::npos || verdict + 1 == line.size()) {
      ADD_FAILURE() << path << ": not seven columns: " << line;
      continue;
    }
    EXPECT_TRUE(rows.emplace(line.substr(0, end), line.substr(verdict + 1)).second)
        << path << ": twice: " << line;
  }
  return rows;
}

TEST(CrossCheck, EveryDifferenceHasAVerdict) {
  if (!fs::is_directory(SharedTraces()))
    GTEST_SKIP() << "no shared recordings: set FLOWBACK_SHARED to their folder";
  const auto files = OpenImages();
  ASSERT_GE(files.size(), kFewestImages);
  Differences found;
  for (const CodeMode mode : {CodeMode::kX86_64, CodeMode::kX86_32, CodeMode::kX86_16}) {
    Sweep sweep(mode);
    for (const auto& file : files)
      for (const Bytes code : CodeOf(*file)) sweep.Run(code);
    RecordProperty(std::string("distinct_") + kModeNames[static_cast<size_t>(mode)],
                   static_cast<int>(sweep.distinct()));
    EXPECT_GT(sweep.instructions(), 1'000'000u) << "the images have more code";
    EXPECT_GT(sweep.distinct(), 100'000u);
    found.insert(sweep.differences().begin(), sweep.differences().end());
  }
  const auto table = ReadTable(SourceFolder() + "/tests/instruction/differences.tsv");
  for (const auto& [row, example] : found)
    EXPECT_TRUE(table.contains(row)) << "a difference without a verdict:\n"
                                     << row << '\t' << example << "\tWHO IS RIGHT, AND WHY";
  for (const auto& [row, verdict] : table)
    EXPECT_TRUE(found.contains(row)) << "no image shows this row any more: " << row;
}

}  // namespace
}  // namespace flowback
