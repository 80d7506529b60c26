// SPDX-License-Identifier: MIT
#include "capture/emulate/code_map.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "capture/record/process_maps.h"

namespace flowback::emulate {
namespace {

// The emulator keeps the program's code readable only; pieces of one file that lie behind each
// other there and here are one mapping to the program.
std::vector<CodeRange> ReadMappings(uint64_t base) {
  std::vector<CodeRange> result;
  for (const auto& mapping : record::ReadMappings(getpid())) {
    CodeRange range{mapping.begin - base, mapping.end - base, mapping.file_offset,
                    mapping.has_file ? mapping.path : ""};
    const bool goes_on = !result.empty() && result.back().end == range.begin &&
                         result.back().path == range.path &&
                         (range.path.empty() ||
                          result.back().file_offset + (result.back().end - result.back().begin) ==
                              range.file_offset);
    if (goes_on)
      result.back().end = range.end;
    else
      result.push_back(std::move(range));
  }
  return result;
}

CodeRange Clipped(CodeRange range, uint64_t begin, uint64_t end) {
  if (range.begin < begin) {
    if (!range.path.empty()) range.file_offset += begin - range.begin;
    range.begin = begin;
  }
  range.end = std::min(range.end, end);
  return range;
}

}  // namespace

const CodeRange* CodeMap::Find(uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  const CodeRange& range = std::prev(after)->second;
  return address < range.end ? &range : nullptr;
}

bool CodeMap::InNoFile(uint64_t address) const {
  const CodeRange* range = Find(address);
  return range != nullptr && range->path.empty();
}

void CodeMap::Add(CodeRange range, const Announce& announce) {
  if (range.begin >= range.end) return;
  if (const CodeRange* known = Find(range.begin);
      known != nullptr && known->end >= range.end && known->path == range.path &&
      (range.path.empty() ||
       known->file_offset + (range.begin - known->begin) == range.file_offset))
    return;
  Forget(range.begin, range.end);
  announce(range);
  ranges_[range.begin] = std::move(range);
}

void CodeMap::Learn(uint64_t begin, uint64_t end, uint64_t base, const Announce& announce) {
  for (const CodeRange& mapping : ReadMappings(base)) Add(Clipped(mapping, begin, end), announce);
}

void CodeMap::LearnAt(uint64_t address, uint64_t base, const Announce& announce) {
  for (const CodeRange& mapping : ReadMappings(base))
    if (address >= mapping.begin && address < mapping.end) Add(mapping, announce);
}

void CodeMap::Forget(uint64_t begin, uint64_t end) {
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin()) --it;
  while (it != ranges_.end() && it->first < end) {
    CodeRange old = it->second;
    if (old.end <= begin) {
      ++it;
      continue;
    }
    it = ranges_.erase(it);
    if (old.begin < begin) ranges_[old.begin] = Clipped(old, old.begin, begin);
    if (old.end > end) {
      ranges_[end] = Clipped(old, end, old.end);
      break;
    }
  }
}

}  // namespace flowback::emulate
