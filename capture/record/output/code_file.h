// SPDX-License-Identifier: MIT
// Code that was in no file is put into one, for decoders to find as they find any other.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "capture/record/output/output_file.h"
#include "flowback/model/code_mode.h"
#include "flowback/model/recording.h"

namespace flowback::record {

// An ELF file for x86-64 or AArch64 whose one segment is all the pieces, one behind the other, each
// at a multiple of 4 KiB. (Decoders ask the file's class for the processor's mode.) Whole after
// each piece. Its build-id is random: should another recording's file take its place, that shows.
class CodeFile {
 public:
  // Truncates an existing file. Errors: kPermission, kSystem.
  static Result<CodeFile> Create(const std::string& path, CodeMode mode = CodeMode::kX86_64);

  // Where in the file the piece is now.
  Result<uint64_t> Add(Bytes code);
  const std::string& path() const { return file_.path(); }
  const BuildId& build_id() const { return build_id_; }

 private:
  CodeFile(OutputFile file, BuildId build_id, CodeMode mode)
      : file_(std::move(file)), build_id_(std::move(build_id)), mode_(mode) {}
  Status WriteHeader();

  OutputFile file_;
  BuildId build_id_;
  CodeMode mode_;
};

}  // namespace flowback::record
