// SPDX-License-Identifier: MIT
// Writes a folder of raw streams and a description of the code that ran: input for any decoder.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/record/generate/trace_clock.h"
#include "capture/record/output/output_file.h"
#include "capture/record/output/recording_sink.h"

namespace flowback::record {

// Files in the folder:
//   pt-N.bin        stream N
//   maps.txt        executable mappings in time order: address size file-offset file name time
//   code-ADDRESS    code that is in no file, as it was first; code-ADDRESS.2 and so on: later
//   digests.tsv     stream, pid, tid, instructions, digest of the stepped addresses
//   command.txt     a flowback command line that decodes the streams
class RawWriter : public RecordingSink {
 public:
  // Makes the folder when it is missing. Errors: kPermission, kSystem.
  static Result<std::unique_ptr<RawWriter>> Create(const RecordOptions& options,
                                                   const TraceClock& clock, std::string cpu);

  Status AddStream(const RecordedStream& stream) override;
  Status AddSideband(const SidebandRecord& record) override;
  Status AddTrace(const RecordedStream& stream, Bytes bytes, uint64_t tsc) override;
  Status AddCode(const MemoryCode& code) override;
  Status Finish(const RecordSummary& summary) override;

 private:
  // One mapping: `file` holds the bytes of `recorded`.
  struct CodeLine {
    std::string file;
    std::string recorded;
    uint64_t offset;
    uint64_t size;
    uint64_t address;
    uint64_t time;
    unsigned version;
  };

  RawWriter(const RecordOptions& options, std::string timing, std::string cpu)
      : folder_(options.files.raw_directory), timing_(std::move(timing)), cpu_(std::move(cpu)) {}
  std::string PathOf(const std::string& name) const { return folder_ + "/" + name; }
  Status WriteText(const std::string& name, const std::string& text) const;
  std::string MapsText() const;
  std::string CommandText() const;

  std::string folder_;
  std::string timing_;  // clock options of the command line
  std::string cpu_;
  std::vector<OutputFile> streams_;
  std::vector<CodeLine> code_;
  std::map<uint64_t, unsigned> versions_;  // of code in no file, by address
};

}  // namespace flowback::record
