// SPDX-License-Identifier: MIT
#include "flowback/decode/code_image.h"

#include <utility>

#include "decode/code/block_cache.h"

namespace flowback {

CodeSection::CodeSection(std::string name, uint64_t file_offset, Bytes bytes,
                         std::shared_ptr<const void> owner, Verification verification,
                         uint8_t elf_bits)
    : name_(std::move(name)),
      file_offset_(file_offset),
      bytes_(bytes),
      owner_(std::move(owner)),
      verification_(verification),
      elf_bits_(elf_bits),
      blocks_(std::make_unique<BlockCache>(bytes)) {}

CodeSection::~CodeSection() = default;

}  // namespace flowback
