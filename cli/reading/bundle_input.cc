// SPDX-License-Identifier: MIT
#include "cli/reading/bundle_input.h"

#include "capture/bundle/unpacked_bundle.h"
#include "cli/text/status.h"
#include "replay/session/use_bundle.h"

namespace flowback::cli {

Status UseBundleInput(ReaderOptions& options) {
  options.given_search = options.search;
  if (Status status = UseBundle(options); !status) return status;
  if (options.bundle == nullptr || !options.bundle->damage()) return {};
  const Error& damage = *options.bundle->damage();
  std::string problem = damage.message();
  if (damage.offset()) problem += " at offset " + std::to_string(*damage.offset());
  Warn(problem + "; flowback uses the part before it", {damage.remedy()});
  return {};
}

Result<ReaderOptions> OptionsForInput(const ReaderOptions& options, const std::string& input) {
  ReaderOptions other = options;
  other.open.input = input;
  other.search = options.given_search;
  other.bundle = nullptr;
  other.open.bundle.clear();
  if (Status status = UseBundleInput(other); !status) return Fail(status.error());
  return other;
}

}  // namespace flowback::cli
