// SPDX-License-Identifier: MIT
// Names of functions at addresses, from the symbol tables of the ELF files.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/decode/recording_code.h"

namespace flowback {

// A file's symbols are read when the first address in it is asked for; a file without any, or one
// that can't be read, has no names and is no error. May be used by several threads.
class Symbolizer {
 public:
  struct Symbol {
    std::string_view name;     // demangled; "puts@plt" in a procedure linkage table
    uint64_t offset = 0;       // of the address from the symbol's start
    uint64_t size = 0;         // of the symbol in bytes, at least offset + 1
    bool is_function = false;  // the symbol table says so; else it is a label in code
    // The name of the function: as `name`, but "f" for code of f that was moved away ("f.cold").
    std::string_view function{};
    // Where the function begins that this is: the begin of another symbol for code that was moved
    // away ("f.cold"). An offset in the file; empty for code that is in no ELF file.
    std::optional<uint64_t> whole{};
  };

  // `search`: where separate debug files lie. `recording`, which must outlive the object: the one
  // whose code it is; kept with it may be names of code that its processes made.
  explicit Symbolizer(ImageSearch search = {}, const Recording* recording = nullptr);
  ~Symbolizer();

  // Empty when nothing is mapped at `ip` or no symbol covers it; of the kernel's addresses names
  // may be known without their code. The name lives as long as this.
  std::optional<Symbol> Find(const AddressSpace& space, uint64_t ip);
  // Returns other names of the symbol that Find returns, demangled: its aliases in the file's
  // tables ("malloc" of "__libc_malloc"), also with their versions ("memcpy@GLIBC_2.14"). Empty for
  // code that is in no ELF file.
  std::vector<std::string> OtherNames(const AddressSpace& space, uint64_t ip);
  // Calls `visit` with each function that is entered in that part of a space, by each of its names.
  void VisitEntries(const CodeMapping& mapping,
                    const std::function<void(std::string_view name, uint64_t ip)>& visit);
  // The names in all ELF files that were asked about so far, at most `most` of them, demangled.
  std::vector<std::string> KnownNames(size_t most);

  // The files that names were looked for in so far; "" stands for code that processes made.
  std::vector<std::string> FilesRead() const;
  // Identifies the source of such a file's names: the files, with their sizes and times. The result
  // changes if one of them changes. Reads only as much as that requires.
  std::string SourceOf(const std::string& file) const;

 private:
  struct Files;

  ImageSearch search_;
  std::unique_ptr<Files> files_;
};

}  // namespace flowback
