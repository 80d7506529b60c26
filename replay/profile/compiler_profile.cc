// SPDX-License-Identifier: MIT
#include "replay/profile/compiler_profile.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/path_text.h"
#include "decode/code/images/image_store.h"

namespace flowback {
namespace {

// Returns how often a range of each object's code ran; 0 for objects that are not wanted or no
// files.
std::vector<uint64_t> RunsOf(const BranchReport& report, const RecordingCode& code,
                             std::string_view wanted) {
  std::vector<uint64_t> runs(report.objects.size());
  for (const RangeSum& range : report.ranges)
    if (range.begin.object != CodePlace::kNoObject) runs[range.begin.object] += range.times;
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::string_view path = code.RecordedPath(report.objects[i]);
    if (!path.starts_with('/') || !IsNamedObject(wanted, path)) runs[i] = 0;
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

}  // namespace

bool IsNamedObject(std::string_view wanted, std::string_view path) {
  return wanted.empty() || wanted == path || wanted == LastPart(path);
}

std::optional<uint32_t> MostRunObject(const BranchReport& report, const RecordingCode& code,
                                      std::string_view wanted) {
  const std::vector<uint64_t> runs = RunsOf(report, code, wanted);
  const auto most = std::ranges::max_element(runs);
  if (most == runs.end() || *most == 0) return std::nullopt;
  return static_cast<uint32_t>(most - runs.begin());
}

Result<CompilerProfile> MakeCompilerProfile(const BranchReport& report, const RecordingCode& code,
                                            uint32_t number) {
  CompilerProfile profile;
  profile.object = code.RecordedPath(report.objects[number]);
  Result<ObjectImage> image =
      ObjectImage::Open({.path = profile.object, .build_id = {}}, report.objects[number]);
  if (!image) return Fail(image.error());
  profile.image = *std::move(image);
  if (const auto& elf = profile.image->content()->elf) profile.first_page = elf->first_page;
  const std::vector<CodeMapping> mappings = profile.image->space().mappings();
  if (!mappings.empty()) profile.text_base = mappings.front().address;
  const Addresses addresses(number, *profile.image);
  AddRanges(report, addresses, profile);
  AddBranches(report, addresses, profile);
  return profile;
}

}  // namespace flowback
