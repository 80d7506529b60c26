// SPDX-License-Identifier: MIT
#include <string_view>

#include "flowback/decode/code_image.h"
#include "flowback/replay/loss_tally.h"

namespace flowback {
namespace {

// Returns whether the right code and a whole trace never lead to such a loss.
bool IsContradiction(LossCause cause) {
  return cause == LossCause::kBadInstruction || cause == LossCause::kFlowMismatch ||
         cause == LossCause::kReturnMismatch || cause == LossCause::kRunaway;
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

// An image of unknown size owns no address range, so its losses name no section.
bool ImageTally::IsMissed(const ImageStatus& image) const {
  if (image.usable || (image.reason == nullptr && !image.size_unknown)) return false;
  const auto found = counts_.find(image.size_unknown ? nullptr : image.reason);
  return found != counts_.end() && found->second.missing != 0;
}

std::vector<const ImageStatus*> ImageTally::Missed(const std::vector<ImageStatus>& images) const {
  std::vector<const ImageStatus*> missed;
  for (const ImageStatus& image : images)
    if (!image.rejected && IsMissed(image)) missed.push_back(&image);
  return missed;
}

std::vector<ImageTally::Suspect> ImageTally::Suspects() const {
  std::map<std::string_view, Suspect> by_file;
  for (const auto& [section, count] : counts_) {
    if (section == nullptr || section->bytes().empty() || count.contradictions == 0) continue;
    if (section->verification() == Verification::kBuildId) continue;
    Suspect& suspect = by_file[section->name()];
    suspect.section = section.get();
    suspect.contradictions += count.contradictions;
  }
  std::vector<Suspect> suspects;
  for (const auto& [name, suspect] : by_file) suspects.push_back(suspect);
  return suspects;
}

}  // namespace flowback
