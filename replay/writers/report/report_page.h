// SPDX-License-Identifier: MIT
// The page of `flowback report`: what all analyses say of recordings.
#pragma once

#include <string>
#include <vector>

#include "flowback/writers.h"

namespace flowback {

struct ReportPage {
  std::string title;
  std::vector<std::string> sentences;  // for a reader who runs no scripts
  std::string json;                    // the data, as docs/reference/report.md describes it
};

// Writes the page. It needs no other file, and asks no network.
void WriteReportPage(const ReportPage& page, TextSink& sink);

}  // namespace flowback
