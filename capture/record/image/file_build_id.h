// SPDX-License-Identifier: MIT
// The build-id of code, for the mapping that it is announced with.
#pragma once

#include <string>

#include "flowback/base/bytes.h"
#include "flowback/model/recording.h"

namespace flowback::record {

// Empty when there is none, or no ELF file.
BuildId BuildIdOf(Bytes elf);
BuildId BuildIdOfFile(const std::string& path);

}  // namespace flowback::record
