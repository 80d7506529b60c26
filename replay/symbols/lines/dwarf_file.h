// SPDX-License-Identifier: MIT
// Data from a file's DWARF, one compile unit at a time, flattened so that users need not know
// DWARF.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flowback::symbols {

// All ranges of addresses are half-open; the addresses are those the file was linked for.

constexpr uint32_t kNone = UINT32_MAX;

struct UnitRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t unit = 0;
};

// A row of the line table and the range that it holds for.
struct LineRow {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t file = kNone;       // index in UnitInfo::files
  uint32_t line = 0;           // 0: the compiler says that no line made this code
  uint32_t column = 0;         // 0: unknown
  bool is_statement = true;    // false: code of the line that the compiler moved among others
  uint32_t discriminator = 0;  // distinguishes parts of a line, as the compiler numbers them
};

struct SourceFileInfo {
  std::string path;                            // absolute where the compiler's folder is known
  std::optional<std::array<uint8_t, 16>> md5;  // of its contents when it was compiled
};

// A function, or one inlined call of one.
struct Subroutine {
  uint32_t parent = kNone;  // the subroutine it was inlined into; kNone: not inlined
  uint32_t name = kNone;    // index in UnitInfo::names
  uint32_t call_file = kNone;
  uint32_t call_line = 0;
  uint32_t call_column = 0;
  uint32_t call_discriminator = 0;
  uint32_t first_line = 0;  // where its source begins; 0: unknown
};

struct SubroutineRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint32_t subroutine = 0;
  uint32_t depth = 0;  // of its DIE: the deepest that covers an address is the innermost
};

struct UnitInfo {
  std::vector<SourceFileInfo> files;
  std::vector<std::string> names;  // mangled
  std::vector<LineRow> rows;       // in no order; may overlap in damaged files
  std::vector<Subroutine> subroutines;
  std::vector<SubroutineRange> ranges;  // by address
  bool is_split = false;                // a part of it is in another file, or would be
  std::string split_file;               // that file, if it was found
  std::string split_name;               // its path as the compiler wrote it; empty: it is a .dwp
};

struct DwarfRequest {
  std::string path;                  // the ELF file that holds the DWARF
  std::string program_path;          // the one it belongs to: split files lie beside it
  std::vector<std::string> folders;  // further folders under which split files may lie
};

// A variable of a function, as it is at one address.
struct VariableInfo {
  enum class Kind : uint8_t { kOther, kSigned, kUnsigned, kFloat, kBool, kCharacter, kPointer };
  std::string name;
  std::string type;    // as the source names it
  uint32_t bytes = 0;  // 0: unknown
  Kind kind = Kind::kOther;
  uint32_t level = 0;  // of the function, the innermost one that is inlined there first
  // Where it is: a DWARF expression. Empty: the compiler kept it nowhere.
  std::string location;
  std::optional<int64_t> constant;  // that it is
};

struct VariablesInfo {
  std::string frame_base;  // of the function that is not inlined: a DWARF expression
  std::vector<VariableInfo> variables;
};

}  // namespace flowback::symbols
