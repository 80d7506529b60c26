// SPDX-License-Identifier: MIT
// Where the code of source lines and of functions lies, for breakpoints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowback/session.h"
#include "replay/debug/image_memory.h"

namespace flowback::dap {

// The code of one line: the first statement of each copy of it.
struct LineCode {
  uint32_t line = 0;
  std::vector<uint64_t> addresses;  // sorted
  // More than one if the path fits several files as well: then the line's code in each.
  std::vector<std::string> files;
};

// Reads the lines of a process' files when it is first asked about that process. Used by one
// thread.
class BreakablePlaces {
 public:
  // Lines of more code than this are not known.
  static constexpr size_t kMostStatements = size_t{1} << 23;

  // Both must outlive it.
  BreakablePlaces(Session& session, ImageMemory& images) : session_(session), images_(images) {}

  // Of that line or, where it has no code, of the next one in the file that has. `path` need not be
  // as the compiler has it: the file whose path ends most alike is taken, or all
  // that do as much.
  std::optional<LineCode> OfLine(const AddressSpace& space, const std::string& path, uint32_t line);
  // Where functions of that name are entered; the name is as symbols or lines have it, with its
  // parameters or without. Sorted.
  std::vector<uint64_t> OfFunction(const AddressSpace& space, const std::string& name);
  // The source files, sorted.
  std::vector<std::string> Files(const AddressSpace& space);

 private:
  struct Statement {
    uint32_t line = 0;
    uint64_t scope = 0;  // SourcePlace::scope
    uint64_t address = 0;
  };
  using Statements = std::vector<Statement>;

  void Read(const AddressSpace& space);
  void ReadSegment(const AddressSpace& space, uint64_t begin, uint64_t end);
  void ReadSymbols(const LoadedImage& image);
  std::vector<std::string> FilesLike(const std::string& path) const;
  static void AddLine(const Statements& statements, uint32_t line, LineCode& code);

  Session& session_;
  ImageMemory& images_;
  const AddressSpace* space_ = nullptr;  // that was asked about last
  // What is known is of these files, at these biases.
  std::vector<std::pair<std::string, uint64_t>> read_;
  size_t count_ = 0;
  std::map<std::string, Statements, std::less<>> files_;
  std::multimap<std::string, uint64_t, std::less<>> functions_;  // entries
};

}  // namespace flowback::dap
