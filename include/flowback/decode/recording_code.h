// SPDX-License-Identifier: MIT
// A recording's code: finds the images its sideband names and builds each process's address spaces.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/recording.h"

namespace flowback {

class DiskCache;   // decode/code/cache/disk_cache.h
class MappedFile;  // base/mapped_file.h

// Where to look for images besides the recorded path.
struct ImageSearch {
  std::string symfs;                    // prefix for every recorded path (perf's --symfs)
  std::vector<std::string> debug_dirs;  // DIR/.build-id/xx/yyyy.debug and DIR/path
  std::string build_id_cache;           // perf's ~/.debug layout; empty: $HOME/.debug
  // Files that code of objects without a recording (flowback/replay/object_image.h) is looked for
  // in first: those that a recording was decoded with, such as images that were kept beside it.
  std::vector<std::string> files = {};
  std::vector<std::string> cores = {};  // core dumps of recorded processes
  std::string kcore = {};               // the kernel's memory, as /proc/kcore shows it
  std::string kallsyms = {};            // the kernel's symbols, as /proc/kallsyms shows them
  // Folder of decoded blocks, of this program's files only, and how many bytes it may take. Empty:
  // none is used.
  std::string cache = {};
  uint64_t cache_bytes = uint64_t{256} << 20;
};

// Code that was decoded in another mode than its file is for.
struct ModeConflict {
  std::string file;
  unsigned elf_bits = 0;   // 32 or 64, as its ELF header says
  unsigned mode_bits = 0;  // 16, 32 or 64, as the trace said
};

// An image that the user gave (--image) and that nothing was decoded with.
struct UnusedImage {
  std::string file;
  std::string why;
};

// Text of a file in whose place a process ran other code: what it wrote over its own text, or
// mapped there. How much of the file's text ran meanwhile is not known.
struct ReplacedText {
  std::shared_ptr<const CodeSection> section;  // of the file
  uint64_t file_offset = 0;
  uint64_t size = 0;  // bytes
};

class RecordingCode {
 public:
  // Opens every image that an executable mapping, --image or --section names. A file that is
  // missing or of another build is no error here: its ImageStatus says so and decoding shows a
  // loss. Errors: kUnreadable/kUsage for a --section, --image, --core, --kcore or --kallsyms that
  // can't be honoured.
  static Result<RecordingCode> Load(const Recording& recording, const ImageSearch& search);

  using History = std::shared_ptr<const AddressSpaceHistory>;

  // The history of the process that wrote the stream. Raw streams have the given code only.
  const AddressSpaceHistory& ForStream(const Stream& stream) const;
  // Returns the process, if the stream or the whole recording names one; else -1.
  int32_t ProcessOf(const Stream& stream) const;
  // The given code alone when the recording has no mappings of the process.
  History OfProcess(int32_t pid) const;
  History Given() const { return given_; }
  const std::vector<ImageStatus>& images() const { return images_; }
  // The path under which the recording has the image that was found in `file`; where it has none,
  // `file`. Valid as long as both are.
  std::string_view RecordedPath(const std::string& file) const;
  // In the order of the recording's mappings; ranges may overlap.
  const std::vector<ReplacedText>& replaced_text() const { return replaced_; }
  // What decoding has met so far, each file and mode once. A 64-bit file in a compatibility mode,
  // or 64-bit code in a 32-bit file: legal for a program that switches modes, else a wrong file.
  std::vector<ModeConflict> ModeConflicts() const;
  // The given images that the native engine has not come to so far; none where it has decoded
  // nothing at all.
  std::vector<UnusedImage> UnusedImages() const;
  // The mapped files that code is read from: as Recording::files.
  const std::vector<std::shared_ptr<const MappedFile>>& files() const { return files_; }
  // Whether code was read from them since the last call: else they need not be checked again.
  bool TakeRead() const;
  // Keeps the blocks that were decoded in ImageSearch::cache, so that they need not be decoded
  // again. Failures are ignored. REQUIRES: nothing decodes meanwhile.
  void KeepBlocks() const;
  // Returns an error if part of the cache was not used because another user may write to it: the
  // folder, or the first such file. Its code is kPermission.
  std::optional<Error> CacheRefusal() const;

 private:
  std::vector<std::pair<int32_t, History>> processes_;  // sorted by pid
  std::vector<int32_t> stream_processes_;               // by stream index: its pid, or -1
  History given_;                                       // --section and --image alone
  std::vector<ImageStatus> images_;
  std::vector<ReplacedText> replaced_;
  std::vector<std::shared_ptr<const CodeSection>> sections_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::shared_ptr<const DiskCache> disk_;  // null: none
  std::vector<UnusedImage> given_files_;   // why each is not used, if it is not
};

}  // namespace flowback
