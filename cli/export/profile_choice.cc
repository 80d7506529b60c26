// SPDX-License-Identifier: MIT
#include "cli/export/profile_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "cli/text/status.h"
#include "replay/session/branch_totals.h"

namespace flowback::cli {
namespace {

bool WasMapped(const OpenedRecording& opened, const std::string& object) {
  return object.empty() || std::ranges::any_of(opened.code().images(), [&](const auto& image) {
           return IsNamedObject(object, image.path);
         });
}

// Names the image that helps: the first of those that are missing where something ran.
Error NothingRan(const OpenedRecording& opened, const std::string& object) {
  if (!WasMapped(opened, object))
    return Error(ErrorCode::kUsage, "export: no code of '" + object + "' was mapped")
        .Remedy("--object with a file that `flowback info` lists");
  const std::string what = object.empty() ? "a file" : "'" + object + "'";
  const std::vector<ImageStatus> images = opened.code().images();
  for (const ImageStatus* image : opened.losses().images().Missed(images))
    if (IsNamedObject(object, image->path))
      return Error(ErrorCode::kImageMissing, "export: no code of " + what + " could be decoded: " +
                                                 image->path + " ran and is missing")
          .Remedy("--symfs with a folder that has " + image->path);
  return Error(ErrorCode::kImageMissing, "export: no code of " + what + " ran in a line")
      .Remedy("--object with a file that `flowback info` shows as found");
}

}  // namespace

Result<CompilerProfile> ChooseProfile(OpenedRecording& opened, const std::string& object,
                                      const ThreadPart& part) {
  const WorkProgress progress = opened.ShowProgress("export", opened.SelectedBytes());
  const Result<BranchReport> report = SumBranches(opened, part);
  if (!report) return Fail(report.error());
  const std::optional<uint32_t> number = MostRunObject(*report, opened.code(), object);
  if (!number) return Fail(NothingRan(opened, object));
  Result<CompilerProfile> profile = MakeCompilerProfile(*report, opened.code(), *number);
  if (!profile) return profile;
  if (std::ranges::any_of(report->branches, [](const auto& sum) { return sum.elsewhere != 0; }))
    Warn(fmt::format("of a branch to more than {} targets only these are in the profile",
                     BranchSums::kMostTargets));
  if (object.empty())
    Warn(fmt::format("the profile is of {}, in which most ran; --object names another",
                     profile->object));
  return profile;
}

}  // namespace flowback::cli
