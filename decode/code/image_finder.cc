// SPDX-License-Identifier: MIT
#include "decode/code/image_finder.h"

#include <algorithm>
#include <utility>

#include "base/hex.h"
#include "decode/code/images/image_search.h"
#include "decode/code/images/kernel_place.h"
#include "decode/code/images/own_vdso.h"

namespace flowback {
namespace {

constexpr size_t kNamedFiles = 2;  // of those that were looked for, in a message
constexpr std::string_view kAbsent = "No such file or directory";
constexpr const char* kCodeFile = ".code";  // behind a recording's name

std::string Key(const MmapRecord& record, const BuildId& build_id) {
  std::string key = record.path + '\n' + build_id.ToHex();
  // The address is a part of the key for memory without a file: nothing else tells such mappings
  // apart.
  if (IsPathless(record.path) && build_id.empty()) key += '\n' + Hex(record.address);
  return key;
}

std::string HowToGet(const BuildId& build_id) {
  return (build_id.empty() ? "copy it from the recorded machine"
                           : "get it with `debuginfod-find executable " + build_id.ToHex() +
                                 "`, or copy it from the recorded machine") +
         ", and name it with --image FILE or its root folder with --symfs DIR";
}

std::string HowToGetVdso(const MmapRecord& record) {
  return "give the recorder's ~/.debug with --build-id-cache (perf keeps the vDSO there), a core "
         "dump of the process with --core, or a copy with --section FILE:0:" +
         Hex(record.size) + ":" + Hex(record.address);
}

bool IsDeleted(const std::string& path) { return WithoutDeleted(path) != path; }

bool Overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size) {
  return a - b < b_size || b - a < a_size;
}

}  // namespace

struct ImageFinder::Search {
  Search(const MmapRecord& r, const BuildId& id) : record(r), build_id(id) {}

  const MmapRecord& record;
  const BuildId& build_id;
  ImageStore::FilePointer file;
  Verification verification = Verification::kUnverified;
  CodeSource source = CodeSource::kNone;
  std::vector<std::string> looked_for;  // files that do not exist or can't be opened
  std::string misfit;                   // why the first file that exists does not fit
};

ImageFinder::ImageFinder(const Recording& recording, const ImageSearch& search,
                         const std::vector<GivenImage>& images, const AddressSpace& given,
                         const CoreCode& cores, ImageStore& store)
    : recording_path_(recording.path),
      instruction_set_(recording.instruction_set),
      kept_(KeptImages::Of(recording)),
      search_(search),
      images_(images),
      given_(given),
      cores_(cores),
      store_(store) {
  for (const auto& [path, build_id] : recording.build_ids) build_ids_.emplace(path, &build_id);
}

const BuildId& ImageFinder::BuildIdOf(const MmapRecord& record) const {
  // The recording's list by path may mean another file of that path.
  if (!record.build_id.empty() || kept_.Find(record, {}) != nullptr) return record.build_id;
  if (const auto known = build_ids_.find(record.path); known != build_ids_.end())
    return *known->second;
  const BuildId* dumped = cores_.BuildIdOf(record);
  return dumped == nullptr ? record.build_id : *dumped;
}

void ImageFinder::Inspect(const MmapRecord& record) {
  const BuildId& build_id = BuildIdOf(record);
  const ImageStore::FilePointer file = Find(record).file;
  if (file == nullptr && !build_id.empty())
    missing_.push_back({record.address, record.size, build_id});
  if (file == nullptr) return;
  for (const GivenImage& image : images_)
    for (const CodeMapping& mapping : image.mappings)
      if (file != image.file && Overlap(record.address, record.size, mapping.address, mapping.size))
        taken_by_.try_emplace(&image, record.path);
}

std::string ImageFinder::WhyUnused(const GivenImage& image, bool anywhere) const {
  const bool mapped = std::ranges::any_of(
      statuses_, [&](const ImageStatus& status) { return status.file == image.file->path; });
  if (mapped) return "nothing ran in it";
  for (const ImageStatus& status : statuses_)
    if (status.rejected && status.problem.starts_with(image.file->path + " "))
      return status.problem.substr(image.file->path.size() + 1);
  if (anywhere)
    return "no file of its name or build-id was mapped, and it can lie anywhere; name its address "
           "with --image " +
           image.file->path + "@ADDRESS";
  const auto taken = taken_by_.find(&image);
  if (taken != taken_by_.end()) return "its addresses are taken by " + taken->second;
  return "nothing ran at its addresses; name the address where it was with --image " +
         image.file->path + "@ADDRESS";
}

void ImageFinder::InspectKernel(const MmapRecord& record) {
  if (!record.path.starts_with(kKernelMap)) return;
  const auto known = build_ids_.find(std::string(kKernelMap));
  const BuildId& build_id =
      record.build_id.empty() && known != build_ids_.end() ? *known->second : record.build_id;
  if (!build_id.empty()) missing_.push_back({record.address, record.size, build_id});
}

std::optional<CodeMapping> ImageFinder::Map(const MmapRecord& record) {
  const Found& found = Find(record);
  if (found.file == nullptr) return std::nullopt;
  const uint64_t file_size = found.file->bytes.size();
  if (record.file_offset >= file_size) {
    statuses_[found.status].problem =
        found.file->path + " has only " + Hex(file_size) + " bytes, but its part from offset " +
        Hex(record.file_offset) + " on was mapped: the file is cut short; " +
        HowToGet(statuses_[found.status].recorded);
    return std::nullopt;
  }
  return store_.MapFile(found.file, record.file_offset, record.size, record.address,
                        found.verification);
}

ImageFinder::Found& ImageFinder::Find(const MmapRecord& record) {
  const BuildId& build_id = BuildIdOf(record);
  const KeptImage* kept = kept_.Find(record, build_id);
  const auto [place, is_new] =
      found_.try_emplace(Key(record, build_id) + (kept == nullptr ? "" : '\n' + kept->name));
  if (is_new) {
    Search search(record, build_id);
    TryGiven(search);
    if (search.file == nullptr) TryKept(search, kept);
    if (search.file == nullptr) TryFiles(search);
    if (search.file == nullptr) TryOwnVdso(search);
    place->second.file = search.file;
    place->second.verification = search.verification;
    AddStatus(search, place->second);
  }
  return place->second;
}

void ImageFinder::TryGiven(Search& search) const {
  for (const GivenImage& image : images_) {
    const bool same_name = BaseName(image.file->path) == BaseName(search.record.path);
    const bool same_build = !search.build_id.empty() && image.file->build_id() == search.build_id;
    if ((!same_name && !same_build) || !Fits(image.file, search)) continue;
    search.file = image.file;
    search.source = CodeSource::kGiven;
    if (search.build_id.empty()) search.verification = Verification::kGiven;
    return;
  }
}

// A copy that was kept for this very mapping contains the code that ran. Its build-id, or a hash of
// all its bytes, shows later changes.
void ImageFinder::TryKept(Search& search, const KeptImage* kept) {
  if (kept == nullptr) return;
  const auto file = store_.Open(kept_.FileOf(kept->name));
  if (!file) {
    search.looked_for.push_back(file.error().message());
    return;
  }
  const bool whole = (*file)->bytes.size() == kept->size &&
                     (!search.build_id.empty() || ImageHash::Of((*file)->bytes) == kept->hash);
  if (!whole) {
    search.misfit = (*file)->path + " is not as it was kept: it has been changed";
  } else if (Fits(*file, search)) {
    search.file = *file;
    search.source = CodeSource::kKept;
    if (search.build_id.empty()) search.verification = Verification::kGiven;
  }
}

void ImageFinder::TryFiles(Search& search) {
  std::vector<std::string> files = CandidateFiles(search_, search.record.path, search.build_id);
  // Code that was in no file stands beside the recording, as it was named when it was made. Both
  // may have moved, or been renamed as an older recording is.
  if (search.record.path.ends_with(kCodeFile) && !search.build_id.empty())
    files.push_back(recording_path_ + kCodeFile);
  for (const std::string& path : files) {
    const auto file = store_.Open(path);
    if (!file) {
      search.looked_for.push_back(file.error().message());
    } else if (Fits(*file, search)) {
      search.file = *file;
      search.source = SourceOf(search_, path);
      return;
    }
  }
}

void ImageFinder::TryOwnVdso(Search& search) {
  if (search.record.path != kVdso || search.build_id.empty()) return;
  const ImageStore::FilePointer file = store_.Adopt(std::string(kVdso), CopyOwnVdso());
  if (file->bytes.empty() || !Fits(file, search)) return;
  search.file = file;
  search.source = CodeSource::kOwnVdso;
}

// Sets the verification if the file fits. Otherwise it sets the reason, unless an earlier file gave
// one.
bool ImageFinder::Fits(const ImageStore::FilePointer& file, Search& search) const {
  const auto misfit = [&](const std::string& reason) {
    const std::string name = file->path == kVdso ? "this machine's vDSO" : file->path;
    if (search.misfit.empty()) search.misfit = name + " " + reason;
    return false;
  };
  const MmapRecord& record = search.record;
  if (!search.build_id.empty()) {
    const BuildId found = file->build_id();
    if (found != search.build_id)
      return misfit((found.empty() ? "has no build-id" : "has build-id " + found.ToHex()) +
                    (cores_.BuildIdOf(record) != nullptr ? ", but the core dump shows "
                                                         : ", but the recording was made with ") +
                    search.build_id.ToHex() + ": it is another build");
    search.verification = Verification::kBuildId;
  }
  if (file->elf)
    if (const std::string foreign = file->elf->WhyForeign(instruction_set_); !foreign.empty())
      return misfit(foreign);
  if (file->elf && file->elf->only_debug_info)
    return misfit("holds debug information only, no code");
  if (file->bits() == 32 && record.address >= kEndOf32Bits)
    return misfit("is a 32-bit file, but was mapped at " + Hex(record.address) +
                  ", where only 64-bit code runs");
  if (record.file_offset >= file->bytes.size())
    return misfit("has only " + Hex(file->bytes.size()) + " bytes, but its part from offset " +
                  Hex(record.file_offset) + " on was mapped");
  return true;
}

// The places that were looked at, for a message. One or two are all named. If there are more, which
// mostly come from the build-id, only these are named: the last one, which is the recorded path,
// and those where a file is that can't be read.
std::string ImageFinder::Tried(const std::vector<std::string>& looked_for) {
  if (looked_for.empty()) return "nowhere to look";
  std::string tried;
  if (looked_for.size() > kNamedFiles)
    tried = "looked in " + std::to_string(looked_for.size()) + " places";
  for (const std::string& place : looked_for) {
    const bool named = looked_for.size() <= kNamedFiles || &place == &looked_for.back() ||
                       !place.ends_with(kAbsent);
    if (named) tried += (tried.empty() ? "" : ", ") + place;
  }
  return tried;
}

std::string ImageFinder::Explain(const Search& search) const {
  const std::string& path = search.record.path;
  if (!search.misfit.empty())
    return search.misfit + "; " +
           (path == kVdso ? HowToGetVdso(search.record) : HowToGet(search.build_id));
  if (IsPathless(path) && path != kVdso)
    return "memory without a file (made at run time) whose bytes the recording lacks; give a core "
           "dump of the process with --core, or its bytes, if you have them, with --section "
           "FILE:OFFSET:" +
           Hex(search.record.size) + ":" + Hex(search.record.address);
  if (path == kVdso)
    return "the recording " +
           (search.build_id.empty() ? "has no build-id for the vDSO, so this machine's can't be "
                                      "known to be the same"
                                    : "was made with the vDSO " + search.build_id.ToHex() +
                                          ", and this machine has none") +
           "; " + HowToGetVdso(search.record);
  if (IsDeleted(path) && search.build_id.empty())
    return "deleted or replaced while it was mapped, and without a build-id no file can be known "
           "to be the one that was; give a core dump of the process with --core, or the file "
           "with --image";
  return "not found (" + Tried(search.looked_for) + "); " + HowToGet(search.build_id);
}

void ImageFinder::AddStatus(const Search& search, Found& found) {
  ImageStatus status;
  status.path = search.record.path;
  status.recorded = search.build_id;
  status.verification = search.verification;
  status.usable = search.file != nullptr;
  status.size_unknown = search.record.size == 0;
  status.source = search.source;
  if (status.usable) {
    status.file = search.file->path;
    status.found = search.file->build_id();
    if (search.file->damage)
      status.problem = search.file->damage->message() + "; " + search.file->damage->remedy();
    else if (search.file->elf && search.file->elf->promised_end != 0)
      status.problem = status.file + " is cut short: code up to offset " +
                       Hex(search.file->elf->promised_end) + " is promised, the file ends at " +
                       Hex(search.file->bytes.size()) + "; " + HowToGet(search.build_id);
  } else if (given_.Overlaps(search.record.address, search.record.size) &&
             search.build_id.empty()) {
    // --section, or an --image of another name, put there by the user.
    const CodeMapping* mapping = given_.Find(search.record.address);
    status.usable = true;
    status.verification = Verification::kGiven;
    status.source = CodeSource::kGiven;
    if (mapping != nullptr) status.file = mapping->section->name();
  } else {
    status.problem = Explain(search);
    status.rejected = !search.misfit.empty();
    if (!status.rejected) status.looked_for = search.looked_for;
  }
  found.status = statuses_.size();
  statuses_.push_back(std::move(status));
}

std::shared_ptr<const CodeSection> ImageFinder::WhyNothing(const MmapRecord& record) {
  Found& found = Find(record);
  if (found.reason != nullptr) return found.reason;
  ImageStatus& status = statuses_[found.status];
  std::string why = (status.path.empty() ? std::string("memory") : status.path) + ": ";
  if (!status.usable && (IsPathless(status.path) || IsDeleted(status.path)))
    why += status.problem;
  else
    why += status.usable     ? status.file + ", which is used for it, has no code there"
           : status.rejected ? "the file that was found is another build"
                             : "the file was not found";
  found.reason = CodeSection::Missing(std::move(why), status.path);
  status.reason = found.reason;
  return found.reason;
}

void ImageFinder::NoteCore(const DumpedRange& range, Verification verification, bool file_agrees) {
  Found& found = Find(*range.record);
  ImageStatus& status = statuses_[found.status];
  if (file_agrees) {
    status.problem = "its bytes are those in the core dump " + range.dump;
    return;
  }
  if (found.file != nullptr)
    status.problem = found.file->path + " is not what ran: its bytes differ from those in " +
                     range.dump + ", which are used instead";
  else
    status.problem.clear();
  status.file = range.core->path;
  status.found = verification == Verification::kBuildId ? status.recorded : BuildId();
  status.source = CodeSource::kCore;
  status.verification = verification;
  status.usable = true;
  status.rejected = found.file != nullptr;
}

void ImageFinder::NoteMovedText(const MmapRecord& record, const std::string& file) {
  ImageStatus& status = statuses_[Find(record).status];
  status.file = file;
  status.source = CodeSource::kMovedText;
  status.verification = Verification::kUnverified;
  status.usable = true;
  status.rejected = false;
  status.looked_for.clear();
  status.problem =
      "the recording lacks the bytes of this memory, which was mapped where the text of " + file +
      " was; they are taken to be the same";
}

bool ImageFinder::Contradicted(const GivenImage& image) const {
  const BuildId own = image.file->build_id();
  return std::any_of(missing_.begin(), missing_.end(), [&](const Missing& missing) {
    return missing.build_id != own &&
           std::any_of(
               image.mappings.begin(), image.mappings.end(), [&](const CodeMapping& mapping) {
                 return Overlap(missing.address, missing.size, mapping.address, mapping.size);
               });
  });
}

std::vector<ImageStatus> ImageFinder::TakeStatuses() {
  for (const GivenImage& image : images_) {
    const std::string& path = image.file->path;
    const bool listed = std::any_of(statuses_.begin(), statuses_.end(),
                                    [&](const ImageStatus& s) { return s.file == path; });
    if (listed) continue;
    ImageStatus status;
    status.path = status.file = path;
    status.found = image.file->build_id();
    status.verification = Verification::kGiven;
    status.source = CodeSource::kGiven;
    status.usable = !Contradicted(image);
    if (!status.usable) {
      status.problem = path +
                       " was given, but what the recording has at its address is of another "
                       "build; name the right file, or the address where this one was";
      // Once for each file: its recorded path may have said so already.
      status.rejected = std::none_of(statuses_.begin(), statuses_.end(), [&](const auto& s) {
        return s.rejected && s.problem.starts_with(path + " ");
      });
    }
    statuses_.push_back(std::move(status));
  }
  return std::move(statuses_);
}

}  // namespace flowback
