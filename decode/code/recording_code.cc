// SPDX-License-Identifier: MIT
// From a recording's sideband to each process's code:
//   1. the user's files (--section, --image, --core) are opened, and must be right;
//   2. each executable mapping's file is looked for and checked; a file not found gets a status; 3.
//   the records are replayed in time order into one ProcessCode per process, and core dumps give
//   the code that no file has; 4. the kernel's code is added to each; 5. each stream gets the
//   process that wrote it.
#include "flowback/decode/recording_code.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "decode/code/cache/block_cache.h"
#include "decode/code/core/core_code.h"
#include "decode/code/core/last_mappings.h"
#include "decode/code/core_layer.h"
#include "decode/code/image_finder.h"
#include "decode/code/images/given_code.h"
#include "decode/code/images/image_store.h"
#include "decode/code/images/kept_images.h"
#include "decode/code/kernel_code.h"
#include "decode/code/process_code.h"
#include "decode/code/remapped_text.h"

namespace flowback {
namespace {

struct GivenCode {
  std::vector<CodeMapping> sections;
  std::vector<GivenImage> images;
};

Result<GivenCode> OpenGiven(const Recording& recording, ImageStore& store) {
  GivenCode given;
  for (const ImageSpec& spec : recording.images) {
    auto image = OpenImage(spec, store, recording.instruction_set);
    if (!image) return Fail(std::move(image.error()));
    given.images.push_back(std::move(*image));
  }
  for (const SectionSpec& spec : recording.sections) {
    auto mapping = MapSection(spec, store);
    if (!mapping) return Fail(std::move(mapping.error()));
    given.sections.push_back(std::move(*mapping));
  }
  return given;
}

// Given code that was packed into a bundle keeps the path that it had.
void AddPacked(const Recording& recording, std::vector<ImageStatus>& images) {
  std::set<std::string> files;
  for (const ImageSpec& spec : recording.images) files.insert(spec.file);
  for (const SectionSpec& spec : recording.sections) files.insert(spec.file);
  for (const std::string& file : files) {
    const std::string origin = OriginOf(file);
    if (origin == file) continue;
    bool is_known = false;
    for (ImageStatus& image : images) {
      if (image.file != file) continue;
      image.path = origin;
      is_known = true;
    }
    if (is_known) continue;
    ImageStatus& image = images.emplace_back();
    image.path = origin;
    image.file = file;
    image.source = CodeSource::kGiven;
    image.usable = true;
    image.verification = Verification::kGiven;
  }
}

bool HasMappings(const Recording& recording) {
  return std::any_of(recording.sideband.begin(), recording.sideband.end(),
                     [](const SidebandRecord& r) { return std::holds_alternative<MmapRecord>(r); });
}

// An image that may lie anywhere, when the recording knows where things lie: it is only a file to
// be looked at for a mapping.
bool IsCandidateOnly(const GivenImage& image, bool has_mappings) {
  return has_mappings && !image.has_address && image.file->elf->position_independent;
}

// Sections lie over images: they say more precisely what was where.
template <class Keep>
AddressSpace LayOut(const GivenCode& given, const Keep& keep) {
  AddressSpace space;
  for (const GivenImage& image : given.images)
    if (keep(image))
      for (const CodeMapping& mapping : image.mappings) space.Map(mapping);
  for (const CodeMapping& mapping : given.sections) space.Map(mapping);
  return space;
}

// The processes that a stream may turn out to be of, or that were sampled: only theirs need the
// kernel's code.
std::set<int32_t> TracedProcesses(const Recording& recording) {
  std::set<int32_t> traced;
  for (const Stream& stream : recording.streams) traced.insert(stream.pid);
  for (const SidebandRecord& record : recording.sideband) {
    if (const auto* start = std::get_if<ItraceStartRecord>(&record)) traced.insert(start->pid);
    if (const auto* change = std::get_if<SwitchRecord>(&record))
      traced.insert({change->pid, change->other_pid});
    if (const auto* fork = std::get_if<ForkRecord>(&record);
        fork != nullptr && traced.contains(fork->parent_pid))
      traced.insert(fork->pid);
  }
  traced.insert(recording.sampled_in_kernel.begin(), recording.sampled_in_kernel.end());
  return traced;
}

// When the first trace began, as far as the recording says; changes before it need no epoch.
uint64_t TraceStart(const Recording& recording) {
  uint64_t start = ~uint64_t{0};
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* started = std::get_if<ItraceStartRecord>(&record))
      start = std::min(start, started->time);
  return start == ~uint64_t{0} ? 0 : start;
}

// Replays the sideband. One visitor call per record, in order.
class Replay {
 public:
  // `has_bytes`: the recording has the bytes of all memory without a file in which code ran.
  Replay(ImageFinder& finder, CoreLayer& cores, ImageStore& store,
         std::shared_ptr<const AddressSpace> given, uint64_t trace_start, bool has_bytes)
      : finder_(finder),
        cores_(cores),
        store_(store),
        given_(std::move(given)),
        trace_start_(trace_start),
        has_bytes_(has_bytes) {}

  void Run(const std::vector<SidebandRecord>& sideband) {
    for (const int32_t pid : cores_.Processes()) Process(pid);
    for (position_ = 0; position_ < sideband.size(); ++position_)
      std::visit(*this, sideband[position_]);
  }
  void operator()(const MmapRecord& record) {
    if (record.kernel) return;  // LoadKernelCode reads these
    ProcessCode& process = Process(record.pid);
    std::optional<CodeMapping> mapping;
    if (record.executable) mapping = finder_.Map(record);
    if (mapping && IsMemoryWithoutFile(record.path))
      MapMemory(record, *mapping, process);
    else if (mapping)
      process.MapFile(record.time, *mapping);
    else
      HideFile(record, process);
    Amend(record.pid);
  }
  void operator()(const CommRecord& record) {
    if (!record.exec) return;
    Process(record.pid).Exec(record.time);
    Amend(record.pid);
  }
  void operator()(const ForkRecord& record) {
    if (record.pid == record.parent_pid) return;  // a thread
    Process(record.pid).Fork(record.time, Process(record.parent_pid));
    Amend(record.pid);
  }
  void operator()(const LostRecord& record) {
    if (record.samples) return;
    for (auto& [pid, process] : processes_) process.LoseRecords();
  }
  template <class Other>
  void operator()(const Other&) {}

  std::map<int32_t, ProcessCode> Take() { return std::move(processes_); }
  std::vector<ReplacedText> TakeReplaced() { return std::move(replaced_); }

 private:
  void MapMemory(const MmapRecord& record, const CodeMapping& mapping, ProcessCode& process) {
    const TextParts parts = CompareWithText(mapping, process.text(), comparable_);
    for (const CodeMapping& part : parts.of_files) process.Map(record.time, part);
    for (const CodeMapping& part : parts.own) process.Map(record.time, part);
    for (const CodeMapping& part : parts.replaced)
      replaced_.push_back(
          {part.section, part.section->file_offset() + part.section_offset, part.size});
  }

  // No code is known of what was mapped; but it may be text of a file that lay there, moved.
  void HideFile(const MmapRecord& record, ProcessCode& process) {
    const bool may_be_text = MayHoldMovedText(record.path);
    std::vector<CodeMapping> moved;
    const bool has_bytes = has_bytes_ || cores_.HasBytes(record.pid, position_);
    if (record.executable && may_be_text && !has_bytes)
      moved = TextThatWasMoved(record.address, record.size, process.text());
    for (const CodeMapping& part : moved) process.Map(record.time, store_.Unverified(part));
    if (moved.empty())
      process.Hide(record.time, record.address, record.size,
                   record.executable ? finder_.WhyNothing(record) : nullptr);
    else
      finder_.NoteMovedText(record, moved.front().section->name());
    if (!may_be_text) process.ForgetText(record.address, record.size);
  }

  ProcessCode& Process(int32_t pid) {
    const auto [process, is_new] = processes_.try_emplace(pid, given_, trace_start_);
    if (is_new) cores_.Amend(pid, LastMappings::kBefore, process->second);
    return process->second;
  }
  void Amend(int32_t pid) { cores_.Amend(pid, position_, Process(pid)); }

  ImageFinder& finder_;
  CoreLayer& cores_;
  ImageStore& store_;
  size_t position_ = 0;  // in the sideband
  std::shared_ptr<const AddressSpace> given_;
  uint64_t trace_start_;
  bool has_bytes_;
  uint64_t comparable_ = uint64_t{4} << 30;  // bytes of memory that may be compared with files
  std::vector<ReplacedText> replaced_;
  std::map<int32_t, ProcessCode> processes_;
};

// Which process wrote a stream, where the stream itself does not say.
int32_t WriterOf(const Stream& stream, const Recording& recording) {
  if (stream.pid >= 0) return stream.pid;
  std::set<int32_t> on_this_cpu;
  std::set<int32_t> anywhere;
  for (const SidebandRecord& record : recording.sideband) {
    const auto& base = std::visit([](const auto& r) -> const SidebandBase& { return r; }, record);
    if (stream.tid >= 0) {
      if (base.tid == stream.tid && base.pid >= 0) return base.pid;
    } else if (std::holds_alternative<ItraceStartRecord>(record) && base.pid > 0) {
      anywhere.insert(base.pid);
      if (base.cpu == stream.cpu) on_this_cpu.insert(base.pid);
    }
  }
  if (on_this_cpu.size() == 1) return *on_this_cpu.begin();
  if (anywhere.size() == 1) return *anywhere.begin();
  return -1;
}

}  // namespace

Result<RecordingCode> RecordingCode::Load(const Recording& recording, const ImageSearch& search) {
  std::shared_ptr<const DiskCache> disk;
  if (!search.cache.empty())
    disk = std::make_shared<const DiskCache>(DiskCacheSettings{search.cache, search.cache_bytes},
                                             StoredBlocks::Version());
  ImageStore store(disk);
  auto given = OpenGiven(recording, store);
  if (!given) return Fail(std::move(given.error()));

  auto cores = CoreCode::Load(search.cores, recording, store);
  if (!cores) return Fail(std::move(cores.error()));

  const bool has_mappings = HasMappings(recording);
  const AddressSpace all_given = LayOut(
      *given, [&](const GivenImage& image) { return !IsCandidateOnly(image, has_mappings); });
  ImageFinder finder(recording, search, given->images, all_given, *cores, store);
  // This comes before any code is laid out, because a recorded build-id may contradict an image
  // that the user gave.
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* mmap = std::get_if<MmapRecord>(&record); mmap && mmap->executable)
      mmap->kernel ? finder.InspectKernel(*mmap) : finder.Inspect(*mmap);
  for (const MmapRecord& made : cores->made_records()) finder.Inspect(made);
  const auto usable =
      std::make_shared<const AddressSpace>(LayOut(*given, [&](const GivenImage& image) {
        return !IsCandidateOnly(image, has_mappings) && !finder.Contradicted(image);
      }));

  auto kernel = LoadKernelCode(recording, search, TraceStart(recording), store);
  if (!kernel) return Fail(std::move(kernel.error()));

  CoreLayer core_layer(*cores, finder, *usable, store);
  Replay replay(finder, core_layer, store, usable, TraceStart(recording),
                recording.machine.emulated);
  replay.Run(recording.sideband);

  RecordingCode code;
  code.replaced_ = replay.TakeReplaced();
  for (auto& [pid, process] : replay.Take()) code.processes_.emplace_back(pid, process.Finish());
  ProcessCode nothing_recorded(usable, 0);
  core_layer.Amend(CoreCode::kNoProcess, LastMappings::kBefore, nothing_recorded);
  code.given_ = nothing_recorded.Finish();
  for (const Stream& stream : recording.streams)
    code.stream_processes_.push_back(WriterOf(stream, recording));
  if (kernel->history != nullptr) {
    std::set<int32_t> traced = TracedProcesses(recording);
    traced.insert(code.stream_processes_.begin(), code.stream_processes_.end());
    for (auto& [pid, history] : code.processes_)
      if (traced.contains(pid)) history = WithKernel(*history, *kernel->history);
    code.given_ = WithKernel(*code.given_, *kernel->history);
  }
  for (const GivenImage& image : given->images)
    if (!finder.Contradicted(image))
      code.given_files_.push_back(
          {image.file->path, finder.WhyUnused(image, IsCandidateOnly(image, has_mappings))});
  code.images_ = finder.TakeStatuses();
  code.images_.insert(code.images_.end(), kernel->images.begin(), kernel->images.end());
  AddPacked(recording, code.images_);
  code.sections_ = store.Sections();
  code.files_ = store.mapped();
  code.disk_ = std::move(disk);
  return code;
}

bool RecordingCode::TakeRead() const {
  bool any = false;
  for (const auto& section : sections_) any |= section->blocks().TakeRead();
  return any;
}

void RecordingCode::KeepBlocks() const {
  if (disk_ == nullptr) return;
  bool any = false;
  for (const auto& section : sections_) any |= section->blocks().Keep();
  if (any) disk_->Trim();
}

std::optional<Error> RecordingCode::CacheRefusal() const {
  return disk_ == nullptr ? std::nullopt : disk_->Refusal();
}

std::vector<ModeConflict> RecordingCode::ModeConflicts() const {
  std::map<std::pair<std::string, unsigned>, unsigned> bits;  // of the ELF file, by file and mode
  for (const auto& section : sections_)
    for (const CodeMode mode : kCodeModes)
      // What a recorder keeps of memory without a file is code of any mode.
      if (!IsMemoryWithoutFile(section->name()) && section->elf_bits() != 0 &&
          (section->elf_bits() == 64) != (TraitsOf(mode).bits == 64) &&
          section->blocks().HasDecoded(mode))
        bits.emplace(std::pair(section->name(), TraitsOf(mode).bits), section->elf_bits());
  std::vector<ModeConflict> conflicts;
  for (const auto& [place, elf_bits] : bits)
    conflicts.push_back({place.first, elf_bits, place.second});
  return conflicts;
}

std::vector<UnusedImage> RecordingCode::UnusedImages() const {
  std::set<std::string> decoded;
  for (const auto& section : sections_)
    if (std::ranges::any_of(kCodeModes,
                            [&](CodeMode mode) { return section->blocks().HasDecoded(mode); }))
      decoded.insert(section->name());
  std::vector<UnusedImage> unused;
  if (decoded.empty()) return unused;
  for (const UnusedImage& image : given_files_)
    if (!decoded.contains(image.file)) unused.push_back(image);
  return unused;
}

int32_t RecordingCode::ProcessOf(const Stream& stream) const {
  return stream.pid < 0 && stream.index < stream_processes_.size() ? stream_processes_[stream.index]
                                                                   : stream.pid;
}

RecordingCode::History RecordingCode::OfProcess(int32_t pid) const {
  const auto found =
      std::lower_bound(processes_.begin(), processes_.end(), pid,
                       [](const auto& process, int32_t wanted) { return process.first < wanted; });
  return found != processes_.end() && found->first == pid ? found->second : given_;
}

const AddressSpaceHistory& RecordingCode::ForStream(const Stream& stream) const {
  return *OfProcess(ProcessOf(stream));
}

std::string_view RecordingCode::RecordedPath(const std::string& file) const {
  for (const ImageStatus& image : images_)
    if (image.file == file && !image.path.empty()) return image.path;
  return file;
}

}  // namespace flowback
