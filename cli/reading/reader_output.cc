// SPDX-License-Identifier: MIT
#include "cli/reading/reader_output.h"

#include <sys/stat.h>

#include <functional>
#include <string_view>

#include "base/mapped_file.h"
#include "cli/reading/file_head.h"
#include "cli/reading/written_files.h"

namespace flowback::cli {
namespace {

// The one of `paths`' elements that is the file; empty: none is.
template <class Range, class Projection = std::identity>
std::string Among(const Range& range, const SameFile& is_same, Projection path = {}) {
  for (const auto& each : range)
    if (is_same(std::invoke(path, each))) return std::invoke(path, each);
  return {};
}

std::string FirstOf(std::initializer_list<std::function<std::string()>> searches) {
  for (const auto& search : searches)
    if (std::string found = search(); !found.empty()) return found;
  return {};
}

// What the command line names.
std::string AmongNamed(const ReaderOptions& options, const SameFile& is_same) {
  const OpenOptions& open = options.open;
  const ImageSearch& search = options.search;
  const std::string single[] = {open.input, open.bundle, search.kcore, search.kallsyms};
  return FirstOf(
      {[&] { return Among(single, is_same); }, [&] { return Among(open.raw_pt, is_same); },
       [&] { return Among(open.pevent, is_same); }, [&] { return Among(search.cores, is_same); },
       [&] { return Among(open.sections, is_same, &SectionSpec::file); },
       [&] { return Among(open.images, is_same, &ImageSpec::file); }});
}

// What belongs to the recording: its other files, and what its recorder kept beside it.
std::string AmongRecorded(const ReaderOptions& options, const Recording& recording,
                          const SameFile& is_same) {
  const auto path_of = [](const auto& file) { return file->path(); };
  return FirstOf({[&] { return Among(recording.files, is_same, path_of); },
                  [&] { return AmongFilesOf(options.open.input, is_same); },
                  [&] { return AmongFilesBelow(recording.kcore_dir, is_same); }});
}

std::string AmongImages(const RecordingCode* code, const SameFile& is_same) {
  if (code == nullptr) return {};
  const auto path_of = [](const auto& file) { return file->path(); };
  return FirstOf({[&] { return Among(code->files(), is_same, path_of); },
                  [&] { return Among(code->images(), is_same, &ImageStatus::file); }});
}

}  // namespace

Status CheckMayOverwrite(const std::string& path, const std::string& name,
                         const ReaderOptions& options, const Recording& recording,
                         const RecordingCode* code) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode) || about.st_size == 0) return {};
  const SameFile is_same(about);
  const std::string used = FirstOf({[&] { return AmongNamed(options, is_same); },
                                    [&] { return AmongRecorded(options, recording, is_same); },
                                    [&] { return AmongImages(code, is_same); }});
  if (!used.empty()) return Fail(WouldDestroy({"-o", name}, used));
  const std::string_view content = options.force ? "" : KindOfValuableFile(path);
  return content.empty() ? Status() : Fail(IsValuable({"-o", name}, content));
}

Result<Output> OpenOutput(const ReaderOptions& options, const Recording& recording,
                          const RecordingCode* code) {
  return Output::Open(options.output, [&](const std::string& opened) {
    return CheckMayOverwrite(opened, options.output, options, recording, code);
  });
}

}  // namespace flowback::cli
