// SPDX-License-Identifier: MIT
// Makes a recording of each process, for callers that need its content and no trace: each is handed
// over as soon as its process has ended, so that there are never more than those of processes that
// run.
//
//   FOLDER/1/perf.data            of one process, from its fork or start to its end
//   FOLDER/1/perf.data.images     a link to the files that ran, which all of them share
//   FOLDER/2/perf.data            ...
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "capture/record/output/recording_sink.h"

namespace flowback::record {

// Where the files that ran are kept, where no recording of all processes has them.
std::string SharedImagesOf(const std::string& process_folder);

// A child's recording begins with what its parent had mapped. Losses of threads that are not
// recorded are in none of them: RecordSummary::unrecorded counts them. Streams are those of
// threads.
class ProcessFiles : public RecordingSink {
 public:
  using Open = std::function<Result<std::unique_ptr<RecordingSink>>(const std::string& path)>;
  using Take = std::function<Status(const std::string& path)>;

  // `images`: the folder that each recording is to find beside it; empty: none.
  ProcessFiles(std::string folder, std::string images, Open open, Take take)
      : folder_(std::move(folder)),
        images_(std::move(images)),
        open_(std::move(open)),
        take_(std::move(take)) {}

  Status AddStream(const RecordedStream& stream) override;
  Status AddSideband(const SidebandRecord& record) override;
  Status AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) override;
  Status EndStream(const RecordedStream& stream) override;
  Status AddCode(const MemoryCode& code) override;
  Status Finish(const RecordSummary& summary) override;
  // A process is complete if its threads had ended the last time, too: a thread's last message
  // comes a little later than its trace.
  Status Settle() override;
  uint64_t file_size() const override;

 private:
  struct Code {
    MemoryCode told;  // its bytes are these
    std::vector<uint8_t> bytes;
  };
  // What a child's recording must begin with: names, mappings and forks, since the last exec.
  using Fact = std::variant<SidebandRecord, Code>;
  struct Process {
    std::string path;
    std::unique_ptr<RecordingSink> file;
    std::map<uint32_t, RecordedStream> streams;  // in this file, by number among all
    std::set<uint32_t> live;                     // of these, those that may go on
    std::vector<Fact> facts;
    bool exits = false;      // it said so
    bool had_ended = false;  // when it was looked at last

    bool HasEnded() const { return live.empty() && (exits || !streams.empty()); }
  };

  Result<Process*> Of(int32_t pid);
  Result<Process> Begin();
  Result<const RecordedStream*> StreamIn(Process& process, const RecordedStream& stream);
  Status Inherit(Process& child, const ForkRecord& fork);
  Status HandOver(Process& process);
  static void Note(Process& process, const SidebandRecord& record);
  static void Replace(std::vector<Fact>& facts, const MmapRecord& map);
  static Status Tell(RecordingSink& file, const Fact& fact);

  const std::string folder_;
  const std::string images_;
  const Open open_;
  const Take take_;
  std::map<int32_t, Process> processes_;  // that have not ended
  std::optional<Error> failure_;          // of beginning one
  uint64_t number_ = 0;
  uint64_t handed_over_ = 0;  // bytes
};

}  // namespace flowback::record
