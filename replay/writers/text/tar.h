// SPDX-License-Identifier: MIT
// Archives of files as POSIX's ustar format has them, which tar and bsdtar unpack.
//
//   512 bytes of header | the file, padded to 512 | header | ... | 1,024 zero bytes
#pragma once

#include <string_view>

#include "flowback/base/error.h"
#include "flowback/writers.h"
#include "replay/writers/text/spooled_text.h"

namespace flowback {

// Adds a file, whose text is moved out of `text`. `name` has at most 99 bytes; folders in it are
// made on unpacking. Errors: as SpooledText::MoveTo's.
Status AddToArchive(std::string_view name, SpooledText& text, TextSink& sink);
void EndArchive(TextSink& sink);

}  // namespace flowback
