// SPDX-License-Identifier: MIT
// Keeps the code that ran with its recording, in RECORDING.images
// (decode/code/images/kept_images.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "capture/record/generate/trace_clock.h"
#include "capture/record/image/shared_images.h"
#include "capture/record/output/output_file.h"
#include "capture/record/output/recording_sink.h"

namespace flowback::record {

// Each file is copied when its first mapping comes, while it is mapped, so that nothing done to it
// later matters; the names a process gives to code it makes when the recording ends. The summary
// lists files that cannot be kept; they fail nothing.
class ImageKeeper : public RecordingSink {
 public:
  // Beside the recording's file; the folder is made when there is something to keep.
  ImageKeeper(const RecordOptions& options, const TraceClock& clock);

  Status AddStream(const RecordedStream&) override { return {}; }
  Status AddTrace(const RecordedStream&, Bytes, uint64_t) override { return {}; }
  Status AddSnapshot(const RecordedStream&, Bytes, uint64_t, uint64_t) override { return {}; }
  Status AddSideband(const SidebandRecord& record) override;
  Status AddCode(const MemoryCode& code) override;
  void AddImage(const MmapRecord& record, const MappedImage& image) override;
  Status Finish(const RecordSummary& summary) override;
  // The command's own text, where it is a script: nothing maps it.
  void KeepScript(const std::string& path);

  const KeptImagesSummary& kept() const { return kept_; }

 private:
  // A file's content under one path.
  struct Entry {
    std::string name;  // empty: it can't be kept
    bool has_build_id = false;
  };
  // jitdump files: they grow until the process ends.
  struct Growing {
    std::shared_ptr<const Descriptor> file;
    int32_t pid = -1;
  };

  bool HasFolder();
  void Count(const SharedImages::Copy& copy);
  std::string NewName(const std::string& path);
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }
  Entry Keep(const std::string& path, const MappedImage& image);
  void KeepNames(int file, int32_t pid, const std::string& name);
  void KeepPerfMap(int32_t pid);
  void AddLine(const std::string& line);
  void Problem(const std::string& path, const std::string& why);

  const std::string output_;
  const TraceClock& clock_;
  const std::string folder_;
  const int64_t began_;  // seconds since 1970
  SharedImages shared_;
  std::unique_ptr<OutputFile> index_;  // null: not made yet
  bool failed_ = false;
  unsigned names_ = 0;
  std::map<std::pair<std::string, std::string>, Entry> entries_;  // by version and path
  std::set<std::string> counted_;                                 // versions
  std::set<std::string> vdsos_;                                   // build-ids
  std::map<std::string, Growing> growing_;                        // by path
  std::set<int32_t> processes_;
  KeptImagesSummary kept_;
};

// Whether the recording is to have its images beside it.
bool KeepsImages(const RecordOptions& options);
// Where, then.
std::string ImagesFolderFor(const RecordOptions& options);

// Removes all that we put into a folder of images, and the folder. False: something is left.
bool RemoveImages(const std::string& folder);
// Renames a folder of images, where there is one; what stood at `target` goes. Errors: kSystem,
// kPermission.
Status MoveImages(const std::string& from, const std::string& target);

}  // namespace flowback::record
