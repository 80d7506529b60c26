// SPDX-License-Identifier: MIT
// The local variables of a frame: their names and places from DWARF, their values as far as the
// moment's value sources prove them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flowback/session.h"
#include "replay/debug/values/frame_registers.h"
#include "replay/debug/values/value_sources.h"
#include "replay/symbols/lines/dwarf_client.h"

namespace flowback {

struct LocalValue {
  std::string name;
  std::string type;
  std::string value;                  // "<unavailable>": not proven
  std::optional<uint64_t> address{};  // where it is in memory; empty: not there, or not known
};

// Keeps the readers of files that it has asked. Used by one thread.
class LocalValues {
 public:
  // All must outlive it.
  LocalValues(Session& session, ValueSources& values) : session_(session), values_(values) {}

  // Which function of the thread's stack.
  struct Place {
    std::span<const StackFrame> frames;  // of the stack where the thread stands
    size_t frame = 0;
    size_t level = 0;  // of the functions that are inlined there, the innermost first
  };
  // Parameters and variables of the blocks at hand, in the source's order.
  std::vector<LocalValue> Of(const MachineThread& thread, const Place& place);

 private:
  struct File {
    std::unique_ptr<symbols::SymbolFile> elf;
    std::unique_ptr<symbols::DwarfClient> dwarf;
  };

  const File& FileAt(const std::string& path);

  Session& session_;
  ValueSources& values_;
  FrameUnwinder unwinder_;
  std::map<std::string, File> files_;
};

}  // namespace flowback
