// SPDX-License-Identifier: MIT
// The code of the traced process: its instructions, decoded once, and the memory they lie in.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "capture/record/image/mapped_image.h"
#include "capture/record/target/process_maps.h"
#include "flowback/base/bytes.h"
#include "flowback/model/instruction.h"

namespace flowback::record {

// An instruction as it stood in memory.
struct FetchedInstruction {
  Instruction instruction;
  std::array<uint8_t, kLongestInstruction> code{};
  uint8_t size = 0;    // readable bytes from its address on
  bool known = false;  // `instruction` holds its class
  CodeMode mode = CodeMode::kX86_64;

  Bytes bytes() const { return {code.data(), known ? instruction.length : size}; }
};

// Not thread-safe. Reading happens while the thread that runs the code is stopped.
class StoppedCodeReader {
 public:
  // `files_are_kept`: those that are mapped need not be found at their paths later.
  explicit StoppedCodeReader(pid_t tid, bool files_are_kept = false)
      : tid_(tid), files_are_kept_(files_are_kept) {}

  // A thread of the process that is alive: the first one's end may come early, and the kernel shows
  // no memory through it then.
  void ReadThrough(pid_t tid) { tid_ = tid; }
  // The mappings of a process just forked, which are its parent's.
  void Inherit(const StoppedCodeReader& parent) {
    mappings_ = parent.mappings_;
    pages_ = parent.pages_;
    images_ = parent.images_;
  }
  // The instruction at `ip`, from the cache where the memory can't have changed.
  FetchedInstruction Fetch(uint64_t ip, CodeMode mode);
  // Call it after anything that may have changed the process's mappings. Returns the new executable
  // mappings.
  std::vector<ExecutableMapping> Refresh();
  // Call it after anything that may have written to files: their code is read anew, and kept by
  // pages from then on.
  void NoteWrites();
  // The file behind a mapping that Refresh returned last; null: it has none.
  const MappedImage* ImageOf(const ExecutableMapping& mapping) const;
  // The process runs another program now: forget everything.
  void Reset();

  // `size` bytes of the process's memory; fewer when not all can be read.
  std::vector<uint8_t> ReadMemory(uint64_t address, size_t size) const;

  // Code that may change is kept by pages, as it was when it was fetched. These are the ones that
  // Fetch found new or changed since the last call.
  std::vector<uint64_t> TakeChangedPages() { return std::exchange(changed_, {}); }
  Bytes Page(uint64_t address) const { return pages_.at(address); }
  static constexpr uint64_t kPageSize = 4096;

  // Returns the executable mapping at the address; null: none is there.
  const ExecutableMapping* Find(uint64_t address) const;

 private:
  bool MayChange(const ExecutableMapping& mapping, uint64_t address);
  bool IsAsInFile(const ExecutableMapping& mapping, uint64_t page) const;
  void KeepPages(uint64_t address, Bytes code);
  FetchedInstruction Read(uint64_t ip, CodeMode mode) const;

  void OpenImages();

  pid_t tid_;
  bool files_are_kept_;
  std::vector<ExecutableMapping> mappings_;  // by address
  std::unordered_map<uint64_t, FetchedInstruction> cache_;
  std::map<std::string, std::shared_ptr<const MappedImage>> images_;  // by identity
  std::map<std::string, std::string> versions_;                       // of the images, by identity
  std::set<std::string> written_;  // identities of files that were written to
  std::map<uint64_t, std::vector<uint8_t>> pages_;
  std::vector<uint64_t> changed_;
  std::unordered_map<uint64_t, bool> as_in_file_;  // pages of files that were compared
};

}  // namespace flowback::record
