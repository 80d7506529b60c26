// SPDX-License-Identifier: MIT
// The formats that `export --to` knows.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "flowback/base/error.h"

namespace flowback::cli {

// What a format is written of. The recording's threads have been chosen.
struct ExportInput {
  OpenedRecording& opened;
  std::string object;  // the file of code that was asked for; empty: none
};

struct ExportFormat {
  std::string_view name;
  // Errors: what keeps it from being written whole.
  Status (*write)(const ExportInput& input, Output& output);
  std::string_view summary;
};

std::span<const ExportFormat> ExportFormats();
// Errors: kUsage for a name that none has.
Result<const ExportFormat*> FindExportFormat(std::string_view name);

#define FLOWBACK_EXPORT_FORMAT(name, write, summary) \
  Status write(const ExportInput& input, Output& output);
#include "cli/export/export_formats.def"
#undef FLOWBACK_EXPORT_FORMAT

}  // namespace flowback::cli
