// SPDX-License-Identifier: MIT
// A few lines of source around a place of the code, for a page.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "replay/coverage/report/source_reader.h"
#include "replay/writers/spikes/spikes_view.h"

namespace flowback {

struct SourceExcerpt {
  std::string file;  // empty: no line is known
  uint32_t line = 0;
  uint32_t first = 0;              // the number of the first of `lines`
  std::vector<std::string> lines;  // empty: `note` says why
  std::string note;                // what a reader must know of them; empty: nothing
};

// Returns the lines around a place. A file that is another version than the compiled one is not
// shown.
SourceExcerpt ExcerptAt(SourceLines& lines, SourceReader& reader, const CodeWords& place);

}  // namespace flowback
