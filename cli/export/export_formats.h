// SPDX-License-Identifier: MIT
// The formats that `export --to` knows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "cli/reading/opened_recording.h"
#include "cli/text/output.h"
#include "flowback/base/error.h"

namespace flowback::cli {

struct CompilerProfile;  // cli/export/compiler_profile.h

// What a format is written of. The recording's threads have been chosen.
struct ExportInput {
  OpenedRecording& opened;
  const CompilerProfile* profile = nullptr;  // where the format is of one
};

struct ExportFormat {
  enum class Of : uint8_t { kProfile, kFlow, kSamples };
  using enum Of;

  std::string_view name;
  // Errors: what keeps it from being written whole.
  Status (*write)(const ExportInput& input, Output& output);
  Of of;
  std::string_view summary;
};

std::span<const ExportFormat> ExportFormats();
// Errors: kUsage for a name that none has.
Result<const ExportFormat*> FindExportFormat(std::string_view name);

#define FLOWBACK_EXPORT_FORMAT(name, write, of, summary) \
  Status write(const ExportInput& input, Output& output);
#include "cli/export/export_formats.def"
#undef FLOWBACK_EXPORT_FORMAT

}  // namespace flowback::cli
