// SPDX-License-Identifier: MIT
// Code that was in no file is put into one, for decoders to find as they find any other.
#pragma once

#include <cstdint>
#include <string>

#include "capture/record/output_file.h"

namespace flowback::record {

// An ELF file for x86-64 whose one segment is all the pieces, one behind the other, each at a
// multiple of 4 KiB. (Decoders ask the file's class for the processor's mode.) Whole after each
// piece.
class CodeFile {
 public:
  // Truncates what is there. Errors: kPermission, kSystem.
  static Result<CodeFile> Create(const std::string& path);

  // Where in the file the piece is now.
  Result<uint64_t> Add(Bytes code);
  const std::string& path() const { return file_.path(); }

 private:
  explicit CodeFile(OutputFile file) : file_(std::move(file)) {}
  Status WriteHeader();

  OutputFile file_;
};

}  // namespace flowback::record
