// SPDX-License-Identifier: MIT
// What lies at an address of data, by the symbols of the file that is mapped there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {

// Knows the files whose code is mapped. Not thread-safe.
class DataNames {
 public:
  struct Name {
    std::string file;     // as it was opened
    uint64_t place = 0;   // the address in the file, as it is linked
    std::string symbol;   // demangled; empty: none covers the place
    uint64_t offset = 0;  // of the address from the symbol's begin
  };
  DataNames();
  ~DataNames();
  // Empty: no file's data lie there. `space` has the code of the process.
  std::optional<Name> Find(const AddressSpace& space, uint64_t address);

 private:
  struct File;
  const File* Open(const std::string& path);

  std::map<std::string, std::unique_ptr<File>> files_;
};

}  // namespace flowback
