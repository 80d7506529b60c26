// SPDX-License-Identifier: MIT
// The files that a recorder kept beside its recording: the code as it ran, even if the originals
// have changed.
//
// RECORDING.images/ holds them, each under a name of its own, and an index, one line for each fact,
// its words separated by spaces:
//   flowback-images 1
//   image NAME SIZE HASH BUILD-ID|- PATH     a file, and the path it was mapped from
//   mapped NAME TIME PID ADDRESS             for a file without a build-id: its mapping
//   names NAME PID CLOCK-OFFSET|-            names that the process gave to code it made
// A PATH's bytes other than printable ones are written %XX. A file with a build-id
// is known by that; any other file by the mapping's record, which no other recording has, by size
// and by hash.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "flowback/base/bytes.h"
#include "flowback/model/recording.h"

namespace flowback {

// Where a recording's images stand.
std::string ImagesFolderOf(const std::string& recording);
inline constexpr const char* kImagesIndex = "index";

// The text with its bytes other than printable ones, and %, written %XX.
std::string EscapedName(std::string_view text);

// Hashes a file's content, a part of any size at a time. Not collision-resistant.
class ImageHash {
 public:
  void Add(Bytes bytes);
  uint64_t Finish();

  static uint64_t Of(Bytes content);

 private:
  static constexpr size_t kStep = size_t{1} << 20;

  uint64_t hash_ = 0;
  std::vector<uint8_t> rest_;  // less than a step
};

struct KeptImage {
  std::string name;  // in the folder
  uint64_t size = 0;
  uint64_t hash = 0;
  BuildId build_id;  // empty: the file has none
  std::string path;  // that it was mapped from

  std::string Line() const;
};

struct KeptMapping {
  std::string name;
  uint64_t time = 0;
  int32_t pid = -1;
  uint64_t address = 0;

  std::string Line() const;
};

// A file of names, in a format that its content shows.
struct KeptNames {
  std::string name;
  int32_t pid = -1;
  // How far CLOCK_MONOTONIC, which times in it are of, was ahead of the recording's clock, in
  // nanoseconds; empty: they have nothing to do with each other.
  std::optional<int64_t> clock_offset;

  std::string Line() const;
};

class KeptImages {
 public:
  KeptImages() = default;
  KeptImages(KeptImages&&) = default;
  KeptImages& operator=(KeptImages&&) = default;

  // Nothing where there is no index beside the recording. Lines that can't be understood, as a
  // later version may write, are passed over; of a huge index the beginning is read.
  static KeptImages Of(const std::string& recording);
  // Finds the images of an open recording: also if its path names a bundle, beside the file or the
  // folder that it was read from.
  static KeptImages Of(const Recording& recording);

  // The file that the mapping was; null: none. Its content is not looked at.
  const KeptImage* Find(const MmapRecord& record, const BuildId& build_id) const;
  const std::vector<KeptNames>& names() const { return names_; }
  std::string FileOf(const std::string& name) const { return folder_ + "/" + name; }

 private:
  // Pointers lead from one member to another.
  KeptImages(const KeptImages&) = delete;
  KeptImages& operator=(const KeptImages&) = delete;

  using Mapped = std::tuple<uint64_t, int32_t, uint64_t>;  // time, pid, address

  void AddLine(std::string_view line);

  std::string folder_;
  std::map<std::string, KeptImage, std::less<>> images_;  // by name
  std::map<std::string, std::vector<const KeptImage*>> by_build_id_;
  std::map<Mapped, std::string> mapped_;
  std::vector<KeptNames> names_;
};

// Where a kept file was when it ran, for what stood beside it; any other file's path as it is.
std::string OriginOf(const std::string& file);

}  // namespace flowback
