// SPDX-License-Identifier: MIT
#include "cli/reading/image_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/reading/reader_options.h"
#include "cli/text/status.h"
#include "replay/writers/text/first_few.h"

namespace flowback::cli {
namespace {

// Where the right code and a whole trace can't lead.
bool IsContradiction(LossCause cause) {
  return cause == LossCause::kBadInstruction || cause == LossCause::kFlowMismatch ||
         cause == LossCause::kReturnMismatch || cause == LossCause::kRunaway;
}

// ", given for /usr/bin/app"; empty where the file is the recorded path's, or of none.
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

// Only the native engine leaves a trace of what it read.
std::vector<UnusedImage> UnusedImages(const RecordingCode& code, const ReaderOptions& options) {
  return options.engine == "native" ? code.UnusedImages() : std::vector<UnusedImage>();
}

}  // namespace

void ImageTally::Add(const DataLoss& loss) {
  if (IsContradiction(loss.cause)) {
    contradictions_ += loss.count;
    counts_[loss.code].contradictions += loss.count;
  } else if (loss.cause == LossCause::kNoImage) {
    counts_[loss.code].missing += loss.count;
  }
}

// Of what began somewhere and has no known size, no address can be shown to be another's.
bool ImageTally::IsMissed(const ImageStatus& image) const {
  if (image.usable || (image.reason == nullptr && !image.size_unknown)) return false;
  const auto found = counts_.find(image.size_unknown ? nullptr : image.reason);
  return found != counts_.end() && found->second.missing != 0;
}

// The finder's sentence ends with the remedy, behind a semicolon.
void ImageTally::WarnOfRejected(const std::vector<ImageStatus>& images,
                                const std::string& file) const {
  for (const ImageStatus& image : images) {
    const bool given = !image.usable && image.source == CodeSource::kGiven;
    if (!image.rejected || (!given && !IsMissed(image))) continue;
    const size_t remedy = image.problem.find("; ");
    cli::Warn(
        fmt::format("{}: {}: not used: {}", file, image.path, image.problem.substr(0, remedy)),
        {remedy == std::string::npos ? "" : image.problem.substr(remedy + 2)});
  }
}

std::vector<const ImageStatus*> ImageTally::Missed(const std::vector<ImageStatus>& images) const {
  std::vector<const ImageStatus*> missed;
  for (const ImageStatus& image : images)
    if (!image.rejected && IsMissed(image)) missed.push_back(&image);
  return missed;
}

void ImageTally::WarnOfMissing(const std::vector<ImageStatus>& images,
                               const std::string& file) const {
  std::vector<std::string> names;
  for (const ImageStatus* image : Missed(images)) names.push_back(NameOf(*image));
  if (names.empty()) return;
  cli::Warn(fmt::format("{}: no code image of {}", file, FirstFew(names, ", and ")),
            {fmt::format("`flowback info {}` tells where each was looked for", file)});
}

std::vector<ImageTally::Suspect> ImageTally::Suspects(
    const std::vector<ImageStatus>& images) const {
  std::map<std::string, std::pair<const CodeSection*, uint64_t>> by_file;
  for (const auto& [section, count] : counts_) {
    if (section == nullptr || section->bytes().empty() || count.contradictions == 0) continue;
    if (section->verification() == Verification::kBuildId) continue;
    auto& [first, sum] = by_file[section->name()];
    first = section.get();
    sum += count.contradictions;
  }
  std::vector<Suspect> suspects;
  for (const auto& [name, place] : by_file)
    suspects.push_back(
        {name, fmt::format("likely the wrong image: {}{}; {} of the {} contradictions between "
                           "code and trace lie in it",
                           name, UsedFor(*place.first, images), place.second, contradictions_)});
  return suspects;
}

void ImageTally::Warn(const RecordingCode& code, const ReaderOptions& options) const {
  const std::string file = options.InputName();
  WarnOfRejected(code.images(), file);
  WarnOfMissing(code.images(), file);
  for (const Suspect& suspect : Suspects(code.images()))
    cli::Warn(fmt::format("{}: {}", file, suspect.text),
              {"give the file that ran with --image or --symfs; where this is the one, bytes of "
               "the trace are missing or damaged"});
  for (const UnusedImage& unused : UnusedImages(code, options)) {
    const bool told = std::ranges::any_of(code.images(), [&](const ImageStatus& image) {
      return image.rejected && IsMissed(image) && image.problem.starts_with(unused.file + " ");
    });
    if (!told) cli::Warn(fmt::format("{}: {}: not used: {}", file, unused.file, unused.why));
  }
}

void ImageTally::Mark(const RecordingCode& code, const ReaderOptions& options,
                      std::vector<ImageStatus>& images) const {
  const auto mark = [&](const std::string& file, const std::string& text) {
    for (ImageStatus& image : images)
      if (image.usable && image.file == file)
        image.problem = text + (image.problem.empty() ? "" : "; " + image.problem);
  };
  for (const Suspect& suspect : Suspects(code.images())) mark(suspect.image, suspect.text);
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
