// SPDX-License-Identifier: MIT
#include "cli/reading/image_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/reading/reader_options.h"
#include "cli/text/status.h"
#include "replay/writers/text/counted.h"
#include "replay/writers/text/first_few.h"

namespace flowback::cli {
namespace {

// Returns ", given for /usr/bin/app"; "" where the file has the recorded path, or is no image's.
std::string UsedFor(const CodeSection& section, const std::vector<ImageStatus>& images) {
  for (const ImageStatus& image : images)
    if (image.file == section.name() && image.path != image.file)
      return fmt::format(", {} for {}",
                         section.verification() == Verification::kGiven ? "given" : "found",
                         image.path);
  return {};
}

std::string NameOf(const ImageStatus& image) {
  const std::string path = image.path.empty() ? "memory" : image.path;
  return image.recorded.empty() ? path
                                : fmt::format("{} (build-id {})", path, image.recorded.ToHex());
}

// Only the native engine notes which images it read.
std::vector<UnusedImage> UnusedImages(const RecordingCode& code, const ReaderOptions& options) {
  return options.engine == "native" ? code.UnusedImages() : std::vector<UnusedImage>();
}

// The finder's sentence ends with the remedy, after a semicolon.
void WarnOfRejected(const ImageTally& tally, const std::vector<ImageStatus>& images,
                    const std::string& file) {
  for (const ImageStatus& image : images) {
    const bool given = !image.usable && image.source == CodeSource::kGiven;
    if (!image.rejected || (!given && !tally.IsMissed(image))) continue;
    const size_t remedy = image.problem.find("; ");
    Warn(fmt::format("{}: {}: not used: {}", file, image.path, image.problem.substr(0, remedy)),
         {remedy == std::string::npos ? "" : image.problem.substr(remedy + 2)});
  }
}

void WarnOfMissing(const ImageTally& tally, const std::vector<ImageStatus>& images,
                   const std::string& file) {
  std::vector<std::string> names;
  for (const ImageStatus* image : tally.Missed(images)) names.push_back(NameOf(*image));
  if (names.empty()) return;
  Warn(fmt::format("{}: no code image of {}", file, FirstFew(names, ", and ")),
       {fmt::format("`flowback info {}` lists the places tried for each", file)});
}

std::string SuspectText(const ImageTally& tally, const ImageTally::Suspect& suspect,
                        const std::vector<ImageStatus>& images) {
  return fmt::format(
      "likely the wrong image: {}{}; {} of the {} contradictions between code and trace {} in it",
      suspect.section->name(), UsedFor(*suspect.section, images), suspect.contradictions,
      tally.contradictions(), ByCount(suspect.contradictions, "lies", "lie"));
}

void WarnOfUnused(const ImageTally& tally, const RecordingCode& code,
                  const ReaderOptions& options) {
  for (const UnusedImage& unused : UnusedImages(code, options)) {
    const bool warned = std::ranges::any_of(code.images(), [&](const ImageStatus& image) {
      return image.rejected && tally.IsMissed(image) &&
             image.problem.starts_with(unused.file + " ");
    });
    if (!warned)
      Warn(fmt::format("{}: {}: not used: {}", options.InputName(), unused.file, unused.why));
  }
}

}  // namespace

void WarnOfImages(const ImageTally& tally, const RecordingCode& code,
                  const ReaderOptions& options) {
  const std::string file = options.InputName();
  WarnOfRejected(tally, code.images(), file);
  WarnOfMissing(tally, code.images(), file);
  for (const ImageTally::Suspect& suspect : tally.Suspects())
    Warn(fmt::format("{}: {}", file, SuspectText(tally, suspect, code.images())),
         {"give the file that ran with --image or --symfs; where this is the one, bytes of the "
          "trace are missing or damaged"});
  WarnOfUnused(tally, code, options);
}

void MarkImages(const ImageTally& tally, const RecordingCode& code, const ReaderOptions& options,
                std::vector<ImageStatus>& images) {
  const auto mark = [&](const std::string& file, const std::string& text) {
    for (ImageStatus& image : images)
      if (image.usable && image.file == file)
        image.problem = text + (image.problem.empty() ? "" : "; " + image.problem);
  };
  const std::vector<ImageTally::Suspect> suspects = tally.Suspects();
  for (const ImageTally::Suspect& suspect : suspects)
    mark(suspect.section->name(), SuspectText(tally, suspect, images));
  for (const UnusedImage& unused : UnusedImages(code, options))
    mark(unused.file, "not used: " + unused.why);
}

std::string ImageVerdict(const ImageStatus& image) {
  if (!image.usable) return image.problem.empty() ? "not found" : image.problem;
  switch (image.verification) {
    case Verification::kBuildId:
      return "found, build-id agrees";
    case Verification::kUnverified:
      if (image.source == CodeSource::kCore)
        return "found, unverified: as it was when the core dump was written";
      if (image.source == CodeSource::kMovedText)
        return "taken to be the file's text, moved; unverified";
      return "found, unverified: the recording has no build-id";
    case Verification::kGiven:
      return "given";
  }
  return "found";
}

void TellImages(const std::vector<ImageStatus>& images) {
  for (const ImageStatus& image : images)
    Warn(fmt::format("code of {}: {}{}", image.path, ImageVerdict(image),
                     image.usable && image.file != image.path ? ", in " + image.file : ""));
}

}  // namespace flowback::cli
