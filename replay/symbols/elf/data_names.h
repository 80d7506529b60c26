// SPDX-License-Identifier: MIT
// Names of data at an address, by the symbols of the file that is mapped there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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
  // The address of the data that a mapped file names so, mangled; of several files, the first one.
  std::optional<uint64_t> AddressOf(const AddressSpace& space, std::string_view symbol);

 private:
  struct File;
  // The file of a mapping and how far it is moved from where it is linked; null: it can't be read.
  struct Loaded {
    const File* file = nullptr;
    uint64_t bias = 0;
  };
  const File* Open(const std::string& path);
  Loaded Load(const CodeMapping& mapping);

  std::map<std::string, std::unique_ptr<File>> files_;
};

}  // namespace flowback
