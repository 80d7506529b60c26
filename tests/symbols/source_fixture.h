// SPDX-License-Identifier: MIT
// Small programs compiled while the test runs, and what LLVM's symbolizer says about them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "flowback/decode/code_image.h"

namespace flowback::test {

// A folder for one test's files; removed with the object.
class SourceFixture {
 public:
  SourceFixture();
  ~SourceFixture();
  SourceFixture(const SourceFixture&) = delete;
  SourceFixture& operator=(const SourceFixture&) = delete;

  std::string File(const std::string& name) const { return folder_ + "/" + name; }
  const std::string& folder() const { return folder_; }
  // Writes inlined.h, first.cc and second.cc: calls inlined into each other, over files, in loops.
  void WriteSources() const;
  // Runs a command line in the folder; false, and a test failure, when it fails.
  bool Run(const std::string& command) const;
  // What the command prints.
  std::string Output(const std::string& command) const;
  // Compiles the sources with `compiler options` and links them as `program`.
  bool Build(const std::string& compiler_and_options, const std::string& program) const;

 private:
  std::string folder_;
};

// One frame, as both sides have it.
struct Frame {
  std::string function;
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  bool operator==(const Frame&) const = default;
};
void PrintTo(const Frame& frame, std::ostream* out);

// A whole ELF file mapped at an address other than the one it was linked for.
class MappedProgram {
 public:
  explicit MappedProgram(const std::string& path);

  const AddressSpace& space() const { return space_; }
  // The linked addresses of .text, half-open.
  uint64_t text_begin() const { return text_begin_; }
  uint64_t text_end() const { return text_end_; }
  // Where the .debug_* sections lie in the file, half-open.
  uint64_t debug_begin() const { return debug_begin_; }
  uint64_t debug_end() const { return debug_end_; }
  // Where the byte of a linked address of .text is mapped.
  uint64_t Mapped(uint64_t linked) const { return linked + slide_; }

 private:
  std::shared_ptr<const MappedFile> file_;
  AddressSpace space_;
  uint64_t text_begin_ = 0;
  uint64_t text_end_ = 0;
  uint64_t debug_begin_ = UINT64_MAX;
  uint64_t debug_end_ = 0;
  uint64_t slide_ = 0;
};

// llvm-symbolizer-19's frames, the innermost first, for each address from `begin` to `end`.
std::vector<std::vector<Frame>> LlvmFrames(const SourceFixture& folder, const std::string& program,
                                           uint64_t begin, uint64_t end);

}  // namespace flowback::test
