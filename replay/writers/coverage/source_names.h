// SPDX-License-Identifier: MIT
// The names of source files in reports that other programs read together with the source.
#pragma once

#include <string>

#include "replay/coverage/report/source_reader.h"

namespace flowback {

class SourceNames {
 public:
  // `root`: CoverageView's names_under.
  explicit SourceNames(const std::string& root);

  // Returns the file's name relative to the root if it lies there, else as it was compiled.
  std::string NameOf(const std::string& path) const;
  // Returns whether the path may name a file. Rust's standard library has paths that begin with
  // "/rustc/HASH/", which lie on the machine that built the compiler.
  static bool NamesFile(const std::string& path);

 private:
  std::string root_;  // with a slash at its end; empty: not given
  SourceReader reader_;
};

}  // namespace flowback
