// SPDX-License-Identifier: MIT
// The instructions of a function as a text, which editors show where there is no source: one
// instruction a line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowback/session.h"

namespace flowback::dap {

class ListedFunction {
 public:
  // Functions with more instructions are listed as far.
  static constexpr size_t kMostLines = size_t{1} << 16;

  // The function at that address. Without lines where no function is known there.
  static ListedFunction At(Session& session, const AddressSpace& space, uint64_t address,
                           CodeMode mode);

  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  // The line of the instruction that holds the address, counted from 1. Empty: none does.
  std::optional<uint32_t> LineOf(uint64_t address) const;
  // Returns the address of the line's instruction. Empty: the line has none.
  std::optional<uint64_t> AddressOf(uint32_t line) const;
  uint64_t begin() const { return addresses_.empty() ? 0 : addresses_.front(); }

 private:
  std::string name_;
  std::string text_;
  std::vector<uint64_t> addresses_;  // by line
  uint64_t end_ = 0;                 // behind the last one
};

}  // namespace flowback::dap
