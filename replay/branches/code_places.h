// SPDX-License-Identifier: MIT
// Code by the file that it is in, wherever that was mapped.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flowback/decode/code_image.h"

namespace flowback {

// An instruction in a file, or, where no file's code is there, at an address.
struct CodePlace {
  static constexpr uint32_t kNoObject = ~uint32_t{0};

  uint32_t object = kNoObject;  // its number among the files
  uint64_t offset = 0;          // in the file; an address where it is in none
  friend auto operator<=>(const CodePlace&, const CodePlace&) = default;
};

// Files and offsets of addresses. Files are numbered as they are met, until NumberByName.
class CodePlaces {
 public:
  // `space` may be null: then no file's code is there.
  CodePlace Of(const AddressSpace* space, uint64_t address) {
    const CodeMapping* mapping = space == nullptr ? nullptr : space->Find(address);
    if (mapping == nullptr) return {CodePlace::kNoObject, address};
    const auto [known, is_new] =
        numbers_.try_emplace(mapping->section->name(), static_cast<uint32_t>(objects_.size()));
    if (is_new) objects_.push_back(mapping->section->name());
    return {known->second, address - mapping->FileBase()};
  }
  // Numbers the files that were met so far in the order of their names, so that their numbers do
  // not depend on the order in which they were met. Invalidates all places returned so far.
  void NumberByName() {
    objects_.clear();
    for (auto& [name, number] : numbers_) {
      number = static_cast<uint32_t>(objects_.size());
      objects_.push_back(name);
    }
  }
  // The files, as they were opened.
  std::vector<std::string> Take() { return std::move(objects_); }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::vector<std::string> objects_;
};

}  // namespace flowback
