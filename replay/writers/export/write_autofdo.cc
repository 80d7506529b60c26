// SPDX-License-Identifier: MIT
// AutoFDO's text profile, with addresses counted from the first page that is loaded of the file,
// and llvm-profgen's, which is the same without its second part, with addresses counted from where
// the file's code begins, and with branches that come from other files: they call, too.
//
//   2                     the number of ranges of code
//   1910-191b:31          first and last instruction, times
//   1940-194d:341
//   0                     addresses of samples: none, as branches contain all of it
//   1                     the number of branches
//   194d->1940:353
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "replay/profile/compiler_profile.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

void WriteRanges(const CompilerProfile& profile, uint64_t base, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}\n", profile.ranges.size());
  for (const ProfileRange& range : profile.ranges)
    fmt::format_to(std::back_inserter(out), "{:x}-{:x}:{}\n", range.begin - base, range.end - base,
                   range.times);
}

void WriteBranches(const CompilerProfile& profile, uint64_t base, bool outside, std::string& out) {
  constexpr uint64_t kOutside = 1;  // the address that llvm-profgen gives to all other code
  const auto is_wanted = [&](const ProfileBranch& branch) {
    return !branch.to_outside && (outside || !branch.from_outside);
  };
  fmt::format_to(std::back_inserter(out), "{}\n",
                 std::ranges::count_if(profile.branches, is_wanted));
  for (const ProfileBranch& branch : profile.branches)
    if (is_wanted(branch))
      fmt::format_to(std::back_inserter(out), "{:x}->{:x}:{}\n",
                     (branch.from_outside ? kOutside : branch.from) - base, branch.to - base,
                     branch.times);
}

}  // namespace

Status WriteAutoFdo(const ProfileExport& input, TextSink& sink) {
  const CompilerProfile& profile = input.profile;
  WriteRanges(profile, profile.first_page, sink.buffer());
  sink.buffer() += "0\n";
  WriteBranches(profile, profile.first_page, false, sink.buffer());
  sink.Commit();
  return {};
}

Status WriteLlvmRaw(const ProfileExport& input, TextSink& sink) {
  const CompilerProfile& profile = input.profile;
  WriteRanges(profile, profile.text_base, sink.buffer());
  WriteBranches(profile, profile.text_base, true, sink.buffer());
  sink.Commit();
  return {};
}

}  // namespace flowback
