// SPDX-License-Identifier: MIT
// One file's DWARF. Each compile unit is read once for all commands.
//
// Before the first line of a file is known its debug sections are unpacked, and all its units are
// looked through: of a C library whose debug file is compressed that takes longer than all else of
// a command that shows one stack. So what flowback-dwarf answered is kept in the cache, and the
// program is only started for new questions. The kept answers are found by the file's place, size,
// time and bytes, and by the program that gave them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decode/code/cache/disk_cache.h"
#include "replay/symbols/elf/symbol_file.h"
#include "replay/symbols/lines/dwarf_client.h"
#include "replay/symbols/lines/dwarf_file.h"

namespace flowback::symbols {

// Not thread-safe.
class KeptDwarf {
 public:
  // `file` is the one at the request's path. Null, with a sentence in `problem`, as
  // DwarfClient::Open. Nothing is kept where the cache has no folder.
  static std::unique_ptr<KeptDwarf> Open(DwarfRequest request, const SymbolFile& file,
                                         const DiskCacheSettings& cache, std::string& problem);

  // As DwarfClient's.
  const std::vector<UnitRange>& units() const { return units_; }
  UnitInfo ReadUnit(uint32_t number);
  bool HasMd5(const std::string& path, const std::array<uint8_t, 16>& md5);
  std::vector<std::string> problems() const;

  // Keeps what was read anew, where nothing of it is damaged. Call it when no user waits.
  void Keep();

 private:
  KeptDwarf(DwarfRequest request, const DiskCacheSettings& cache)
      : request_(std::move(request)), cache_(cache) {}
  bool Load();
  void Note(uint32_t number, const UnitInfo& info);
  // Null: it can't be started any more, which is then a problem.
  DwarfClient* Reader();

  const DwarfRequest request_;
  const DiskCacheSettings cache_;
  std::string name_;  // empty: nothing is kept
  std::unique_ptr<const CachedBytes> kept_;
  std::vector<UnitRange> units_;
  std::map<uint32_t, std::string_view> read_;  // each unit as it was read
  std::deque<std::string> new_;                // those that are not in the cache yet
  uint64_t bytes_ = 0;                         // of all of them
  std::unique_ptr<DwarfClient> client_;
  std::string problem_;  // why there is no client
};

}  // namespace flowback::symbols
