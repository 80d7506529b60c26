// SPDX-License-Identifier: MIT
// A file that code is read from, as its linker laid it out: what counts of several processes,
// recordings and machines have in common, wherever each of them had loaded it.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/base/error.h"
#include "flowback/decode/code_image.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback {

struct ImageFile;  // decode/code/images/image_store.h

// Identifies a file. Files with equal build-ids are the same, even under different paths; so are
// files without build-ids that have equal checksums. If neither is known, because no file was
// found, the paths are compared.
struct ObjectId {
  std::string path;       // as the recording names it
  BuildId build_id;       // empty: it has none
  uint64_t checksum = 0;  // of its code, where it has no build-id and its bytes are known; else 0
  // Code that a process made at run time, or a kernel's in its memory: no file is what ran. `path`
  // is the memory's name ("//anon", "[kernel.kallsyms]"). Offsets are those from where it began in
  // memory. Code of the same bytes is the same; a kernel and its modules are by build-id and name.
  bool made_at_run_time = false;

  bool SameObject(const ObjectId& other) const;
  // Orders by what SameObject compares.
  std::strong_ordering Compare(const ObjectId& other) const;
};

// The code of an object at the addresses in its headers, as objdump shows them. Cheap to copy.
class ObjectImage {
 public:
  // Looks for the file among ImageSearch::files, then as a recording's images are looked for. A
  // file without a build-id must have the checksum if that is known. Errors: kUnreadable if no
  // file, or no file of this build, is found.
  static Result<ObjectImage> Find(const ObjectId& id, const ImageSearch& search);
  // The file itself; `id.path` is its name in reports. Errors: kUnreadable.
  static Result<ObjectImage> Open(const ObjectId& id, const std::string& file);

  const ObjectId& id() const { return id_; }
  // Path on this machine; "[vdso]" for the running kernel's.
  const std::string& file() const { return file_; }
  CodeMode mode() const { return mode_; }
  // Where its code is: executable segments, at their addresses.
  const AddressSpace& space() const { return *space_; }
  // Empty: no code is there.
  std::optional<uint64_t> AddressOf(uint64_t file_offset) const;
  std::optional<uint64_t> OffsetOf(uint64_t address) const;
  // The bytes from there to the end of the segment; none where no code is.
  Bytes CodeAt(uint64_t address) const;
  // Checksum of all its code, to compare with ObjectId::checksum. Never 0.
  uint64_t Checksum() const;
  BuildId build_id() const;
  // The whole file, as long as this lives.
  Bytes bytes() const;
  std::shared_ptr<const ImageFile> content() const { return content_; }

 private:
  struct Part {
    uint64_t address = 0;
    uint64_t file_offset = 0;
    uint64_t size = 0;
  };

  static Result<ObjectImage> Of(const ObjectId& id, std::shared_ptr<const ImageFile> content);
  void AddParts();
  const Part* PartAt(uint64_t address) const;

  ObjectId id_;
  std::string file_;
  CodeMode mode_ = CodeMode::kX86_64;
  std::shared_ptr<const ImageFile> content_;
  std::shared_ptr<const AddressSpace> space_;
  std::vector<Part> parts_;      // by address
  std::vector<Part> by_offset_;  // also without overlap
};

}  // namespace flowback
