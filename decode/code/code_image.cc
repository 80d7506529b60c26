// SPDX-License-Identifier: MIT
#include "flowback/decode/code_image.h"

#include <utility>

#include "decode/code/cache/block_cache.h"

namespace flowback {

CodeSection::CodeSection(std::string name, uint64_t file_offset, Bytes bytes,
                         std::shared_ptr<const void> owner, Verification verification,
                         std::optional<CodeMode> file_mode, std::string kallsyms)
    : name_(std::move(name)),
      file_offset_(file_offset),
      bytes_(bytes),
      owner_(std::move(owner)),
      verification_(verification),
      file_mode_(file_mode),
      kallsyms_(std::move(kallsyms)),
      blocks_(std::make_unique<BlockCache>(bytes)) {}

CodeSection::~CodeSection() = default;

std::shared_ptr<const CodeSection> CodeSection::Missing(std::string why, std::string missing_file,
                                                        std::string kallsyms) {
  auto section =
      std::make_shared<CodeSection>(std::move(why), 0, Bytes(), nullptr, Verification::kUnverified,
                                    std::nullopt, std::move(kallsyms));
  section->missing_file_ = std::move(missing_file);
  return section;
}

const char* Name(CodeSource source) {
  switch (source) {
    case CodeSource::kNone:
      return "nowhere";
    case CodeSource::kFile:
      return "file";
    case CodeSource::kKept:
      return "kept image";
    case CodeSource::kBuildIdCache:
      return "build-id cache";
    case CodeSource::kDebugFolder:
      return "debug directory";
    case CodeSource::kGiven:
      return "given";
    case CodeSource::kCore:
      return "core dump";
    case CodeSource::kKernelCore:
      return "kcore";
    case CodeSource::kTextPoke:
      return "TEXT_POKE records";
    case CodeSource::kOwnVdso:
      return "vDSO of the running kernel";
    case CodeSource::kMovedText:
      return "moved text";
  }
  return "nowhere";
}

}  // namespace flowback
