// SPDX-License-Identifier: MIT
// Finds the file whose text a program has moved into memory of another kind, at the same addresses.
//
// Programs copy their text into anonymous memory to get huge pages for it: Chrome, MySQL, node and
// programs that BOLT has linked with --hugify do. The kernel then shows memory without a file where
// the file was. The code is still the file's: its symbols, lines and counts are the file's, too.
//
//   before    | libfoo.so text                              |
//   after     | libfoo.so | anonymous memory    | libfoo.so |
//   pages     |           | same | same | other |           |
//   belong to | libfoo.so . libfoo.so   | itself| libfoo.so |
//
// A page belongs to the file if its bytes are those of the file. A page with other bytes is code of
// its own, and what the file had there may have run without anybody knowing.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {

// Whether code at `path` is in no file that symbols could come from: the kernel's names of memory,
// "[vdso]" excepted, and the file in which a recorder keeps the bytes of such memory.
bool IsMemoryWithoutFile(std::string_view path);

// Whether the kernel may show a program's own copy of its text as `path`: memory without a file, or
// a file that was deleted while it was mapped, as memory of shared or huge pages is.
bool MayHoldMovedText(std::string_view path);

struct TextParts {
  std::vector<CodeMapping> of_files;  // as in the file
  std::vector<CodeMapping> own;       // other bytes, or where no file was
  std::vector<CodeMapping> replaced;  // the files' text in whose place other bytes are
};

// Compares memory whose bytes are known with the text that files have had at its addresses, page by
// page of 4 KiB. `most` is how many bytes may be compared; it becomes less by those that were. A
// page beyond it counts as one with other bytes, so that no recording can take unbounded time.
TextParts CompareWithText(const CodeMapping& memory, const AddressSpace& text, uint64_t& most);

// Returns the text of the file that memory at the range has replaced, where its bytes are not
// known. Returns nothing unless the range lies within the text of a single file, or exceeds it by
// less than a huge page of 2 MiB at either end. That is how programs move their text; other memory,
// as of a JIT compiler, comes to lie there only by accident.
std::vector<CodeMapping> TextThatWasMoved(uint64_t address, uint64_t size,
                                          const AddressSpace& text);

}  // namespace flowback
