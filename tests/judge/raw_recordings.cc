// SPDX-License-Identifier: MIT
#include "tests/judge/raw_recordings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/psb.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/golden/generated.h"
#include "tests/golden/shared_traces.h"
#include "tests/golden/time_truth.h"
#include "tests/support/flow_of.h"

namespace flowback::judge {
namespace {

// A stream longer than this is judged in parts of it, from its begin, its middle and its end.
constexpr uint64_t kLongStream = 400'000;
constexpr uint64_t kPartSize = 60'000;
// Recordings of this name are those of the name before it, with overflows.
constexpr std::string_view kOvf = "-ovf";
bool HasOverflows(const RawName& name) { return name.recording.ends_with(kOvf); }

struct RealRaw {
  const char* name;
  const char* folder;  // under traces/intel-pt
  const char* file;
  std::vector<const char*> images;
  const char* cpu;
  FlowDigest digest;
  bool from_psbs_only = false;
  bool raw = true;  // else the file describes itself: perf.data, or LLDB's bundle
};

const RealRaw kReal[] = {
    {"dynamorio_current",
     "dynamorio-current",
     "pt.bin",
     {"hello"},
     "6/85/4",
     {8, 0x9304caebd98fce40}},
    {"dynamorio_static",
     "dynamorio-v3_static_820k_sb",
     "pt.bin",
     {"hello"},
     "6/85/4",
     {59234, 0x2e54b0deec56db32}},
    {"hase_control_flow",
     "hase-2018-04-04",
     "control_flow-20180404T163033.perf-aux-idx1.bin",
     {"control_flow"},
     "6/94/3",
     {1092, 0xdf52c17262245b01}},
    {"hase_loopy",
     "hase-2018-04-04",
     "loopy-20180404T162955.perf-aux-idx2.bin",
     {"loopy"},
     "6/94/3",
     {57, 0x58ca80eae7b4f27d}},
    {"lldb_one_file",
     "lldb/intelpt-trace",
     "3842849.trace",
     {"a.out@0x400000"},
     "6/79/1",
     {21, 0x84165e174e170b3a}},
    {"lldb_multi_file",
     "lldb/intelpt-trace-multi-file",
     "multi-file.trace",
     {"a.out@0x400000", "libfoo.so@0x7ffff7bd9000", "libbar.so@0x7ffff79d7000"},
     "6/79/1",
     {45, 0xbc30d85133c2aad7},
     true},
    {"hase_control_flow_perf_data",
     "hase-2018-04-04",
     "control_flow-20180404T163033.perf",
     {"control_flow"},
     nullptr,
     {1092, 0xdf52c17262245b01},
     false,
     false},
    {"hase_loopy_perf_data",
     "hase-2018-04-04",
     "loopy-20180404T162955.perf",
     {"loopy"},
     nullptr,
     {57, 0x58ca80eae7b4f27d},
     false,
     false},
    {"lldb_one_file_bundle",
     "lldb/intelpt-trace",
     "trace.json",
     {},
     nullptr,
     {21, 0x84165e174e170b3a},
     false,
     false},
    {"lldb_multi_file_bundle",
     "lldb/intelpt-trace-multi-file",
     "multi-file-no-ld.json",
     {},
     nullptr,
     {45, 0xbc30d85133c2aad7},
     true,
     false},
};

struct OpenedRaw {
  Recording recording;
  std::optional<RecordingCode> code;
};

std::vector<RawStream> LoadReal(const RealRaw& real) {
  const std::filesystem::path folder = golden::TracesFolder() / "intel-pt" / real.folder;
  OpenOptions options;
  if (real.raw)
    options.raw_pt = {folder / real.file};
  else
    options.input = folder / real.file;
  for (const char* image : real.images) options.images.push_back(*ParseImageSpec(folder / image));
  if (real.cpu != nullptr) options.cpu = *ParseCpuId(real.cpu);
  Result<Recording> recording = OpenRecording(options);
  if (!recording) ADD_FAILURE() << recording.error().message();
  if (!recording) return {};
  auto opened = std::make_shared<OpenedRaw>();
  opened->recording = std::move(*recording);
  Result<RecordingCode> code = RecordingCode::Load(opened->recording, {});
  if (!code) ADD_FAILURE() << code.error().message();
  if (!code) return {};
  opened->code = std::move(*code);
  // The others are empty: the program ran on one CPU.
  const Stream& stream = *std::ranges::max_element(
      opened->recording.streams, {}, [](const Stream& one) { return one.bytes.size(); });
  return {{.name = real.name,
           .bytes = stream.bytes,
           .config = PtConfigOf(opened->recording.config),
           .time = opened->recording.time,
           .code = opened->code->ForStream(stream),
           .digest = real.digest,
           .known = {},
           .from_psbs_only = real.from_psbs_only,
           .storage = opened}};
}

// Address spaces by time: counts of instructions mean nothing behind a loss.
AddressSpaceHistory ByTime(const AddressSpaceHistory& by_count, const TimeConversion& time,
                           const std::string& folder, unsigned cpu) {
  std::map<uint64_t, uint64_t> time_of;  // by instructions retired
  for (const std::vector<std::string>& row :
       golden::ReadTable(std::filesystem::path(folder) / "maps.txt")) {
    std::string counts = row.at(6);
    for (unsigned i = 0; i < cpu && counts.find(',') != std::string::npos; ++i)
      counts = counts.substr(counts.find(',') + 1);
    time_of.try_emplace(std::stoull(counts), std::stoull(row.at(5)));
  }
  AddressSpaceHistory history;
  history.key = AddressSpaceHistory::Key::kTime;
  for (const AddressSpaceHistory::Epoch& epoch : by_count.epochs)
    history.epochs.push_back({.time = time.ToNanoseconds(time_of[epoch.instructions]),
                              .instructions = 0,
                              .space = epoch.space});
  history.epochs.front().time = 0;
  return history;
}

// Digests of the whole flow up to each of the counts asked for.
class DigestMarks final : public ExecutionConsumer {
 public:
  explicit DigestMarks(std::set<uint64_t> marks) : marks_(std::move(marks)) {}

  void OnBlock(const BlockRun& run) override {
    uint64_t ip = run.address;
    for (const uint8_t length : run.lengths) {
      Mark();
      all.Append(ip);
      ip += length;
    }
  }
  void OnEvent(const TraceEvent&) override {}
  void OnLoss(const DataLoss&) override {}
  void Mark() {
    if (marks_.empty() || *marks_.begin() != all.count) return;
    at[all.count] = all;
    marks_.erase(marks_.begin());
  }

  FlowDigest all;
  std::map<uint64_t, FlowDigest> at;

 private:
  std::set<uint64_t> marks_;
};

struct Psb {
  uint64_t offset = 0;
  uint64_t end = 0;  // behind its PSBEND
  uint64_t instructions = 0;
};

// Parts of a long stream, each with the digest of that part of the whole flow; the whole one's is
// the generator's.
std::vector<RawStream> PartsOf(const RawStream& whole, const DecodeInput& input,
                               const std::vector<Psb>& psbs) {
  std::vector<std::pair<size_t, size_t>> ranges;
  const auto from = [&](size_t first) {
    size_t last = first;
    while (last + 1 < psbs.size() && psbs[last].offset - psbs[first].offset < kPartSize) ++last;
    ranges.emplace_back(first, last);
  };
  from(0);
  from(psbs.size() / 2);
  from(psbs.size() - 1 - std::min<size_t>(psbs.size() - 1, 10));
  std::set<uint64_t> marks;
  for (const auto& [first, last] : ranges)
    for (const size_t psb : {first, last}) marks.insert(psbs[psb].instructions);
  DigestMarks digests(marks);
  const std::unique_ptr<Decoder> decoder = std::move(*MakeDecoder("native"));
  EXPECT_TRUE(decoder->Decode(input, digests));
  digests.Mark();
  EXPECT_EQ(digests.all, whole.digest) << whole.name;
  std::vector<RawStream> parts;
  for (const auto& [first, last] : ranges) {
    const FlowDigest& begin = digests.at[psbs[first].instructions];
    const FlowDigest& end = digests.at[psbs[last].instructions];
    RawStream& part = parts.emplace_back(whole);
    part.name += " from PSB " + std::to_string(first);
    part.bytes = whole.bytes.subspan(psbs[first].offset, psbs[last].end - psbs[first].offset);
    part.digest.count = end.count - begin.count;
    part.digest.hash = end.hash - begin.hash * FlowDigest::Power(part.digest.count);
    for (KnownTime& time : part.known) time.index -= begin.count;
    std::erase_if(part.known,
                  [&part](const KnownTime& time) { return time.index >= part.digest.count; });
  }
  return parts;
}

// What overflows have cut out of a stream's flow: instructions are counted with them elsewhere.
class Told {
 public:
  Told(const std::string& folder, unsigned cpu) : gaps_(golden::ReadOverflowGaps(folder, cpu)) {}

  // Returns the instruction's number among the delivered ones; for a lost one, that of the next.
  uint64_t NumberOf(uint64_t index) const {
    uint64_t lost = 0;
    for (const golden::OverflowGap& gap : gaps_) {
      if (gap.proven >= index) break;
      lost += std::min(index, gap.told_again) - gap.proven;
    }
    return index - lost;
  }
  bool Has(uint64_t index) const {
    return std::ranges::none_of(gaps_, [index](const golden::OverflowGap& gap) {
      return gap.proven <= index && index < gap.told_again;
    });
  }

 private:
  std::vector<golden::OverflowGap> gaps_;
};

// The generator's digest is of what executed, from the same run without overflows.
void CutOutOverflows(const golden::GeneratedStream& stream, const RawName& name, RawStream& raw) {
  const Told told(stream.folder, name.cpu);
  const std::string whole_name = name.recording.substr(0, name.recording.size() - kOvf.size());
  Result<golden::GeneratedStream> whole = golden::LoadGenerated(whole_name, name.cpu);
  ASSERT_TRUE(whole) << whole.error().message();
  const std::unique_ptr<Decoder> decoder = std::move(*MakeDecoder("native"));
  FlowDigest all, cut;
  ForEachInstruction(FlowOf(*decoder, whole->Input()),
                     [&](const BlockRun&, size_t, uint64_t address) {
                       if (told.Has(all.count)) cut.Append(address);
                       all.Append(address);
                     });
  ASSERT_EQ(all, raw.digest) << whole_name;
  ASSERT_LT(cut.count, all.count);
  raw.digest = cut;
  std::erase_if(raw.known, [&told](const KnownTime& time) { return !told.Has(time.index); });
  for (KnownTime& time : raw.known) time.index = told.NumberOf(time.index);
}

// Whole, with what is known of it.
RawStream RawOf(const golden::GeneratedStream& stream, const RawName& name) {
  RawStream raw;
  raw.name = name.recording + " cpu" + std::to_string(name.cpu);
  raw.bytes = stream.file->bytes();
  raw.config = stream.config;
  raw.time = stream.time;
  raw.storage = stream.file;
  raw.code = ByTime(stream.code, stream.time, stream.folder, name.cpu);
  for (const golden::TrueDigest& digest : golden::TrueDigests())
    if (digest.recording == name.recording && digest.IsStream() && digest.Number() == name.cpu)
      raw.digest = digest.digest;
  const golden::TimeTruth times = golden::ReadTimeTruth(stream.folder, name.cpu);
  for (const golden::TrueTime& time : times.points) raw.known.push_back({time.index, time.tsc});
  for (size_t i = 0; i < times.every.size(); ++i) raw.known.push_back({i, times.every[i]});
  std::ranges::sort(raw.known, {}, &KnownTime::index);
  if (HasOverflows(name)) CutOutOverflows(stream, name, raw);
  return raw;
}

std::vector<RawStream> LoadGenerated(const RawName& name) {
  Result<golden::GeneratedStream> stream = golden::LoadGenerated(name.recording, name.cpu);
  if (!stream) ADD_FAILURE() << stream.error().message();
  if (!stream) return {};
  RawStream raw = RawOf(*stream, name);
  if (raw.bytes.size() < kLongStream) return {std::move(raw)};
  std::vector<Psb> psbs;
  const std::optional<Told> told =
      HasOverflows(name) ? std::optional<Told>(std::in_place, stream->folder, name.cpu)
                         : std::nullopt;
  for (const std::vector<std::string>& row :
       golden::ReadTable(std::filesystem::path(stream->folder) /
                         ("psb-cpu" + std::to_string(name.cpu) + ".txt"))) {
    const uint64_t index = std::stoull(row.at(1));
    psbs.push_back(
        {.offset = std::stoull(row.at(0)), .instructions = told ? told->NumberOf(index) : index});
  }
  size_t next = 0;
  for (const TrueFlow::Packet& packet : PacketsOf(raw.bytes))
    if (packet.psb && next < psbs.size()) psbs[next++].end = packet.header;
  EXPECT_EQ(next, psbs.size());
  return PartsOf(raw, stream->Input(), psbs);
}

AddressSpaceHistory Changed(const AddressSpaceHistory& code,
                            const std::function<void(AddressSpace&)>& change) {
  AddressSpaceHistory changed = code;
  for (AddressSpaceHistory::Epoch& epoch : changed.epochs) {
    auto space = std::make_shared<AddressSpace>(*epoch.space);
    change(*space);
    epoch.space = std::move(space);
  }
  return changed;
}

}  // namespace

DecodeInput RawStream::Input(Resync resync) const {
  DecodeInput input;
  input.bytes = bytes;
  input.code = &code;
  input.config = config;
  input.time = time;
  input.resync = resync;
  return input;
}

std::vector<Resync> RawStream::Resyncs() const {
  if (from_psbs_only) return {Resync::kSyncPoint};
  return {Resync::kSyncPoint, Resync::kEarliest};
}

std::vector<RawName> RawNames() {
  std::vector<RawName> names;
  for (const golden::TrueDigest& truth : golden::TrueDigests())
    if (truth.IsStream()) names.push_back({truth.recording, truth.Number(), false});
  if (golden::HaveTraces())
    for (const RealRaw& real : kReal) names.push_back({real.name, 0, true});
  return names;
}

FlowDigest DigestWithoutGaps(const RawName& name) {
  const Result<golden::GeneratedStream> stream = golden::LoadGenerated(name.recording, name.cpu);
  if (!stream) ADD_FAILURE() << stream.error().message();
  return stream ? RawOf(*stream, name).digest : FlowDigest();
}

std::vector<RawStream> LoadRaw(const RawName& name) {
  if (!name.real) return LoadGenerated(name);
  for (const RealRaw& real : kReal)
    if (name.recording == real.name) return LoadReal(real);
  return {};
}

std::vector<std::string> ImagesOf(const AddressSpaceHistory& code) {
  std::set<std::string> images;
  for (const AddressSpaceHistory::Epoch& epoch : code.epochs)
    for (const CodeMapping& mapping : epoch.space->mappings())
      images.insert(mapping.section->name());
  return {images.begin(), images.end()};
}

AddressSpaceHistory WithoutImage(const AddressSpaceHistory& code, const std::string& image) {
  // As where a recorded file is not found: it is known that something is missing.
  const auto reason =
      std::make_shared<CodeSection>("taken away", 0, Bytes(), nullptr, Verification::kGiven);
  return Changed(code, [&](AddressSpace& space) {
    for (const CodeMapping& mapping : space.mappings()) {
      if (mapping.section->name() != image) continue;
      space.Unmap(mapping.address, mapping.size);
      space.Explain(mapping.address, mapping.size, reason);
    }
  });
}

AddressSpaceHistory WithoutRange(const AddressSpaceHistory& code, uint64_t address, uint64_t size) {
  return Changed(code, [&](AddressSpace& space) { space.Unmap(address, size); });
}

}  // namespace flowback::judge
