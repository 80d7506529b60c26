// SPDX-License-Identifier: MIT
// The names of a program's own regions (flowback/self.h), from its code.
//
//   lea  rdi, [rip + 0xe2a]      "request"
//   call flowback_region_begin
//
// The flow has no values of registers. But the code ahead of a call mostly proves which string its
// argument is: on all ways that lead to the call the register gets the same address.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "flowback/decode/code_image.h"
#include "flowback/model/code_mode.h"
#include "flowback/replay/functions.h"

namespace flowback {

class RegionNames {
 public:
  // `functions` must outlive it.
  explicit RegionNames(FunctionFinder& functions);
  RegionNames(const RegionNames&) = delete;
  RegionNames& operator=(const RegionNames&) = delete;
  ~RegionNames();

  // Returns the string that the call ahead of `return_address` has as its argument of that number,
  // 0 or 1. Empty: the code does not prove it, or can't be read. `space` may be null.
  const std::optional<std::string>& Argument(const AddressSpace* space, uint64_t return_address,
                                             unsigned number);

 private:
  class File;

  std::optional<std::string> Read(const AddressSpace* space, uint64_t return_address,
                                  unsigned number);
  File* FileOf(const CodeMapping& mapping);

  FunctionFinder& functions_;
  std::map<std::string, std::unique_ptr<File>> files_;  // by path; null: it can't be read
  using Place = std::pair<const AddressSpace*, uint64_t>;
  std::map<std::pair<Place, unsigned>, std::optional<std::string>> known_;
};

}  // namespace flowback
