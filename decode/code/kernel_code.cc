// SPDX-License-Identifier: MIT
// What the kernel runs is in none of its files. At boot it rewrites its text for the CPU it finds
// itself on, later whenever a static key, a tracer or a probe is switched; modules are relocated
// and rewritten as they are loaded. So code comes from a copy of its memory alone:
//   1. --kcore, or the copy that `perf record --kcore` put beside the recording, or /proc/kcore of
//      the running kernel where its build-id is the recorded one;
//   2. of it, the ranges that the recording's maps and KSYMBOL records name;
//   3. TEXT_POKE records, each with the old bytes and the new ones. When the copy was made does not
//      matter to them: what the first record at a place calls old was there at the beginning.
// Code that came after the copy (BPF programs) is not in it, unless a TEXT_POKE carries its bytes.
#include "decode/code/kernel_code.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "base/hex.h"
#include "decode/code/core/core_file.h"
#include "decode/code/images/image_search.h"
#include "decode/code/images/kernel_place.h"
#include "decode/code/kernel_memory.h"
#include "decode/code/process_code.h"

namespace flowback {
namespace {

constexpr const char* kGetKcore =
    "record with `perf record --kcore`, or name a copy of the recorded kernel's /proc/kcore with "
    "--kcore FILE";

using Section = std::shared_ptr<const CodeSection>;

// "[kernel.kallsyms]" for the kernel's own text, "[nf_nat]" for /lib/modules/.../nf-nat.ko.xz.
std::string NameOf(std::string_view path) {
  if (path.starts_with('[')) return std::string(path.substr(0, path.find(']') + 1));
  std::string name(BaseName(path));
  name = name.substr(0, name.find(".ko"));
  std::ranges::replace(name, '-', '_');
  return "[" + name + "]";
}

bool IsModule(std::string_view path) { return !path.starts_with(kKernelMap); }

// Returns whether the path belongs to a virtual machine's kernel ("[guest.kernel.kallsyms]"), which
// has memory of its own.
bool IsGuests(std::string_view path) { return path.starts_with("[guest."); }

BuildId RecordedBuildId(const Recording& recording) {
  for (const SidebandRecord& any : recording.sideband)
    if (const auto* map = std::get_if<MmapRecord>(&any);
        map && map->kernel && map->path.starts_with(kKernelMap) && !map->build_id.empty())
      return map->build_id;
  for (const auto& [path, build_id] : recording.build_ids)
    if (path.starts_with(kKernelMap)) return build_id;
  return {};
}

BuildId RunningBuildId(const RunningKernel& running) {
  // /sys/kernel/notes is read, not mapped: its size says 0 on some kernels.
  std::vector<uint8_t> notes(1 << 16);
  FILE* file = std::fopen(running.notes.c_str(), "re");
  if (file == nullptr) return {};
  notes.resize(std::fread(notes.data(), 1, notes.size(), file));
  std::fclose(file);
  return FindBuildId(notes);
}

bool Exists(const std::string& path) {
  const auto file = MappedFile::Open(path);
  return file.has_value();
}

// The source of the code, and its problem.
struct Source {
  std::optional<KernelMemory> memory;
  Verification verification = Verification::kGiven;
  bool now = false;      // /proc/kcore: what it holds is the present
  std::string problem;   // why the code is missing
  std::string kallsyms;  // its symbols; may be empty
};

class Loader {
 public:
  Loader(const Recording& recording, const ImageSearch& search, uint64_t trace_start,
         ImageStore& store, const RunningKernel& running)
      : recording_(recording),
        search_(search),
        store_(store),
        running_(running),
        recorded_(RecordedBuildId(recording)),
        place_(RecordedPlace(recording)),
        trace_start_(trace_start),
        code_(std::make_shared<const AddressSpace>(), trace_start) {}

  Result<KernelCode> Load() {
    if (Status status = FindSource(); !status) return Fail(std::move(status.error()));
    ExplainAll();
    for (const SidebandRecord& any : recording_.sideband)
      if (const auto* map = std::get_if<MmapRecord>(&any);
          map && map->kernel && map->executable && !IsGuests(map->path))
        MapRecorded(*map);
    if (!has_maps_ && source_.memory) MapWhole();
    for (const SidebandRecord& any : recording_.sideband) MapOldSymbol(any);
    UndoPokes();
    for (const SidebandRecord& any : recording_.sideband) {
      if (const auto* poke = std::get_if<TextPokeRecord>(&any)) Take(*poke);
      if (const auto* symbol = std::get_if<KsymbolRecord>(&any)) Take(*symbol);
    }
    return KernelCode{code_.Finish(), std::move(images_)};
  }

 private:
  Status FindSource() {
    if (!search_.kallsyms.empty()) {
      if (auto file = MappedFile::Open(search_.kallsyms); !file)
        return Fail(Error(ErrorCode::kUnreadable, file.error().message())
                        .While("opening --kallsyms")
                        .Remedy("check FILE in --kallsyms FILE"));
      source_.kallsyms = search_.kallsyms;
      const uint64_t there = PlaceInSymbols(source_.kallsyms, place_.symbol);
      if (const std::string moved = Moved(there, source_.kallsyms); !moved.empty())
        return Fail(Error(ErrorCode::kUsage, "--kallsyms: " + moved)
                        .Remedy("name a copy of /proc/kallsyms from the boot that was recorded, or "
                                "leave the option out"));
    }
    if (!search_.kcore.empty()) return UseGiven(search_.kcore, "--kcore ");
    const std::string& folder = recording_.kcore_dir;
    if (!folder.empty()) {
      if (source_.kallsyms.empty() && Exists(folder + "/kallsyms"))
        source_.kallsyms = folder + "/kallsyms";
      if (Exists(folder + "/kcore")) return UseGiven(folder + "/kcore", "");
    }
    UseRunning();
    return {};
  }

  Status UseGiven(const std::string& path, const std::string& option) {
    auto memory = KernelMemory::Open(path);
    if (!memory) return Fail(Error(memory.error()).While("opening " + option + path));
    if (!recorded_.empty() && !memory->build_id().empty()) {
      if (recorded_ != memory->build_id())
        return Fail(Error(ErrorCode::kUsage,
                          option + path + " is of the kernel " + memory->build_id().ToHex() +
                              ", but the recording was made on " + recorded_.ToHex())
                        .Remedy("name the /proc/kcore copy of the recorded kernel"));
      source_.verification = Verification::kBuildId;
    }
    if (const std::string moved = Moved(PlaceIn(*memory), path); !moved.empty())
      return Fail(Error(ErrorCode::kUsage, (option.empty() ? "" : "--kcore: ") + moved)
                      .Remedy("name a copy of /proc/kcore from the boot that was recorded"));
    source_.memory.emplace(std::move(*memory));
    return {};
  }

  // Returns the objection to addresses from `path`, which has the recorded place's symbol at
  // `there` (0: unknown). Empty: none.
  std::string Moved(uint64_t there, const std::string& path) const {
    if (place_.address == 0 || there == 0 || there == place_.address) return {};
    return "the recorded kernel's " + place_.symbol + " lay at " + Hex(place_.address) +
           ", and in " + path + " it lies at " + Hex(there) +
           ": each boot may put the kernel elsewhere (KASLR)";
  }

  // The memory contains _stext alone. On x86 that is where _text is, too.
  uint64_t PlaceIn(const KernelMemory& memory) const {
    const bool is_the_same = place_.symbol == "_stext" || recording_.instruction_set == "x86";
    return is_the_same ? memory.text() : 0;
  }

  void UseRunning() {
    const BuildId own = RunningBuildId(running_);
    if (recorded_.empty() || own != recorded_) {
      source_.problem =
          (recorded_.empty() ? "the recording has no build-id for its kernel"
           : own.empty()     ? "the recording was made on the kernel " + recorded_.ToHex() +
                               ", and this machine's does not reveal its build-id"
                         : "the recording was made on the kernel " + recorded_.ToHex() +
                               ", this machine runs " + own.ToHex()) +
          "; " + kGetKcore;
      return;
    }
    std::string moved = Moved(PlaceInSymbols(running_.kallsyms, place_.symbol), running_.kallsyms);
    auto memory = KernelMemory::Open(running_.kcore);
    if (memory && moved.empty()) moved = Moved(PlaceIn(*memory), running_.kcore);
    if (!moved.empty()) {
      source_.problem = moved + "; " + kGetKcore;
      return;
    }
    if (source_.kallsyms.empty()) source_.kallsyms = running_.kallsyms;
    if (!memory) {
      source_.problem = "the recorded kernel is running here, but " + memory.error().message() +
                        "; run as root, or " + kGetKcore;
      return;
    }
    source_.memory.emplace(std::move(*memory));
    source_.verification = Verification::kBuildId;
    source_.now = true;
  }

  // Explains all ranges that get no better explanation below. Names are known there, too.
  void ExplainAll() {
    const std::string why = source_.memory ? "not in " + source_.memory->path() : source_.problem;
    code_.Hide(0, kKernelAddresses, -kKernelAddresses,
               CodeSection::Missing("kernel code: " + why, {}, source_.kallsyms));
  }

  ImageStatus& AddStatus(const std::string& path, const BuildId& recorded) {
    ImageStatus status;
    status.path = path;
    status.recorded = recorded;
    if (source_.memory) {
      status.file = source_.memory->path();
      status.found = source_.memory->build_id();
      status.source = CodeSource::kKernelCore;
      status.verification = source_.verification;
    }
    images_.push_back(std::move(status));
    return images_.back();
  }

  // Maps what the memory has of a range; returns how many bytes.
  uint64_t Map(uint64_t address, uint64_t size, const std::string& name) {
    uint64_t mapped = 0;
    if (!source_.memory) return mapped;
    for (const KernelMemory::Part& part : source_.memory->Find(address, size)) {
      auto file = std::make_shared<ImageFile>();
      file->path = name;
      file->owner = part.owner;
      file->bytes = part.bytes;
      file->kallsyms = source_.kallsyms;
      code_.Amend(
          store_.MapRange(file, part.offset, part.size, part.address, source_.verification));
      mapped += part.size;
    }
    return mapped;
  }

  void MapRecorded(const MmapRecord& record) {
    // Older perfs let the kernel's map begin at 0 if they did not know its place.
    const uint64_t begin = std::max(record.address, kKernelAddresses);
    const uint64_t skipped = begin - record.address;
    if (record.size <= skipped) return;
    const uint64_t size = std::min(record.size - skipped, -begin);
    has_maps_ = true;
    const bool module = IsModule(record.path);
    ImageStatus& status = AddStatus(record.path, module ? record.build_id : recorded_);
    status.usable = Map(begin, size, NameOf(record.path)) != 0;
    if (status.usable) {
      if (source_.now)
        status.problem =
            "read from the running kernel: what it changed in its code since the "
            "recording ended is not known";
      return;
    }
    status.source = CodeSource::kNone;
    status.file.clear();
    if (source_.memory)
      status.problem = source_.memory->path() + " does not have its addresses; " + kGetKcore;
    else
      status.problem =
          (module ? "a module's file is not what ran, because the kernel relocates and rewrites "
                    "modules: "
                  : "") +
          source_.problem;
  }

  // Without maps: all places where code can be.
  void MapWhole() {
    uint64_t mapped = 0;
    for (const AddressRange& range : source_.memory->CodeRanges())
      mapped += Map(range.begin, range.end - range.begin, std::string(kKernelMap));
    ImageStatus& status = AddStatus(std::string(kKernelMap), recorded_);
    status.usable = mapped != 0;
    if (!status.usable)
      status.problem = source_.memory->path() + " has no kernel code; " + kGetKcore;
  }

  // Whether the copy of the memory can have what a record says came at that time.
  bool IsInCopy(const KsymbolRecord& symbol) const {
    return source_.now || symbol.time <= trace_start_ || symbol.time == 0;
  }

  static std::string NameOfSymbol(const KsymbolRecord& symbol) { return "[" + symbol.name + "]"; }

  void MapOldSymbol(const SidebandRecord& any) {
    const auto* symbol = std::get_if<KsymbolRecord>(&any);
    if (symbol == nullptr || symbol->unregister || symbol->address < kKernelAddresses) return;
    names_[symbol->address] = {symbol->size, NameOfSymbol(*symbol)};
    if (!IsInCopy(*symbol) || code_.now().Overlaps(symbol->address, symbol->size)) return;
    Map(symbol->address, symbol->size, NameOfSymbol(*symbol));
  }

  // The bytes of the beginning, where the copy has later ones.
  void UndoPokes() {
    std::map<uint64_t, uint8_t> first;  // what each byte was before the first record of it
    for (const SidebandRecord& any : recording_.sideband) {
      const auto* poke = std::get_if<TextPokeRecord>(&any);
      if (poke == nullptr || poke->old_bytes.empty() || poke->new_bytes.empty()) continue;
      for (size_t i = 0; i < poke->old_bytes.size(); ++i)
        first.try_emplace(poke->address + i, poke->old_bytes[i]);
    }
    for (auto at = first.begin(); at != first.end();) {
      const uint64_t begin = at->first;
      std::vector<uint8_t> bytes;
      for (; at != first.end() && at->first == begin + bytes.size(); ++at)
        bytes.push_back(at->second);
      std::vector<uint8_t> present(bytes.size());
      if (code_.now().Read(begin, present.data(), present.size()) == present.size() &&
          present != bytes)
        code_.Amend(Patch(begin, bytes));
    }
  }

  CodeMapping Patch(uint64_t address, const std::vector<uint8_t>& bytes) {
    const CodeMapping* under = code_.now().Find(address);
    auto file = std::make_shared<ImageFile>();
    auto owner = std::make_shared<const std::vector<uint8_t>>(bytes);
    file->path = under != nullptr ? under->section->name() : NameAt(address);
    file->bytes = *owner;
    file->owner = std::move(owner);
    file->kallsyms = source_.kallsyms;
    CodeMapping mapping = store_.MapRange(file, 0, bytes.size(), address, Verification::kGiven);
    patches_.insert(mapping.section.get());
    return mapping;
  }

  std::string NameAt(uint64_t address) const {
    const auto after = names_.upper_bound(address);
    if (after == names_.begin()) return std::string(kKernelMap);
    const auto& [begin, symbol] = *std::prev(after);
    return address - begin < symbol.first ? symbol.second : std::string(kKernelMap);
  }

  void Take(const TextPokeRecord& poke) {
    if (poke.address < kKernelAddresses) return;
    if (poke.new_bytes.empty()) {
      code_.Hide(poke.time, poke.address, poke.old_bytes.size(),
                 CodeSection::Missing("kernel code that was taken away before"));
      return;
    }
    // A change to code that is not known leaves it unknown; new code is known from here on.
    const bool is_new = poke.old_bytes.empty();
    std::vector<uint8_t> present(poke.new_bytes.size());
    const bool known =
        code_.now().Read(poke.address, present.data(), present.size()) == present.size();
    if ((!known && !is_new) || (known && present == poke.new_bytes)) return;
    code_.Map(poke.time, Patch(poke.address, poke.new_bytes));
    if (!is_new) return;
    ImageStatus status;
    status.path = NameAt(poke.address);
    status.file = recording_.path;
    status.source = CodeSource::kTextPoke;
    status.verification = Verification::kGiven;
    status.usable = true;
    images_.push_back(std::move(status));
  }

  void Take(const KsymbolRecord& symbol) {
    if (symbol.address < kKernelAddresses || symbol.size == 0) return;
    if (symbol.unregister) {
      code_.Hide(
          symbol.time, symbol.address, symbol.size,
          CodeSection::Missing(NameOfSymbol(symbol) + ": kernel code that was taken away before"));
      return;
    }
    if (IsInCopy(symbol)) return;
    // Another record of the same time may have set its bytes already.
    const CodeMapping* present = code_.now().Find(symbol.address);
    if (present != nullptr && patches_.contains(present->section.get())) return;
    code_.Hide(symbol.time, symbol.address, symbol.size,
               CodeSection::Missing(
                   NameOfSymbol(symbol) +
                   ": kernel code made while recording, whose bytes the recording lacks"));
  }

  const Recording& recording_;
  const ImageSearch& search_;
  ImageStore& store_;
  const RunningKernel& running_;
  const BuildId recorded_;
  const KernelPlace place_;  // where it lay then
  const uint64_t trace_start_;
  Source source_;
  bool has_maps_ = false;
  ProcessCode code_;
  std::map<uint64_t, std::pair<uint64_t, std::string>> names_;  // of KSYMBOLs: size, name
  std::set<const CodeSection*> patches_;
  std::vector<ImageStatus> images_;
};

}  // namespace

Result<KernelCode> LoadKernelCode(const Recording& recording, const ImageSearch& search,
                                  uint64_t trace_start, ImageStore& store,
                                  const RunningKernel& running) {
  const bool ran = recording.levels.kernel.value_or(false) || !recording.sampled_in_kernel.empty();
  if (!ran && search.kcore.empty() && search.kallsyms.empty() && recording.kcore_dir.empty())
    return KernelCode();
  return Loader(recording, search, trace_start, store, running).Load();
}

std::shared_ptr<const AddressSpaceHistory> WithKernel(const AddressSpaceHistory& process,
                                                      const AddressSpaceHistory& kernel) {
  AddressSpaceHistory both;
  size_t told = ~size_t{0};  // the process's epoch that was added last
  for (size_t p = 0, k = 0;;) {
    auto space = std::make_shared<AddressSpace>(*process.epochs[p].space);
    space->MapAll(*kernel.epochs[k].space);
    both.epochs.push_back({.time = std::max(process.epochs[p].time, kernel.epochs[k].time),
                           .space = std::move(space),
                           .records_lost = process.epochs[p].records_lost,
                           .program = process.epochs[p].program && told != p});
    told = p;
    const bool more_p = p + 1 < process.epochs.size();
    const bool more_k = k + 1 < kernel.epochs.size();
    if (!more_p && !more_k) break;
    const uint64_t next_p = more_p ? process.epochs[p + 1].time : ~uint64_t{0};
    const uint64_t next_k = more_k ? kernel.epochs[k + 1].time : ~uint64_t{0};
    if (more_p && (!more_k || next_p <= next_k)) ++p;
    if (more_k && (!more_p || next_k <= next_p)) ++k;
  }
  return std::make_shared<const AddressSpaceHistory>(std::move(both));
}

}  // namespace flowback
