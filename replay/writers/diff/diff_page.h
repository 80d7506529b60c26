// SPDX-License-Identifier: MIT
// The page of `flowback diff`: what changed between two sides, in tables to sort and search in.
#pragma once

#include <string>
#include <vector>

#include "flowback/writers.h"

namespace flowback {

struct DiffPage {
  std::string title;
  std::vector<std::string> sentences;  // the largest change first
  // {"sentences":[...],"rows":[...],"left_out":{...}}: the rows are objects of schema
  // flowback.diff/1, and left_out has the number of objects that are no rows, by type.
  std::string json;
};

// Writes the page. It needs no other file, and asks no network.
void WriteDiffPage(const DiffPage& page, TextSink& sink);

}  // namespace flowback
