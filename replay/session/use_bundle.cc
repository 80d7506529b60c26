// SPDX-License-Identifier: MIT
#include "replay/session/use_bundle.h"

#include <algorithm>

#include "capture/bundle/given_input.h"
#include "capture/bundle/unpacked_bundle.h"

namespace flowback {
namespace {

using bundle::UnpackedBundle;

void AddRoot(const UnpackedBundle& unpacked, ImageSearch& search) {
  const std::string root(bundle::kRootFolder);
  if (!unpacked.Has(root)) return;
  if (search.symfs.empty())
    search.symfs = unpacked.FileOf(root);
  else if (const std::string debug = root + "/usr/lib/debug"; unpacked.Has(debug))
    search.debug_dirs.push_back(unpacked.FileOf(debug));
}

void AddRest(const UnpackedBundle& unpacked, ImageSearch& search) {
  const bundle::Manifest& manifest = unpacked.manifest();
  const bool has_cores = !search.cores.empty();
  for (const std::string& core : manifest.cores)
    if (!has_cores && unpacked.Has(core)) search.cores.push_back(unpacked.FileOf(core));
  if (search.kallsyms.empty() && unpacked.Has(manifest.kallsyms))
    search.kallsyms = unpacked.FileOf(manifest.kallsyms);
  if (search.kcore.empty() && unpacked.Has(manifest.kcore))
    search.kcore = unpacked.FileOf(manifest.kcore);
}

// Raw traces have no input of their own.
void AddRecording(const UnpackedBundle& unpacked, OpenOptions& options) {
  const bundle::Manifest& manifest = unpacked.manifest();
  OpenOptions given = manifest.given;
  const auto unpack = [&](std::string& file) { file = unpacked.FileOf(file); };
  std::ranges::for_each(given.raw_pt, unpack);
  std::ranges::for_each(given.pevent, unpack);
  std::ranges::for_each(given.sections, unpack, &SectionSpec::file);
  std::ranges::for_each(given.images, unpack, &ImageSpec::file);
  options.input = given.raw_pt.empty() ? unpacked.FileOf(manifest.recording) : "";
  bundle::AddGiven(given, options);
}

}  // namespace

Status UseBundle(SessionOptions& options) {
  if (!bundle::IsBundle(options.open.input)) return {};
  ImageSearch& search = options.search;
  auto unpacked = UnpackedBundle::Open(options.open.input,
                                       {.cache = search.cache, .cache_bytes = search.cache_bytes});
  if (!unpacked) return Fail(unpacked.error());
  options.open.bundle = options.open.input;
  AddRecording(**unpacked, options.open);
  AddRoot(**unpacked, search);
  AddRest(**unpacked, search);
  options.bundle = *std::move(unpacked);
  return {};
}

}  // namespace flowback
