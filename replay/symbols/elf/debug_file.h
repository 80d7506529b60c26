// SPDX-License-Identifier: MIT
// The separate debug file of a stripped program: found by build-id or by the name and checksum in
// .gnu_debuglink, and taken only when it proves to belong to the program.
#pragma once

#include <memory>

#include "flowback/decode/recording_code.h"
#include "replay/symbols/elf/symbol_file.h"

namespace flowback::symbols {

// The folders under which debug files lie: --debug-dir's, /usr/lib/debug, and that under --symfs.
std::vector<std::string> DebugFolders(const ImageSearch& search);

// Finds the separate debug file. Null: no file has the program's build-id or the recorded checksum.
std::unique_ptr<SymbolFile> OpenDebugFile(const SymbolFile& file, const ImageSearch& search);

// The checksum of .gnu_debuglink: CRC-32 as zlib computes it.
uint32_t Crc32(Bytes bytes);

}  // namespace flowback::symbols
