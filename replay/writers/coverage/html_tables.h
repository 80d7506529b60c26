// SPDX-License-Identifier: MIT
// The overview of a coverage page: shares as bars, and tables of objects, folders and files.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "flowback/replay/coverage_report.h"
#include "replay/coverage/report/by_source.h"

namespace flowback {

// Appends the share as a bar: executed, not known, never.
void AppendBar(const CoverageShare& share, std::string& out);
// Appends each metric of the shares with its bar and numbers.
void AppendOverview(const CoverageShares& shares, std::string& out);
void AppendObjectTable(const CoverageReport& report, std::string& out);
// Appends nothing if all files are in one folder.
void AppendDirectoryTable(const CoverageReport& report, const std::vector<CoveredFile>& files,
                          std::string& out);
// Each row leads to the element with the id FileAnchor.
void AppendFileTable(const CoverageReport& report, std::span<const CoveredFile> files,
                     std::string& out);

// Return the ids of a source file and of a line in it.
std::string FileAnchor(uint32_t file);
std::string LineAnchor(uint32_t file, uint32_t line);

}  // namespace flowback
