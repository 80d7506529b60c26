// SPDX-License-Identifier: MIT
// Says what losses mean for the images: which are missing, and which are likely the wrong ones.
#pragma once

#include <string>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "flowback/replay/loss_tally.h"

namespace flowback::cli {

struct ReaderOptions;  // cli/reading/reader_options.h

// Warns of images that were found but are not the ones that ran, if something ran in them; of
// images that are missing where something ran; of given images that were of no use, and of images
// that the trace contradicts.
void WarnOfImages(const ImageTally& tally, const RecordingCode& code, const ReaderOptions& options);
// Sets the `problem` of given and contradicted images, for `info`.
void MarkImages(const ImageTally& tally, const RecordingCode& code, const ReaderOptions& options,
                std::vector<ImageStatus>& images);

// Returns "build-id agrees", "unverified: the recording has no build-id", ... or the image's
// problem.
std::string ImageVerdict(const ImageStatus& image);

// Writes a line to stderr for each image: the file its code was read from, and what vouches for it.
void TellImages(const std::vector<ImageStatus>& images);

}  // namespace flowback::cli
