// SPDX-License-Identifier: MIT
// Which addresses a hardware trace shall hold, in perf's words.
#pragma once

#include <string>
#include <string_view>

#include "capture/kernel/kernel.h"
#include "flowback/base/error.h"

namespace flowback::record {

// Filters with commas or spaces between them:
//   filter|start|stop|tracestop START[/SIZE][@FILE]
// START and SIZE are numbers or symbols, the size then up to that symbol's end; "#2" behind a
// symbol takes the second of its name, "#g" the global one; START "*" is all of the file's
// functions. Without a file, addresses and symbols are the kernel's. Returns the text that the
// kernel takes, offsets in place of symbols, and sets `count` to how many filters it has. Errors:
// kUsage.
Result<std::string> ResolveAddressFilter(std::string_view words, const kernel::SystemKernel& kernel,
                                         size_t& count);

}  // namespace flowback::record
