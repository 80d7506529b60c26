// SPDX-License-Identifier: MIT
// The build-id of code, for the mapping that it is announced with.
#pragma once

#include <string>

#include "flowback/base/bytes.h"
#include "flowback/model/recording.h"

namespace flowback::record {

// Returns the build-id; empty: the file has no build-id, or is no ELF file.
BuildId BuildIdOf(Bytes elf);
BuildId BuildIdOfFile(const std::string& path);

}  // namespace flowback::record
