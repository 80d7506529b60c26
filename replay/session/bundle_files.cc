// SPDX-License-Identifier: MIT
#include "replay/session/bundle_files.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include "base/mapped_file.h"
#include "base/path_text.h"
#include "capture/bundle/unpacked_bundle.h"
#include "decode/code/images/elf_file.h"
#include "decode/code/images/image_search.h"
#include "decode/code/images/kept_images.h"
#include "decode/code/images/own_vdso.h"
#include "replay/session/noted_core.h"
#include "replay/symbols/lines/source_file.h"

namespace flowback {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, kPackedKinds> kNames = {"recording", "images",     "debug files",
                                                          "sources",   "core dumps", "kernel"};

std::vector<uint8_t> BytesOf(const std::string& text) { return {text.begin(), text.end()}; }

std::string TextOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool IsFile(const std::string& path) {
  std::error_code failed;
  return fs::is_regular_file(path, failed);
}

// The path under which files of it stand in the folder for files with paths; empty: it has no
// place there.
std::string InRoot(const std::string& path) {
  const std::string normal = NormalPath(path);
  const std::string member = std::string(bundle::kRootFolder) + normal;
  return normal.starts_with('/') && bundle::IsMemberName(member) ? member : "";
}

class FileLister {
 public:
  FileLister(const Session& session, const BundleChoice& choice)
      : session_(session),
        choice_(choice),
        recording_(session.recording()),
        path_(PathOfInput(session.options().open)) {}

  Result<BundleFiles> List() {
    std::error_code failed;
    if (!IsFile(path_) && !fs::is_directory(path_, failed))
      return Fail(Error(ErrorCode::kUsage, path_ + ": is no file or folder, and cannot be packed")
                      .Remedy("save the recording as a file and name that"));
    if (Status status = AddRecording(); !status) return Fail(status.error());
    if (Status status = AddGivenFiles(); !status) return Fail(status.error());
    AddImages();
    for (const auto& [image, member] : images_) AddSymbols(image, member);
    AddCores();
    AddKernel();
    return std::move(files_);
  }

 private:
  bool Add(std::string member, const std::string& path, PackedKind kind) {
    if (!bundle::IsMemberName(member)) {
      files_.problems.push_back(path + ": a bundle cannot have a file named so");
      return false;
    }
    if (!members_.insert(member).second) return false;
    files_.files.push_back({.member = std::move(member), .path = path, .kind = kind});
    return true;
  }
  void AddContent(std::string member, PackedKind kind, std::vector<uint8_t> content) {
    if (Add(std::move(member), {}, kind)) files_.files.back().content = std::move(content);
  }
  // All files in the folder and below.
  void AddBelow(const fs::path& folder, const std::string& member, PackedKind kind) {
    std::error_code failed;
    std::vector<fs::path> found;
    for (fs::recursive_directory_iterator at(folder, failed), end; !failed && at != end;
         at.increment(failed))
      if (at->is_symlink(failed))
        files_.problems.push_back(at->path().string() + " is a link");
      else if (IsFile(at->path()) && !bundle::IsBundle(at->path()))
        found.push_back(at->path());
    std::ranges::sort(found);
    for (const fs::path& path : found)
      Add(member + "/" + path.lexically_relative(folder).string(), path, kind);
  }

  Status AddRecording() {
    std::error_code failed;
    fs::path path = fs::absolute(path_, failed).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    const bool is_folder = fs::is_directory(path, failed);
    // In the manifest it has to be text.
    member_ = std::string(bundle::kRecordingFolder) + "/" + EscapedName(path.filename().string());
    if (is_folder)
      AddBelow(path, member_, PackedKind::kRecording);
    else
      Add(member_, path_, PackedKind::kRecording);
    if (files_.files.empty())
      return Fail(Error(ErrorCode::kUnsupported, path_ + ": a bundle cannot have a file named so")
                      .Remedy("rename the recording"));
    if (recording_.format.starts_with("LLDB") && !is_folder)
      AddFilesOfLldbBundle(path.parent_path());
    files_.manifest.recording = member_;
    files_.manifest.input = session_.options().InputName();
    return {};
  }

  static std::string PathOfInput(const OpenOptions& open) {
    return open.raw_pt.empty() ? open.input : open.raw_pt.front();
  }

  // What the command line says of the recording, and the files that it names beside images. The
  // first raw trace is the recording.
  Status AddGivenFiles() {
    OpenOptions& given = files_.manifest.given;
    given = session_.options().open;
    given.input.clear();
    size_t number = 0;
    const auto pack = [&](std::string& file) {
      if (file == path_) {
        file = member_;
        return true;
      }
      const std::string member = std::string(bundle::kRecordingFolder) + "/g" +
                                 std::to_string(++number) + "-" + EscapedName(BaseName(file));
      const bool is_new = Add(member, file, PackedKind::kRecording);
      file = member;
      return is_new;
    };
    const bool are_packed =
        std::ranges::all_of(given.raw_pt, pack) && std::ranges::all_of(given.pevent, pack);
    return are_packed ? Status()
                      : Fail(Error(ErrorCode::kUnsupported,
                                   "a bundle cannot have a file named as one of the recording's")
                                 .Remedy("rename the files that --raw-pt and --pevent name"));
  }

  // Code that the command line names is kept under its names for the files.
  void AddGivenCode() {
    const auto keep = [this](std::string& file) {
      ImageStatus image;
      image.path = OriginOf(file);
      image.file = file;
      image.source = CodeSource::kGiven;
      AddImage(image);
      file = images_[file];
    };
    std::ranges::for_each(files_.manifest.given.images, keep, &ImageSpec::file);
    std::ranges::for_each(files_.manifest.given.sections, keep, &SectionSpec::file);
  }

  // It names them from its own folder on.
  void AddFilesOfLldbBundle(const fs::path& folder) {
    const auto add = [&](const auto& file) {
      const fs::path relative = fs::path(file->path()).lexically_relative(folder);
      if (relative.empty() || *relative.begin() == "..")
        files_.problems.push_back(file->path() + " lies outside of the bundle's folder");
      else
        Add(std::string(bundle::kRecordingFolder) + "/" + relative.string(), file->path(),
            PackedKind::kRecording);
    };
    std::ranges::for_each(recording_.files, add);
    std::ranges::for_each(session_.code().files(), add);
  }

  // Adds the images that the recorder kept, then those found elsewhere.
  void AddImages() {
    kept_folder_ = ImagesFolderOf(path_);
    const std::string index = kept_folder_ + "/" + kImagesIndex;
    lines_ = IsFile(index) ? TextOf(index) : std::string("flowback-images 1\n");
    members_.insert(ImagesMember(kImagesIndex));  // is written anew
    AddBelow(kept_folder_, ImagesFolderOf(member_), PackedKind::kImage);
    for (const ImageStatus& image : session_.code().images()) {
      if (image.source == CodeSource::kOwnVdso) AddOwnVdso(image);
      if (image.usable && IsFile(image.file)) AddImage(image);
    }
    AddGivenCode();
    members_.erase(ImagesMember(kImagesIndex));
    AddContent(ImagesMember(kImagesIndex), PackedKind::kImage, BytesOf(lines_));
  }
  std::string ImagesMember(const std::string& name) const {
    return ImagesFolderOf(member_) + "/" + name;
  }

  void AddImage(const ImageStatus& image) {
    std::string& member = images_[image.file];
    if (!member.empty()) return;
    if (IsBelow(image.file, kept_folder_))
      member = ImagesMember(image.file.substr(kept_folder_.size() + 1));
    else if (IsBelow(image.file, path_))
      member = member_ + image.file.substr(path_.size());
    if (!member.empty()) return;
    const bool is_given = image.source == CodeSource::kGiven;
    if (recording_.format.starts_with("LLDB") && !is_given) return;  // has them
    const auto file = MappedFile::Open(image.file);
    if (!file) return;
    member = Keep(image, (*file)->bytes(), image.file, {});
  }

  // The bundle may be read under another kernel, which has another vDSO.
  void AddOwnVdso(const ImageStatus& image) {
    const std::vector<uint8_t> content = CopyOwnVdso();
    Keep(image, content, {}, content);
  }

  // Returns the member; empty: it could not be added.
  std::string Keep(const ImageStatus& image, Bytes bytes, const std::string& path,
                   std::vector<uint8_t> content) {
    const std::string name =
        "p" + std::to_string(++next_) + "-" + std::string(BaseName(image.path));
    const KeptImage kept{name, bytes.size(), ImageHash::Of(bytes), image.found, image.path};
    if (!Add(ImagesMember(name), path, PackedKind::kImage)) return {};
    files_.files.back().content = std::move(content);
    lines_ += kept.Line();
    if (image.recorded.empty()) AddMappings(name, image.path);
    return ImagesMember(name);
  }

  // By which a file is known that the recording has no build-id of.
  void AddMappings(const std::string& name, const std::string& path) {
    for (const SidebandRecord& each : recording_.sideband)
      if (const auto* record = std::get_if<MmapRecord>(&each))
        if (record->path == path && record->build_id.empty())
          lines_ += KeptMapping{name, record->time, record->pid, record->address}.Line();
  }

  static bool IsBelow(const std::string& path, const std::string& folder) {
    return path.starts_with(folder + "/");
  }

  // The image's debug files and sources.
  void AddSymbols(const std::string& image, std::string member) {
    symbols::SourceFile file(image, session_.options().search);
    if (const std::string& debug = file.debug_file(); !debug.empty())
      member = AddDebugFile(image, debug);
    const symbols::NamedFiles named = file.Files();
    AddSplitFiles(named, member);
    for (const std::string& source : named.sources) {
      const std::string place = InRoot(source);
      const std::string path = PathOf(source);
      if (choice_.sources && !place.empty() && IsFile(path)) Add(place, path, PackedKind::kSource);
    }
    file.Keep();
  }

  // A .dwp is looked for beside the file that has the rest of the DWARF, which is `member`.
  void AddSplitFiles(const symbols::NamedFiles& named, const std::string& member) {
    if (!named.package.empty() && !member.empty() && IsOwn(named.package))
      Add(member + ".dwp", named.package, PackedKind::kDebugFile);
    for (const auto& [name, path] : named.split)
      if (const std::string place = InRoot(name); !place.empty() && IsOwn(path))
        Add(place, path, PackedKind::kDebugFile);
  }
  // A bundle's programs may name any file of this machine.
  bool IsOwn(const std::string& path) const {
    const SessionOptions& options = session_.options();
    return options.bundle == nullptr || IsBelow(path, kept_folder_) ||
           IsBelow(path, options.search.symfs);
  }

  // Where the source is here. A bundle's programs may name any file, so its sources are its own.
  std::string PathOf(const std::string& source) const {
    const std::string& symfs = session_.options().search.symfs;
    const std::string normal = NormalPath(source);
    const std::string below = symfs.empty() ? "" : UnderDirectory(symfs, normal);
    return IsFile(below) || session_.options().bundle != nullptr ? below : source;
  }

  // Returns the member.
  std::string AddDebugFile(const std::string& image, const std::string& debug) {
    const auto file = MappedFile::Open(debug);
    const auto elf = file ? ReadElf((*file)->bytes(), debug) : Result<ElfFile>(ElfFile());
    const std::string hex = elf ? elf->build_id.ToHex() : "";
    const std::string folder = "/usr/lib/debug";
    const std::string place =
        hex.size() > 2 ? folder + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug"
                       : folder + fs::path(OriginOf(image)).parent_path().string() + "/" +
                             std::string(BaseName(debug));
    Add(InRoot(place), debug, PackedKind::kDebugFile);
    return InRoot(place);
  }

  // Adds the named core dumps, else those that the recorder noted and that still exist.
  void AddCores() {
    if (!choice_.cores) return;
    std::vector<std::string> cores = session_.options().search.cores;
    if (cores.empty())
      for (const ProcessEnd& end : recording_.process_ends)
        if (HasNotedCore(end)) cores.push_back(end.core);
    for (size_t i = 0; i < cores.size(); ++i) {
      const std::string member = std::string(bundle::kCoreFolder) + "/" + std::to_string(i + 1) +
                                 "-" + EscapedName(BaseName(cores[i]));
      if (Add(member, cores[i], PackedKind::kCore)) files_.manifest.cores.push_back(member);
    }
  }
  void AddKernel() {
    const ImageSearch& search = session_.options().search;
    const auto add = [&](const std::string& path, const char* name, std::string& member) {
      if (path.empty()) return;
      const std::string wanted = std::string(bundle::kKernelFolder) + "/" + name;
      if (!IsFile(path) || path.starts_with("/proc/"))
        files_.problems.push_back(path + " is the kernel's own: copy it to a file and name that");
      else if (Add(wanted, path, PackedKind::kKernel))
        member = wanted;
    };
    add(search.kallsyms, "kallsyms", files_.manifest.kallsyms);
    add(search.kcore, "kcore", files_.manifest.kcore);
  }

  const Session& session_;
  const BundleChoice choice_;
  const Recording& recording_;
  BundleFiles files_;
  const std::string path_;  // the recording's
  std::set<std::string> members_;
  std::string member_;                         // the recording's
  std::string kept_folder_;                    // what its recorder kept
  std::string lines_;                          // of the kept images' index
  std::map<std::string, std::string> images_;  // members, by file; empty: it is none of its own
  size_t next_ = 0;
};

}  // namespace

const char* Name(PackedKind kind) { return kNames[static_cast<size_t>(kind)]; }

Result<BundleFiles> FilesForBundle(const Session& session, const BundleChoice& choice) {
  return FileLister(session, choice).List();
}

}  // namespace flowback
