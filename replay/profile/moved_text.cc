// SPDX-License-Identifier: MIT
#include "replay/profile/moved_text.h"

#include <algorithm>

#include "decode/code/remapped_text.h"

namespace flowback {

bool HoldsMovedText(const RecordingCode& code, const MmapRecord& map) {
  if (!MayHoldMovedText(map.path)) return false;
  const RecordingCode::History history = code.OfProcess(map.pid);
  const auto& epochs = history->epochs;
  const auto after =
      std::ranges::upper_bound(epochs, map.time, {}, &AddressSpaceHistory::Epoch::time);
  const auto& epoch = after == epochs.begin() ? epochs.front() : after[-1];
  const CodeMapping* mapping = epoch.space->Find(map.address);
  return mapping != nullptr && !MayHoldMovedText(mapping->section->name()) &&
         mapping->section->elf_bits() != 0;
}

}  // namespace flowback
