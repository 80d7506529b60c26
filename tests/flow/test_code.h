// SPDX-License-Identifier: MIT
// Code at addresses for unit tests of what walks it.
#pragma once

#include <memory>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {

inline std::shared_ptr<const CodeSection> Section(std::vector<uint8_t> code) {
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(code));
  return std::make_shared<CodeSection>("test", 0, Bytes(*owner), owner, Verification::kGiven);
}

inline CodeMapping At(uint64_t address, std::vector<uint8_t> code) {
  const uint64_t size = code.size();
  return {address, size, 0, Section(std::move(code))};
}

inline std::shared_ptr<const AddressSpace> Space(std::vector<CodeMapping> mappings) {
  auto space = std::make_shared<AddressSpace>();
  for (CodeMapping& mapping : mappings) space->Map(std::move(mapping));
  return space;
}

inline AddressSpaceHistory History(std::shared_ptr<const AddressSpace> space) {
  AddressSpaceHistory history;
  history.epochs.push_back({0, 0, std::move(space)});
  return history;
}

}  // namespace flowback
