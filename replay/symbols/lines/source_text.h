// SPDX-License-Identifier: MIT
// The lines of a source file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace flowback::symbols {

class SourceText {
 public:
  // False when the file can't be read; then there are no lines.
  bool Read(const std::string& path);
  // Without white space around it; empty when there is no such line. Lines count from 1.
  std::string_view Line(uint32_t number) const;

 private:
  std::string text_;
  std::vector<size_t> begins_;
};

}  // namespace flowback::symbols
