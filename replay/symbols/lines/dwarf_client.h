// SPDX-License-Identifier: MIT
// One file's DWARF, read by the program flowback-dwarf on our behalf.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "replay/symbols/lines/dwarf_file.h"
#include "replay/symbols/lines/dwarf_wire.h"

namespace flowback::symbols {

// Owns the reader's process, which ends with it. Not thread-safe.
class DwarfClient {
 public:
  // The reader's program; empty when it is not installed.
  static std::string Program();
  // Null, with a sentence in `problem`, when the reader is not installed or finds no DWARF that it
  // can read.
  static std::unique_ptr<DwarfClient> Open(const DwarfRequest& request, std::string& problem);
  ~DwarfClient();
  DwarfClient(const DwarfClient&) = delete;
  DwarfClient& operator=(const DwarfClient&) = delete;

  // The ranges of all compile units, in no order.
  const std::vector<UnitRange>& units() const { return units_; }
  // An empty one when the reader fails.
  UnitInfo ReadUnit(uint32_t number);
  // The variables of the functions at an address, as linked. None when the reader fails.
  VariablesInfo VariablesAt(uint64_t address);
  // Whether the file's contents are those that were compiled; false when it can't be read.
  bool HasMd5(const std::string& path, const std::array<uint8_t, 16>& md5);
  // What could not be read so far: a sentence for each kind of damage, a few at most.
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  DwarfClient() = default;
  bool Start(std::string& problem);
  // False when the reader is gone, which is then among the problems.
  bool Ask(const std::string& request, std::string& reply);
  bool Receive(char* data, size_t size);
  void End(const std::string& problem);

  Descriptor socket_;
  pid_t process_ = -1;
  uint64_t most_message_ = kFreeDwarfMessage;
  std::vector<UnitRange> units_;
  std::vector<std::string> problems_;
};

}  // namespace flowback::symbols
