// SPDX-License-Identifier: MIT
// What the samples of a pprof profile refer to: places in code, with their functions, files and
// texts. Each is written when it is first asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowback/session.h"
#include "flowback/writers.h"
#include "replay/writers/calls/exported_calls.h"

namespace flowback {

class PprofPlaces {
 public:
  // All must outlive it.
  PprofPlaces(Session& session, const std::vector<ExportedFunction>& functions, TextSink& sink);

  // Writes the mapping of a function's file: the first one is the program's for a reader.
  void Map(const ExportedFunction& function) { Mapping(function.space, function.entry_ip); }
  // The number of a text in the profile's table.
  int64_t Text(std::string_view text);
  // The id of a place in a function's code: at `address`; 0: at its entry.
  uint64_t Location(uint32_t function, const AddressSpace* space, uint64_t address);
  // The id of a place that is nowhere: a line of text among functions.
  uint64_t Named(const std::string& name);
  // Writes the table of texts.
  void Finish();

 private:
  using FunctionKey = std::pair<std::string, std::string>;  // name, and file of code or source

  uint64_t Mapping(const AddressSpace* space, uint64_t address);
  uint64_t WriteMapping(const CodeMapping& mapping);
  // `file`: of the source; empty: not known.
  uint64_t Function(const std::string& name, const std::string& object, std::string_view file,
                    uint32_t first_line);

  Session& session_;
  const std::vector<ExportedFunction>& functions_;
  TextSink& sink_;
  std::unordered_map<std::string, int64_t> texts_;
  std::vector<const std::string*> text_list_;
  std::map<std::tuple<uint32_t, const AddressSpace*, uint64_t>, uint64_t> locations_;
  std::unordered_map<std::string, uint64_t> named_;
  std::map<FunctionKey, uint64_t> function_ids_;
  std::map<std::pair<uint64_t, std::string>, uint64_t> mappings_;  // by address and file
  uint64_t last_location_ = 0;
};

}  // namespace flowback
