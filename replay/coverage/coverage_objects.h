// SPDX-License-Identifier: MIT
// A recording's objects by number: what file, or what memory without a file, code belongs to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "flowback/decode/code_image.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/code_mode.h"
#include "flowback/model/recording.h"
#include "replay/coverage/object_id.h"

namespace flowback {

class CoverageObjects {
 public:
  struct Object {
    ObjectId id;
    CodeMode mode = CodeMode::kX86_64;  // that its file is for
    bool of_kernel = false;
  };
  // Code at an address: the object's byte at `offset`.
  struct Place {
    uint32_t object = 0;
    uint64_t offset = 0;
  };

  // Both must outlive it.
  CoverageObjects(const Recording& recording, const RecordingCode& code);

  // Where the mapping's first byte lies. `pid` -1: not known.
  Place Of(const CodeMapping& mapping, int32_t pid);
  // Returns the place of code at an unmapped address.
  Place Nowhere(uint64_t address);
  // The file of a record of executable memory; kNone where that is no file.
  uint32_t Of(const MmapRecord& record);
  // The file that code was read from.
  uint32_t OfFile(const CodeSection& section) { return OfFile(section.name()); }
  const std::vector<Object>& all() const { return objects_; }

  static constexpr uint32_t kNone = ~uint32_t{0};

 private:
  struct KernelRange {
    uint64_t begin = 0;
    uint64_t end = 0;
    BuildId build_id;
  };

  const ImageStatus* StatusOfFile(const std::string& file) const;
  const ImageStatus* StatusOf(const MmapRecord& record) const;
  uint32_t OfFile(const std::string& file);
  Place OfKernel(const CodeMapping& mapping);
  Place OfCore(const CodeMapping& mapping, int32_t pid);
  Place OfMemory(const CodeMapping& mapping, const std::string& name);
  uint32_t Number(Object object);

  const Recording& recording_;
  std::vector<Object> objects_;
  std::map<ObjectId, uint32_t, ObjectIdLess> numbers_;
  std::map<std::string, uint32_t> files_;
  std::map<std::string, const ImageStatus*> status_of_file_;
  std::multimap<std::string, const ImageStatus*> status_of_path_;
  std::map<std::pair<std::string, std::string>, uint32_t> records_;   // by path and build-id
  using Memory = std::tuple<const CodeSection*, uint64_t, uint64_t>;  // offset, size
  std::map<Memory, uint32_t> memories_;
  std::vector<KernelRange> kernel_;  // by begin
};

}  // namespace flowback
