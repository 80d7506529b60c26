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
#include "replay/debug/values/image_memory.h"

namespace flowback::dap {

// The code of one line: the first statement of each copy of it.
struct LineCode {
  uint32_t line = 0;
  std::vector<uint64_t> addresses;  // sorted
  // Addresses where the line begins with the code of inlined functions, and how many of them.
  std::map<uint64_t, size_t> inlined;
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

  // Returns the code of that line or, if it has none, of the next line with code in the file.
  // `path` need not be as the compiler has it: the file whose path ends most alike is taken, or all
  // that do as much.
  std::optional<LineCode> OfLine(const AddressSpace& space, const std::string& path, uint32_t line);
  // Where functions of that name are entered, and where the code of those begins that are inlined;
  // the name is as replay/dap/function_names.h has it. Sorted.
  std::vector<uint64_t> OfFunction(const AddressSpace& space, const std::string& name);
  // Files of code in which no function has a name, sorted.
  std::vector<std::string> FilesWithoutNames(const AddressSpace& space);
  // Some names of functions that begin so, sorted.
  std::vector<std::string> FunctionsLike(const AddressSpace& space, const std::string& begin,
                                         size_t most);
  // The lines of the file from `first` to `last` that have code, sorted.
  std::vector<uint32_t> LinesWithCode(const AddressSpace& space, const std::string& path,
                                      uint32_t first, uint32_t last);
  // The source files, sorted.
  std::vector<std::string> Files(const AddressSpace& space);

 private:
  struct Statement {
    uint32_t line = 0;
    uint64_t scope = 0;  // SourcePlace::scope
    uint64_t address = 0;
    uint64_t function = 0;  // KeyOf the function as it is inlined
    size_t inlined = 0;     // as LineCode has it
  };
  using Statements = std::vector<Statement>;
  struct Function {
    std::string name;  // as symbols have it
    uint64_t entry = 0;
  };
  using Functions = std::multimap<std::string, Function, std::less<>>;  // by NameParts::Plain
  // Where the code of an inlined function begins.
  struct InlinedCall {
    std::string_view file;  // of the line that calls it
    Statement statement;
  };

  void Read(const AddressSpace& space);
  void ReadSegment(const AddressSpace& space, uint64_t begin, uint64_t end);
  void AddInlined(const SourcePlace& place, const SourcePlace& before, uint64_t id);
  void AddCallingLines();
  void Sort();
  void AddFunctions(const CodeMapping& mapping, Functions& functions);
  std::vector<std::string> FilesLike(const std::string& path) const;
  static void AddLine(const Statements& statements, uint32_t line, LineCode& code);

  Session& session_;
  ImageMemory& images_;
  const AddressSpace* space_ = nullptr;  // that was asked about last
  // The known places belong to these files, at these biases.
  std::vector<std::pair<std::string, uint64_t>> read_;
  size_t count_ = 0;
  std::map<std::string, Statements, std::less<>> files_;
  std::vector<InlinedCall> inlined_;
  Functions functions_;                    // of files
  std::map<std::string, bool> has_names_;  // by file
  Functions made_;                         // of code that the process made
};

}  // namespace flowback::dap
