// SPDX-License-Identifier: MIT
// Puts the records of a perf.data file into the other containers that perf knows.
//
// It shares no code with the readers, so that both can't be wrong in the same way.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace flowback::support {

using FileBytes = std::vector<uint8_t>;

// A perf.data file in its parts. All numbers are still as in the file: little-endian.
struct PerfDataParts {
  struct Event {
    FileBytes attr;
    std::vector<uint64_t> ids;
  };
  struct Record {
    uint32_t type = 0;
    FileBytes bytes;        // with its header
    FileBytes data_behind;  // AUXTRACE's
  };

  std::vector<Event> events;
  std::vector<Record> records;
  std::map<unsigned, FileBytes> features;
};

// Empty parts when the file is no little-endian perf.data file.
PerfDataParts TakeApart(const FileBytes& file);

// The plain file again; what it holds stands elsewhere, so the index of AUX areas is left out.
FileBytes ToFile(const PerfDataParts& parts);

// Pipe mode: attributes and features are records.
FileBytes ToPipe(const PerfDataParts& parts);

// As `perf record -z` writes it: the kernel's records as one zstd stream over COMPRESSED records,
// each with `piece` bytes of them, so that a record may begin in one and end in the next.
FileBytes ToCompressed(const PerfDataParts& parts, size_t piece, bool newer_form = false);

// As a big-endian machine writes it. The trace's bytes stay as they are.
FileBytes ToForeign(const PerfDataParts& parts);
FileBytes ToForeignPipe(const PerfDataParts& parts);

// Directory form, as threads that each record some CPUs write it: by file name, "data" with the
// header and the recorder's own records, the kernel's in turns in "data.0" and "data.1".
std::map<std::string, FileBytes> ToDirectory(const PerfDataParts& parts);

}  // namespace flowback::support
