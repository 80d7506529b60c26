// SPDX-License-Identifier: MIT
// What losses tell of the images: which are missing, and which are likely the wrong ones.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/model/execution.h"

namespace flowback::cli {

struct ReaderOptions;  // cli/reading/reader_options.h

class ImageTally {
 public:
  void Add(const DataLoss& loss);

  // Lines on stderr: images that were found and are not those that ran, where something ran in
  // them; images that are missing where something ran; given ones that were of no use, and those
  // that the trace contradicts.
  void Warn(const RecordingCode& code, const ReaderOptions& options) const;
  // Those that are missing where something ran.
  std::vector<const ImageStatus*> Missed(const std::vector<ImageStatus>& images) const;
  // Says the same of given and contradicted images in their `problem`, for `info`.
  void Mark(const RecordingCode& code, const ReaderOptions& options,
            std::vector<ImageStatus>& images) const;

 private:
  struct Count {
    uint64_t contradictions = 0;
    uint64_t missing = 0;
  };
  struct Suspect {
    std::string image;  // its path
    std::string text;
  };

  bool IsMissed(const ImageStatus& image) const;
  void WarnOfRejected(const std::vector<ImageStatus>& images, const std::string& file) const;
  void WarnOfMissing(const std::vector<ImageStatus>& images, const std::string& file) const;
  // Files that no build-id vouches for and whose code the trace contradicts.
  std::vector<Suspect> Suspects(const std::vector<ImageStatus>& images) const;

  std::map<std::shared_ptr<const CodeSection>, Count> counts_;  // by DataLoss::code
  uint64_t contradictions_ = 0;                                 // wherever
};

// "build-id agrees", "unverified: the recording has no build-id", ... or the image's problem.
std::string ImageVerdict(const ImageStatus& image);

// A line on stderr for each: which file its code was read from, and what vouches for it.
void TellImages(const std::vector<ImageStatus>& images);

}  // namespace flowback::cli
