// SPDX-License-Identifier: MIT
// An address space under construction: cheap changes in any order, then one immutable result.
#pragma once

#include <cstdint>
#include <map>

#include "flowback/decode/code_image.h"

namespace flowback {

class AddressSpaceBuilder {
 public:
  AddressSpaceBuilder() = default;
  explicit AddressSpaceBuilder(const AddressSpace& space);

  // Maps over whatever was there, as mmap does. What the section has no bytes for becomes a hole.
  void Map(const CodeMapping& mapping);
  // Makes a hole: what was mapped there is not what runs now.
  void Unmap(uint64_t address, uint64_t size);
  bool Overlaps(uint64_t address, uint64_t size) const;
  // Whether exactly this is mapped there already.
  bool Has(const CodeMapping& mapping) const;
  void Clear() { mappings_.clear(); }
  AddressSpace Build() const;

 private:
  using Mappings = std::map<uint64_t, CodeMapping>;  // by address, without overlap
  Mappings::const_iterator FirstReaching(uint64_t address) const;
  Mappings mappings_;
};

}  // namespace flowback
