// SPDX-License-Identifier: MIT
// BOLT's pre-aggregated profile: a line for each branch, `B FROM TO TIMES WRONG`, and for each
// range of code, `F FIRST LAST TIMES`. Places outside of the file are X:0.
#include <fmt/format.h>

#include <iterator>

#include "replay/profile/compiler_profile.h"
#include "replay/writers/export/export_input.h"
#include "replay/writers/writers.h"

namespace flowback {
namespace {

std::string PlaceText(uint64_t address, bool outside) {
  return outside ? "X:0" : fmt::format("{:x}", address);
}

}  // namespace

Status WriteBolt(const ProfileExport& input, TextSink& sink) {
  const CompilerProfile& profile = input.profile;
  auto out = std::back_inserter(sink.buffer());
  for (const ProfileBranch& branch : profile.branches)
    fmt::format_to(out, "B {} {} {} {}\n", PlaceText(branch.from, branch.from_outside),
                   PlaceText(branch.to, branch.to_outside), branch.times, branch.wrong);
  for (const ProfileRange& range : profile.ranges)
    fmt::format_to(out, "F {:x} {:x} {}\n", range.begin, range.end, range.times);
  sink.Commit();
  return {};
}

}  // namespace flowback
