// SPDX-License-Identifier: MIT
// By which numbers a file is known again, when what was learned of it is looked for in the cache.
#pragma once

#include <string>

#include "base/number_bytes.h"
#include "flowback/base/bytes.h"

namespace flowback {

// Its size and the time of its last change. False: it is no file that could be found again.
bool PutFile(NumberWriter& out, const std::string& path);

// What its bytes are; of those of more than 8 MB 128 samples of 4 KB.
void PutContent(NumberWriter& out, Bytes bytes);

}  // namespace flowback
