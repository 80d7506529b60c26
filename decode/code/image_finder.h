// SPDX-License-Identifier: MIT
// Finds the file behind each recorded mapping, checks that it fits, and keeps account of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "decode/code/core/core_code.h"
#include "decode/code/images/given_code.h"
#include "decode/code/images/image_store.h"
#include "decode/code/images/kept_images.h"
#include "flowback/base/error.h"
#include "flowback/decode/code_image.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback {

class ImageFinder {
 public:
  // All arguments must outlive the object.
  ImageFinder(const Recording& recording, const ImageSearch& search,
              const std::vector<GivenImage>& images, const AddressSpace& given,
              const CoreCode& cores, ImageStore& store);

  // Looks for the mapping's file. REQUIRED for every mapping before Contradicted is asked.
  void Inspect(const MmapRecord& record);
  // For the kernel's own map, whose code comes from elsewhere: a given image over it has to be of
  // this build.
  void InspectKernel(const MmapRecord& record);
  // The mapping with its code; empty when no file fits, which its status explains.
  std::optional<CodeMapping> Map(const MmapRecord& record);
  // Why Map gave nothing, for AddressSpace::Explain.
  std::shared_ptr<const CodeSection> WhyNothing(const MmapRecord& record);
  // What a core dump's bytes were found to be for a mapping: taken instead of a file, or equal to
  // the file's (`file_agrees`), whose build-id is unknown.
  void NoteCore(const DumpedRange& range, Verification verification, bool file_agrees);
  // The memory that the record mapped is taken to hold the text of `file`, which lay there before.
  void NoteMovedText(const MmapRecord& record, const std::string& file);
  // Whether a recorded build-id says that `image` is not what ran at its address.
  bool Contradicted(const GivenImage& image) const;
  // Why nothing was decoded with a given image, if so. `anywhere`: it has no address of its own.
  std::string WhyUnused(const GivenImage& image, bool anywhere) const;
  // One for each recorded file, and one for each given image that belongs to none of them.
  std::vector<ImageStatus> TakeStatuses();

 private:
  struct Found {
    ImageStore::FilePointer file;  // null: nothing fits
    Verification verification = Verification::kUnverified;
    size_t status = 0;
    std::shared_ptr<const CodeSection> reason;  // made when asked for
  };
  struct Search;  // one record's search under way

  Found& Find(const MmapRecord& record);
  void TryGiven(Search& search) const;
  void TryKept(Search& search, const KeptImage* kept);
  void TryFiles(Search& search);
  void TryOwnVdso(Search& search);
  bool Fits(const ImageStore::FilePointer& file, Search& search) const;
  const BuildId& BuildIdOf(const MmapRecord& record) const;
  static std::string Tried(const std::vector<std::string>& looked_for);
  std::string Explain(const Search& search) const;
  void AddStatus(const Search& search, Found& found);

  const std::string recording_path_;
  const std::string_view instruction_set_;
  const KeptImages kept_;
  const ImageSearch& search_;
  const std::vector<GivenImage>& images_;
  const AddressSpace& given_;
  const CoreCode& cores_;
  ImageStore& store_;
  std::unordered_map<std::string, const BuildId*> build_ids_;  // by path
  std::unordered_map<std::string, Found> found_;
  std::vector<ImageStatus> statuses_;
  struct Missing {
    uint64_t address;
    uint64_t size;
    BuildId build_id;
  };
  std::unordered_map<const GivenImage*, std::string> taken_by_;  // recorded over its addresses
  std::vector<Missing> missing_;  // mapped with a build-id that no file has
};

}  // namespace flowback
