// SPDX-License-Identifier: MIT
// Which parts of the process's memory the recorder knows as code.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "flowback/base/bytes.h"

namespace flowback::emulate {

// A piece of executable memory.
struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t file_offset = 0;
  std::string path;        // empty: no file
  std::string file;        // MappedFileText: how the recorder finds the very file; empty: no need
  std::string inode = {};  // of the file
  bool shared = false;     // writes to the same memory by other mappings show here
};

// The caller locks. Addresses are the guest's; `base` is what the host adds to them.
class CodeMap {
 public:
  // `files_are_kept`: the recorder copies the files, so that deleted ones need not be recorded by
  // pages.
  explicit CodeMap(bool files_are_kept = false) : files_are_kept_(files_are_kept) {}

  using Announce = std::function<void(const CodeRange&)>;

  bool Knows(uint64_t address) const { return Find(address) != nullptr; }
  // Whether the code there is in no file.
  bool InNoFile(uint64_t address) const;
  bool IsShared(uint64_t address) const;
  // Whether code was mapped from a file with that inode. Unmapped files count, too.
  bool HasFile(const std::string& inode) const { return inodes_.contains(inode); }
  // Looks up the mappings in [begin, end) and announces the unknown ones.
  void Learn(uint64_t begin, uint64_t end, uint64_t base, const Announce& announce);
  // Works as Learn for the executable segment around `address`, or for the whole mapping if no file
  // has segments.
  void LearnAt(uint64_t address, uint64_t base, const Announce& announce);
  // Forgets mappings that are gone.
  void Forget(uint64_t begin, uint64_t end);

  // Returns the code there; null: unknown.
  const CodeRange* Find(uint64_t address) const;

 private:
  void Add(CodeRange range, const Announce& announce);

  const bool files_are_kept_;
  std::set<std::string> inodes_;          // of files
  std::map<uint64_t, CodeRange> ranges_;  // by begin, apart
};

}  // namespace flowback::emulate
