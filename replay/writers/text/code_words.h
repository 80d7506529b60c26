// SPDX-License-Identifier: MIT
// Places in code, in words: function, source line, file of the code.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "flowback/replay/source_lines.h"
#include "flowback/replay/symbolizer.h"

namespace flowback {

// What names code. Refers to objects that must outlive it.
struct NameSources {
  SourceLines* lines = nullptr;
  Symbolizer* symbolizer = nullptr;
  // Returns the path that a file of code was recorded under.
  const std::function<std::string(const std::string& file)>* recorded_path = nullptr;
};

// Where code is, in words.
struct CodeWords {
  std::string function;  // empty: no symbol covers it
  uint64_t offset = 0;   // from the function's begin
  std::string file;      // of the source; empty: not known
  uint32_t line = 0;
  std::string object;  // the file of the code, without its folder; empty: none is mapped there
  std::string code;    // that file's path here
  uint64_t place = 0;  // in that file

  bool has_line() const { return !file.empty(); }
  // Returns "srv.cc:13", or "srv+0x1234" where no line is known.
  std::string LineOrPlace() const;
  // Returns "handle(int)+0x42, srv.cc:13", or "srv+0x1234".
  std::string Full() const;
};
CodeWords WordsOf(const NameSources& names, const AddressSpace* space, uint64_t ip);

// Returns a function's name as sentences have it, printable (printable.h) and of 80 columns at
// most: a name of more than 48 bytes has "..." in place of its template arguments and, if it is
// still longer, of its parameters. "(anonymous namespace)" stays.
std::string ShortName(std::string_view name);

// Returns the index of the innermost frame whose source is not one of the system's headers, from
// which libraries' templates are inlined; if all are, 0. REQUIRES: the place has frames.
size_t OwnFrame(const SourcePlace& place);

}  // namespace flowback
