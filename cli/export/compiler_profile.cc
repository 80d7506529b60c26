// SPDX-License-Identifier: MIT
#include "cli/export/compiler_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/path_text.h"
#include "cli/branches/branch_totals.h"
#include "cli/text/status.h"
#include "decode/code/image_store.h"

namespace flowback::cli {
namespace {

bool IsNamed(const std::string& wanted, std::string_view path) {
  return wanted.empty() || wanted == path || wanted == LastPart(path);
}

// How often a range of its code ran; 0 for what was not asked for, or is no file.
std::vector<uint64_t> RunsOf(const BranchReport& report, const OpenedRecording& opened,
                             const std::string& object) {
  std::vector<uint64_t> runs(report.objects.size());
  for (const RangeSum& range : report.ranges)
    if (range.begin.object != CodePlace::kNoObject) runs[range.begin.object] += range.times;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string_view path = opened.RecordedPath(report.objects[i]);
    if (!path.starts_with('/') || !IsNamed(object, path)) runs[i] = 0;
  }
  return runs;
}

// Addresses of places in one file.
class Addresses {
 public:
  Addresses(uint32_t object, const ObjectImage& image) : object_(object), image_(image) {}

  std::optional<uint64_t> Of(const CodePlace& place) const {
    if (place.object != object_) return std::nullopt;
    return image_.AddressOf(place.offset);
  }

 private:
  uint32_t object_;
  const ObjectImage& image_;
};

void AddRanges(const BranchReport& report, const Addresses& addresses, CompilerProfile& profile) {
  for (const RangeSum& range : report.ranges) {
    const auto begin = addresses.Of(range.begin);
    const auto end = addresses.Of(range.end);
    if (begin && end) profile.ranges.push_back({*begin, *end, range.times});
  }
}

// Branches from other files, and from code that is not at hand, count together by their target.
void AddBranches(const BranchReport& report, const Addresses& addresses, CompilerProfile& profile) {
  std::map<uint64_t, ProfileBranch> from_outside;
  const auto add_outside = [&](uint64_t to, uint64_t times, uint64_t wrong) {
    ProfileBranch& branch = from_outside[to];
    branch.to = to;
    branch.times += times;
    branch.wrong += wrong;
    branch.from_outside = true;
  };
  for (const BranchSum& sum : report.branches) {
    const auto from = addresses.Of(sum.place);
    for (const auto& [place, edge] : sum.edges) {
      const auto to = addresses.Of(place);
      if (from)
        profile.branches.push_back(
            {*from, to.value_or(0), edge.times, edge.wrong, false, !to, sum.kind});
      else if (to)
        add_outside(*to, edge.times, edge.wrong);
    }
  }
  for (const auto& [place, times] : report.arrivals)
    if (const auto to = addresses.Of(place)) add_outside(*to, times, 0);
  for (const auto& [to, branch] : from_outside) profile.branches.push_back(branch);
}

bool WasMapped(const OpenedRecording& opened, const std::string& object) {
  return object.empty() || std::ranges::any_of(opened.code().images(), [&](const auto& image) {
           return IsNamed(object, image.path);
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
    if (IsNamed(object, image->path))
      return Error(ErrorCode::kImageMissing, "export: no code of " + what + " could be decoded: " +
                                                 image->path + " ran and is missing")
          .Remedy("--symfs with a folder that has " + image->path);
  return Error(ErrorCode::kImageMissing, "export: no code of " + what + " ran in a line")
      .Remedy("--object with a file that `flowback info` shows as found");
}

}  // namespace

Result<CompilerProfile> MakeCompilerProfile(OpenedRecording& opened, const std::string& object) {
  const Result<BranchReport> report = SumBranches(opened, "export");
  if (!report) return Fail(report.error());
  const std::vector<uint64_t> runs = RunsOf(*report, opened, object);
  const auto most = std::ranges::max_element(runs);
  if (most == runs.end() || *most == 0) return Fail(NothingRan(opened, object));
  const auto number = static_cast<uint32_t>(most - runs.begin());
  CompilerProfile profile;
  profile.object = opened.RecordedPath(report->objects[number]);
  Result<ObjectImage> image =
      ObjectImage::Open({.path = profile.object, .build_id = {}}, report->objects[number]);
  if (!image) return Fail(image.error());
  profile.image = *std::move(image);
  if (const auto& elf = profile.image->content()->elf) profile.first_page = elf->first_page;
  const std::vector<CodeMapping> mappings = profile.image->space().mappings();
  if (!mappings.empty()) profile.text_base = mappings.front().address;
  const Addresses addresses(number, *profile.image);
  AddRanges(*report, addresses, profile);
  AddBranches(*report, addresses, profile);
  if (std::ranges::any_of(report->branches, [](const auto& sum) { return sum.elsewhere != 0; }))
    Warn(fmt::format("of a branch to more than {} targets only these are in the profile",
                     BranchSums::kMostTargets));
  if (object.empty())
    Warn(fmt::format("the profile is of {}, in which most ran; --object names another",
                     profile.object));
  return profile;
}

}  // namespace flowback::cli
