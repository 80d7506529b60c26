// SPDX-License-Identifier: MIT
// flowback-dwarf: reads DWARF with LLVM, for flowback, which sends requests on standard input
// (dwarf_wire.h). A program of its own because damaged DWARF may crash LLVM: see dwarf_client.cc.
//
// LLVM is asked for whole compile units, never for single addresses: a unit's line table and its
// tree of inlined calls become the flat tables of dwarf_file.h, and look-ups are done on those.
// Every error that LLVM can report comes to Note(), so that damage costs as few lines as it can.
// Two things LLVM takes on trust are checked: the size that a compressed section claims to
// unpack to (opened_object.h), and whether addresses lie in code at all (the linker leaves 0 or -1
// in the tables of functions that it dropped).
#include <llvm/DebugInfo/DWARF/DWARFContext.h>
#include <llvm/DebugInfo/DWARF/DWARFDebugLine.h>
#include <llvm/DebugInfo/DWARF/DWARFUnit.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MD5.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/sanitized.h"
#include "replay/symbols/dwarf/opened_object.h"
#include "replay/symbols/dwarf/variables.h"
#include "replay/symbols/lines/dwarf_wire.h"

namespace flowback::symbols {
namespace {

using llvm::DWARFDie;
using llvm::DWARFUnit;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using FileLineInfoKind = llvm::DILineInfoSpecifier::FileLineInfoKind;

constexpr size_t kMaxProblems = 4;
constexpr unsigned kMaxDepth = 10'000;  // of nested DIEs; real ones stay below a hundred

// What reading a file may take in memory, in proportion to it. LLVM itself, mapped, is some 200 MB.
constexpr uint64_t kFreeMemory = uint64_t{1} << 30;
constexpr uint64_t kMostMemoryPerByte = 40;

// LLVM opens split files itself; this looks at them first.
bool IsSane(const std::string& path) {
  OpenedObject opened;
  std::string problem;
  return OpenObject(path, opened, problem);
}

class Reader {
 public:
  // False, with the reason in `problem`, when there is nothing to read.
  bool Open(const DwarfRequest& request, std::string& problem) {
    request_ = request;
    if (!OpenObject(request.path, object_, problem)) return false;
    for (const llvm::object::ELFSectionRef section : object_.elf->sections())
      if ((section.getFlags() & llvm::ELF::SHF_EXECINSTR) != 0)
        code_.emplace_back(section.getAddress(), section.getAddress() + section.getSize());
    const auto note = [this](Error error) { Note(std::move(error)); };
    package_ = PackageFile();
    using Relocations = llvm::DWARFContext::ProcessDebugRelocations;
    context_ = object_.sections.empty()
                   ? llvm::DWARFContext::create(*object_.file, Relocations::Ignore, nullptr,
                                                package_, note, note)
                   : llvm::DWARFContext::create(object_.sections, object_.elf->getBytesInAddress(),
                                                true, note, note);
    return context_ != nullptr;
  }

  std::vector<UnitRange> Units() {
    std::vector<UnitRange> ranges;
    for (const std::unique_ptr<DWARFUnit>& unit : context_->compile_units()) {
      const auto number = static_cast<uint32_t>(units_.size());
      units_.push_back(unit.get());
      const size_t before = ranges.size();
      if (auto own = unit->collectAddressRanges()) {
        for (const llvm::DWARFAddressRange& range : *own)
          if (IsCode(range.LowPC, range.HighPC))
            ranges.push_back({range.LowPC, range.HighPC, number});
      } else {
        Note(own.takeError());
      }
      if (ranges.size() == before) AddSequences(*unit, number, ranges);
    }
    return ranges;
  }

  UnitInfo ReadUnit(uint32_t number) {
    UnitInfo info;
    if (number >= units_.size()) return info;
    DWARFUnit& unit = *units_[number];
    info.is_split = unit.getDWOId().has_value();
    if (info.is_split) info.split_file = package_.empty() ? SplitFile(unit) : package_;
    if (info.is_split && package_.empty()) info.split_name = SplitName(unit);
    AddLines(unit, info);
    AddSubroutines(unit, info);
    return info;
  }

  VariablesInfo VariablesAt(uint64_t address) {
    const auto note = [this](Error error) { Note(std::move(error)); };
    return symbols::VariablesAt(*context_, address, note);
  }

  static bool HasMd5(const std::string& path, const std::array<uint8_t, 16>& md5) {
    const auto bytes = llvm::MemoryBuffer::getFile(path, false, false);
    if (!bytes) return false;
    llvm::MD5 hash;
    hash.update((*bytes)->getBuffer());
    llvm::MD5::MD5Result result;
    hash.final(result);
    return std::equal(md5.begin(), md5.end(), result.begin());
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void Note(Error error) {
    if (!error) return;
    const std::string text = llvm::toString(std::move(error));
    if (problems_.size() < kMaxProblems && std::ranges::find(problems_, text) == problems_.end())
      problems_.push_back(text);
  }

  bool IsCode(uint64_t begin, uint64_t end) const {
    return begin < end && std::ranges::any_of(
                              code_,
                              [&](const auto& section) {
                                return begin >= section.first && end <= section.second;
                              });
  }

  // The .dwp that lies beside the program or beside its debug file; LLVM would try the latter.
  std::string PackageFile() const {
    for (const std::string& path : {request_.program_path, request_.path})
      if (llvm::sys::fs::exists(path + ".dwp") && IsSane(path + ".dwp")) return path + ".dwp";
    return {};
  }

  const llvm::DWARFDebugLine::LineTable* LinesOf(DWARFUnit& unit) {
    auto table = context_->getLineTableForUnit(&unit, [this](Error e) { Note(std::move(e)); });
    if (table) return *table;
    Note(table.takeError());
    return nullptr;
  }

  void AddSequences(DWARFUnit& unit, uint32_t number, std::vector<UnitRange>& ranges) {
    const auto* table = LinesOf(unit);
    if (table == nullptr) return;
    for (const llvm::DWARFDebugLine::Sequence& sequence : table->Sequences)
      if (sequence.isValid() && IsCode(sequence.LowPC, sequence.HighPC))
        ranges.push_back({sequence.LowPC, sequence.HighPC, number});
  }

  // Numbers of one unit's files and names in `UnitInfo`, given on first use.
  struct Numbers {
    DWARFUnit* unit = nullptr;
    const llvm::DWARFDebugLine::LineTable* table = nullptr;
    std::unordered_map<uint64_t, uint32_t> files;
    std::unordered_map<const char*, uint32_t> names;
  };

  uint32_t FileNumber(uint64_t index, UnitInfo& info) {
    const auto [entry, is_new] = numbers_.files.try_emplace(index, kNone);
    if (!is_new || numbers_.table == nullptr) return entry->second;
    SourceFileInfo file;
    const char* folder = numbers_.unit->getCompilationDir();
    if (!numbers_.table->getFileNameByIndex(index, folder == nullptr ? "" : folder,
                                            FileLineInfoKind::AbsoluteFilePath, file.path))
      return kNone;
    const llvm::DWARFDebugLine::Prologue& prologue = numbers_.table->Prologue;
    if (prologue.ContentTypes.HasMD5) {
      file.md5.emplace();
      std::ranges::copy(prologue.getFileNameEntry(index).Checksum, file.md5->begin());
    }
    entry->second = static_cast<uint32_t>(info.files.size());
    info.files.push_back(std::move(file));
    return entry->second;
  }

  uint32_t NameNumber(const char* name, UnitInfo& info) {
    if (name == nullptr) return kNone;
    const auto [entry, is_new] =
        numbers_.names.try_emplace(name, static_cast<uint32_t>(info.names.size()));
    if (is_new) info.names.emplace_back(name);
    return entry->second;
  }

  // If several rows have one address, as compilers write for a debugger that stops there more than
  // once, the last one holds for the code; that the line begins here another one may say.
  static bool IsStatement(const std::vector<llvm::DWARFDebugLine::Row>& rows, size_t first,
                          size_t i) {
    const llvm::DWARFDebugLine::Row& row = rows[i];
    for (size_t at = i + 1; at-- != first && rows[at].Address.Address == row.Address.Address;)
      if (rows[at].IsStmt && rows[at].Line == row.Line && rows[at].File == row.File) return true;
    return false;
  }

  void AddLines(DWARFUnit& unit, UnitInfo& info) {
    numbers_ = {};
    numbers_.unit = &unit;
    numbers_.table = LinesOf(unit);
    if (numbers_.table == nullptr) return;
    const auto& rows = numbers_.table->Rows;
    for (const llvm::DWARFDebugLine::Sequence& sequence : numbers_.table->Sequences) {
      if (!sequence.isValid() || !IsCode(sequence.LowPC, sequence.HighPC)) continue;
      if (sequence.LastRowIndex > rows.size()) continue;
      for (size_t i = sequence.FirstRowIndex; i + 1 < sequence.LastRowIndex; ++i) {
        const llvm::DWARFDebugLine::Row& row = rows[i];
        const uint64_t end = rows[i + 1].Address.Address;
        if (row.EndSequence || row.Address.Address >= end) continue;
        info.rows.push_back({row.Address.Address, end, FileNumber(row.File, info), row.Line,
                             row.Column, IsStatement(rows, sequence.FirstRowIndex, i),
                             row.Discriminator});
      }
    }
  }

  static std::string DwoName(DWARFUnit& unit) {
    return llvm::dwarf::toString(
        unit.getUnitDIE().find({llvm::dwarf::DW_AT_dwo_name, llvm::dwarf::DW_AT_GNU_dwo_name}), "");
  }
  // The path of a split unit's file, as the compiler wrote it; empty: it names none.
  static std::string SplitName(DWARFUnit& unit) {
    const std::string name = DwoName(unit);
    if (name.empty() || !llvm::sys::path::is_relative(name)) return name;
    llvm::SmallString<128> path(
        llvm::dwarf::toString(unit.getUnitDIE().find(llvm::dwarf::DW_AT_comp_dir), ""));
    llvm::sys::path::append(path, name);
    return std::string(path);
  }
  // Where a split unit's file lies: there, or beside the folder that it was compiled in.
  std::string SplitFile(DWARFUnit& unit) const {
    const std::string as_compiled = SplitName(unit), name = DwoName(unit);
    std::vector<std::string> places = {as_compiled};
    for (const std::string& beside : {request_.program_path, request_.path}) {
      const std::string parent = llvm::sys::path::parent_path(beside).str() + "/";
      places.push_back(parent + name);
      places.push_back(parent + llvm::sys::path::filename(name).str());
    }
    llvm::SmallString<128> normal(as_compiled);
    llvm::sys::path::remove_dots(normal, true);
    for (const std::string& root : request_.folders)
      places.push_back(root + "/" + std::string(normal));
    for (const std::string& place : places)
      if (llvm::sys::fs::exists(place) && IsSane(place)) return place;
    return {};
  }

  // The unit's DIEs: those of the split file where there is one.
  DWARFDie FullUnit(DWARFUnit& unit) {
    const bool is_skeleton = unit.getDWOId().has_value();
    if (!is_skeleton) {
      if (Error error = unit.tryExtractDIEsIfNeeded(false)) Note(std::move(error));
      return unit.getUnitDIE(false);
    }
    const DWARFDie die = unit.getNonSkeletonUnitDIE(false, SplitFile(unit));
    if (!die.isValid() || die.getDwarfUnit() == &unit)
      Note(llvm::createStringError(
          "a split debug file (.dwo, .dwp) is missing or of another build: no inlined calls"));
    return die;
  }

  struct Place {
    DWARFDie die;
    uint32_t subroutine;  // the innermost around it
    uint32_t depth;
  };

  void AddSubroutines(DWARFUnit& unit, UnitInfo& info) {
    std::vector<Place> open;
    for (DWARFDie die = FullUnit(unit).getFirstChild(); die.isValid(); die = die.getSibling()) {
      open.push_back({die, kNone, 0});
      while (!open.empty()) {
        const Place place = open.back();
        open.pop_back();
        const uint32_t inside = AddSubroutine(place, info);
        if (place.depth == kMaxDepth) continue;
        for (DWARFDie child = place.die.getFirstChild(); child.isValid();
             child = child.getSibling())
          open.push_back({child, inside, place.depth + 1});
      }
    }
  }

  // Returns the subroutine that the DIE's children are in.
  uint32_t AddSubroutine(const Place& place, UnitInfo& info) {
    const llvm::dwarf::Tag tag = place.die.getTag();
    const bool is_inlined = tag == llvm::dwarf::DW_TAG_inlined_subroutine;
    if (!is_inlined && tag != llvm::dwarf::DW_TAG_subprogram) return place.subroutine;
    auto ranges = place.die.getAddressRanges();
    if (!ranges) {
      Note(ranges.takeError());
      return kNone;
    }
    if (ranges->empty()) return is_inlined ? place.subroutine : kNone;  // a declaration
    const auto number = static_cast<uint32_t>(info.subroutines.size());
    Subroutine subroutine;
    subroutine.name = NameNumber(place.die.getSubroutineName(llvm::DINameKind::LinkageName), info);
    subroutine.first_line = static_cast<uint32_t>(place.die.getDeclLine());
    if (is_inlined) {
      uint32_t file = 0;
      place.die.getCallerFrame(file, subroutine.call_line, subroutine.call_column,
                               subroutine.call_discriminator);
      subroutine.call_file = FileNumber(file, info);
      subroutine.parent = place.subroutine;
    }
    info.subroutines.push_back(subroutine);
    for (const llvm::DWARFAddressRange& range : *ranges)
      if (IsCode(range.LowPC, range.HighPC))
        info.ranges.push_back({range.LowPC, range.HighPC, number, place.depth});
    return number;
  }

  DwarfRequest request_;
  OpenedObject object_;
  std::vector<std::pair<uint64_t, uint64_t>> code_;
  std::string package_;  // the .dwp, which LLVM looks at alone; empty: not found
  std::unique_ptr<llvm::DWARFContext> context_;
  std::vector<DWARFUnit*> units_;
  Numbers numbers_;  // of the unit being read
  std::vector<std::string> problems_;
};

constexpr bool kHasShadowMemory = FLOWBACK_SANITIZED != 0;

// Damaged DWARF must not take the machine's memory: what a sound file needs is a multiple of its
// size. No core files either: a crash here is an expected outcome.
void LimitItself(const DwarfRequest& request) {
  uint64_t size = 0;
  for (const std::string& path :
       {request.path, request.path + ".dwp", request.program_path + ".dwp"})
    if (struct stat status{}; stat(path.c_str(), &status) == 0)
      size += static_cast<uint64_t>(status.st_size);
  rlimit memory{};
  getrlimit(RLIMIT_AS, &memory);  // what the user set stays true
  memory.rlim_cur = std::min<rlim_t>(memory.rlim_cur, kFreeMemory + kMostMemoryPerByte * size);
  // A sanitizer maps terabytes.
  if (!kHasShadowMemory) setrlimit(RLIMIT_AS, &memory);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
}

// The other end, standard input. False when it is gone.
bool Receive(char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(STDIN_FILENO, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool Send(const std::string& bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    const ssize_t count =
        send(STDIN_FILENO, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    sent += static_cast<size_t>(count);
  }
  return true;
}

// Serves one request after the other until the other end closes.
class Server {
 public:
  int Run() {
    uint64_t size = 0;
    std::string request;
    while (Receive(reinterpret_cast<char*>(&size), sizeof size)) {
      if (size > kFreeDwarfMessage) return 1;
      request.resize(size);
      if (!Receive(request.data(), size)) return 1;
      WireWriter reply;
      Answer(WireReader(request), reply);
      WireWriter message;
      message.Put(reply.bytes());
      if (!Send(message.bytes())) return 1;
    }
    return 0;
  }

 private:
  void Answer(WireReader request, WireWriter& reply) {
    switch (request.Get<DwarfCommand>()) {
      case DwarfCommand::kOpen:
        return Open(request, reply);
      case DwarfCommand::kUnit:
        return Unit(reader_.ReadUnit(request.Get<uint32_t>()), reply);
      case DwarfCommand::kVariables:
        return reply.Put(reader_.VariablesAt(request.Get<uint64_t>()));
      case DwarfCommand::kCheck: {
        const auto path = request.Get<std::string>();
        return reply.Put(Reader::HasMd5(path, request.Get<std::array<uint8_t, 16>>()));
      }
    }
  }

  void Open(WireReader& request, WireWriter& reply) {
    DwarfRequest what;
    request.Get(what.path);
    request.Get(what.program_path);
    request.Get(what.folders);
    LimitItself(what);
    std::string problem;
    const bool has_dwarf = reader_.Open(what, problem);
    reply.Put(has_dwarf);
    reply.Put(problem);
    reply.Put(has_dwarf ? reader_.Units() : std::vector<UnitRange>());
    reply.Put(reader_.problems());
  }

  void Unit(const UnitInfo& info, WireWriter& reply) {
    reply.Put(info);
    reply.Put(reader_.problems());
  }

  Reader reader_;
};

}  // namespace
}  // namespace flowback::symbols

int main(int count, char** words) {
  namespace symbols = flowback::symbols;
  if (count != 2 || std::strcmp(words[1], symbols::kDwarfVersion) != 0) return 2;
  return symbols::Server().Run();
}
