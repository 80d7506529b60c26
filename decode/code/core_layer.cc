// SPDX-License-Identifier: MIT
// For each range of a dump, from the surest source down:
//   1. a file whose build-id agrees with the recorded one, or that the user gave: the dump adds
//      nothing;
//   2. a file without a build-id to compare: where its bytes are the dump's, it stays; where they
//      differ, the dump is right, because it is the process's own memory;
//   3. no file: the text of a file that the process moved there, where the bytes are those of that
//      file; else the dump's bytes, below what the user gave with --section or --image.
// The dump shows the end of the run. A JIT compiler may have written other code to the same place
// before; so its bytes count as unverified, unless the recorded build-id vouches for them.
#include "decode/code/core_layer.h"

#include <algorithm>
#include <optional>

#include "decode/code/remapped_text.h"

namespace flowback {
namespace {

Bytes BytesOf(const CodeMapping& mapping) {
  return Slice(mapping.section->bytes(), mapping.section_offset, mapping.size);
}

bool SameBytes(const CodeMapping& file, const CodeMapping& dump) {
  const Bytes in_file = Slice(BytesOf(file), dump.address - file.address, dump.size);
  // The kernel fills the last page with zeros, which no file has.
  const Bytes in_dump = BytesOf(dump).first(in_file.size());
  return !in_file.empty() && std::ranges::equal(in_file, in_dump);
}

}  // namespace

void CoreLayer::Amend(int32_t pid, size_t since, ProcessCode& process) {
  for (const DumpedRange& range : cores_.Dumped(pid, since)) Amend(range, process);
}

void CoreLayer::Amend(const DumpedRange& range, ProcessCode& process) {
  // A record that was made from the dump was not among those that were replayed, so its file is
  // mapped here.
  const CodeMapping* mapped = process.now().Find(range.address);
  std::optional<CodeMapping> file = finder_.Map(*range.record);
  if (file && (mapped == nullptr || mapped->section != file->section)) process.Amend(*file);
  if (range.dumped == 0) return;
  if (file && file->section->verification() != Verification::kUnverified) return;

  const Verification verification =
      range.verified ? Verification::kBuildId : Verification::kUnverified;
  const CodeMapping dump =
      store_.MapFile(range.core, range.file_offset, range.dumped, range.address, verification);
  if (file && SameBytes(*file, dump)) return finder_.NoteCore(range, verification, true);
  AddressSpace used;
  if (file) {
    used.Map(dump);
  } else {
    const TextParts text = CompareWithText(dump, process.text(), comparable_);
    for (const CodeMapping& part : text.of_files) process.Amend(store_.Unverified(part));
    for (const CodeMapping& part : text.own) used.Map(part);
    for (const CodeMapping& given : given_.mappings()) used.Unmap(given.address, given.size);
  }
  const std::vector<CodeMapping> parts = used.mappings();
  for (const CodeMapping& part : parts) process.Amend(part);
  if (!parts.empty()) finder_.NoteCore(range, verification, false);
}

}  // namespace flowback
