// SPDX-License-Identifier: MIT
// Code that the user names: --section FILE:OFFSET:SIZE:ADDRESS and --image ELF[@ADDRESS].
#pragma once

#include <string_view>
#include <vector>

#include "decode/code/images/image_store.h"
#include "flowback/base/error.h"
#include "flowback/decode/code_image.h"
#include "flowback/model/recording.h"

namespace flowback {

struct GivenImage {
  ImageStore::FilePointer file;
  std::vector<CodeMapping> mappings;
  bool has_address = false;  // the user said where it was loaded
};

// Errors: kUnreadable when the file is missing, damaged, or has no such bytes; kUsage for an
// address range that can't be. The image has to hold code of that set (Recording::instruction_set).
Result<CodeMapping> MapSection(const SectionSpec& spec, ImageStore& store);
Result<GivenImage> OpenImage(const ImageSpec& spec, ImageStore& store,
                             std::string_view instruction_set = "x86");

}  // namespace flowback
