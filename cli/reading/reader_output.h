// SPDX-License-Identifier: MIT
// Where a command that reads a recording writes, which must not be what it reads.
#pragma once

#include <string>

#include "cli/reading/reader_options.h"
#include "cli/text/output.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/recording.h"

namespace flowback::cli {

// Whether the file at `path`, which messages call `name`, may be emptied: it is none of the input
// files, under any name, and, without --force, holds neither a recording nor an ELF file. A file
// that is absent or empty may. `code` may be null. Errors: kUsage.
Status CheckMayOverwrite(const std::string& path, const std::string& name,
                         const ReaderOptions& options, const Recording& recording,
                         const RecordingCode* code);

// Output::Open of options.output after the check, which the file that was opened has passed.
Result<Output> OpenOutput(const ReaderOptions& options, const Recording& recording,
                          const RecordingCode* code);

}  // namespace flowback::cli
