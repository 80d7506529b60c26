// SPDX-License-Identifier: MIT
#include "capture/formats/perf_records/perf_features.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "capture/formats/input/field_reader.h"
#include "capture/formats/input/text.h"
#include "capture/formats/perf_records/process_end.h"

namespace flowback::perf {
namespace {

// No header string is longer; a bigger length is damage and must not make us copy gigabytes.
constexpr uint32_t kMaxString = 1 << 20;

std::string ReadString(FieldReader& fields) {
  const uint32_t size = fields.U32();
  return TextOf(fields.Take(size <= kMaxString ? size : fields.remaining() + 1));
}

template <std::string MachineInfo::* member>
bool ReadText(FieldReader& fields, Recording& recording) {
  recording.machine.*member = ReadString(fields);
  return fields.ok();
}

// "GenuineIntel,6,94,3"; other vendors' and architectures' forms leave the CPU unknown.
CpuId ParseCpuidText(const std::string& text) {
  CpuId cpu;
  const size_t comma = text.find(',');
  if (comma == std::string::npos) return cpu;
  unsigned numbers[3] = {};
  const char* at = text.data() + comma;
  const char* const end = text.data() + text.size();
  for (unsigned& number : numbers) {
    if (at == end || *at != ',') return cpu;
    const auto [next, error] = std::from_chars(at + 1, end, number);
    if (error != std::errc() || number > 0xffff) return cpu;
    at = next;
  }
  if (numbers[1] > 0xff || numbers[2] > 0xff) return cpu;
  cpu.intel = text.starts_with("GenuineIntel,");
  cpu.family = static_cast<uint16_t>(numbers[0]);
  cpu.model = static_cast<uint8_t>(numbers[1]);
  cpu.stepping = static_cast<uint8_t>(numbers[2]);
  return cpu;
}

bool ReadCpuid(FieldReader& fields, Recording& recording) {
  recording.machine.cpuid = ReadString(fields);
  recording.machine.cpu = ParseCpuidText(recording.machine.cpuid);
  return fields.ok();
}

// "f in /lib/libx.so at 0x1139", or "f" alone.
WatchPlace ParseWatchPlace(std::string_view text) {
  const size_t in = text.find(" in /");
  const size_t at = text.rfind(" at 0x");
  if (in == text.npos || at == text.npos || at < in) return {std::string(text), "", 0};
  WatchPlace place{std::string(text.substr(0, in)), std::string(text.substr(in + 4, at - in - 4)),
                   0};
  std::from_chars(text.data() + at + 6, text.data() + text.size(), place.offset, 16);
  return place;
}

// What our recorder appends when it records between functions: "; from PLACE; until PLACE".
void ReadWatch(std::string_view text, MachineInfo& machine) {
  machine.from.clear();
  machine.until.clear();
  for (size_t at = text.find("; "); at != text.npos;) {
    text.remove_prefix(at + 2);
    at = text.find("; ");
    const std::string_view piece = text.substr(0, at);
    if (piece.starts_with("from ")) machine.from.push_back(ParseWatchPlace(piece.substr(5)));
    if (piece.starts_with("until ")) machine.until.push_back(ParseWatchPlace(piece.substr(6)));
  }
}

// perf writes its bare version number; our own recorder its name and, where an engine emulates the
// hardware, "emulated (ENGINE)". perf prints this feature and otherwise ignores it.
bool ReadVersion(FieldReader& fields, Recording& recording) {
  const std::string version = ReadString(fields);
  const bool number = !version.empty() && version[0] >= '0' && version[0] <= '9';
  recording.machine.recorder = number ? "perf " + version : version;
  recording.machine.emulated =
      version.starts_with("flowback") && version.find("emulated (") != std::string::npos;
  if (recording.machine.emulated) ReadWatch(version, recording.machine);
  return fields.ok();
}

bool ReadCpuCount(FieldReader& fields, Recording& recording) {
  fields.Skip(4);  // CPUs that could be there
  recording.machine.cpus_online = fields.U32();
  return fields.ok();
}

bool ReadCommandLine(FieldReader& fields, Recording& recording) {
  std::string line;
  for (uint32_t left = fields.U32(); left != 0 && fields.ok(); --left) {
    if (!line.empty()) line += ' ';
    line += ReadString(fields);
  }
  recording.machine.command_line = std::move(line);
  return fields.ok();
}

// Number of events, size of an attribute; each event: attribute, number of ids, name, ids.
bool ReadEventDescriptions(FieldReader& fields, Recording& recording) {
  const uint32_t count = fields.U32();
  const uint32_t attr_size = fields.U32();
  for (uint32_t i = 0; i < count && fields.ok(); ++i) {
    fields.Skip(attr_size);
    const uint64_t ids = fields.U32();
    std::string name = ReadString(fields);
    fields.Skip(8 * ids);
    if (fields.ok()) recording.events.push_back(std::move(name));
  }
  return fields.ok();
}

constexpr uint16_t kBuildIdFixed = kRecordHeaderSize + 4 + 24;  // without the path

// Without a size, ids that are shorter than 20 bytes (of 8 or 16) have zeros behind them. Four
// zeros end one in four billion of those that are not.
Bytes WithoutPadding(Bytes id) {
  for (const size_t size : {size_t{8}, size_t{16}})
    if (std::ranges::all_of(id.subspan(size), [](uint8_t byte) { return byte == 0; }))
      return id.first(size);
  return id;
}

// Pid, 20 bytes of build-id, their number (old perf: not filled in), path.
bool ReadBuildIdBody(FieldReader& fields, uint16_t misc, uint64_t path_size, Recording& recording) {
  fields.Skip(4);  // pid
  const Bytes id = fields.Take(20);
  const size_t id_size = fields.U8();
  fields.Skip(3);
  const std::string path = TextOf(fields.Take(path_size));
  if (!fields.ok()) return false;
  const bool sized = misc & kMiscBuildIdSize;
  const Bytes used = sized ? id.first(std::min<size_t>(id_size, id.size())) : WithoutPadding(id);
  recording.build_ids.emplace_back(path, BuildId{{used.begin(), used.end()}});
  return true;
}

bool ReadBuildIds(FieldReader& fields, Recording& recording) {
  while (fields.remaining() != 0) {
    fields.Skip(4);  // type
    const uint16_t misc = fields.U16();
    const uint16_t size = fields.U16();
    if (!fields.ok() || size < kBuildIdFixed) return false;
    if (!ReadBuildIdBody(fields, misc, size - kBuildIdFixed, recording)) return false;
  }
  return true;
}

// A time of day and the recording's clock at the same moment (`perf record -k CLOCK`).
bool ReadClockData(FieldReader& fields, Recording& recording) {
  fields.Skip(4);  // version
  const int32_t clock_id = fields.I32();
  const uint64_t wall_ns = fields.U64();
  const uint64_t clock_ns = fields.U64();
  if (!fields.ok()) return false;
  recording.clock = {.clock_id = {}, .wall_ns = wall_ns, .clock_ns = clock_ns};
  if (clock_id >= 0) recording.clock.clock_id = clock_id;  // else perf's own
  return true;
}

// A pipe has as many such records as its ends need, each with zeros up to a multiple of eight
// bytes.
bool ReadProcessEnds(FieldReader& fields, Recording& recording) {
  constexpr size_t kUnit = 8;
  while (fields.remaining() >= kUnit) {
    ProcessEnd end;
    if (!ReadProcessEnd(fields, end)) return false;
    recording.process_ends.push_back(std::move(end));
  }
  return true;
}

struct FeatureReader {
  unsigned bit;
  const char* name;
  bool (*read)(FieldReader& fields, Recording& recording);
};

constexpr FeatureReader kReaders[] = {
    {kFeatureBuildId, "build-ids", ReadBuildIds},
    {kFeatureHostname, "host name", ReadText<&MachineInfo::hostname>},
    {kFeatureOsRelease, "kernel release", ReadText<&MachineInfo::os_release>},
    {kFeatureVersion, "recorder's version", ReadVersion},
    {kFeatureArch, "architecture", ReadText<&MachineInfo::architecture>},
    {kFeatureCpuCount, "number of CPUs", ReadCpuCount},
    {kFeatureCpuDescription, "CPU description", ReadText<&MachineInfo::cpu_description>},
    {kFeatureCpuid, "CPU id", ReadCpuid},
    {kFeatureCommandLine, "command line", ReadCommandLine},
    {kFeatureEventDescriptions, "event descriptions", ReadEventDescriptions},
    {kFeatureClockData, "clock data", ReadClockData},
    {kFeatureProcessEnds, "ends of processes", ReadProcessEnds},
};

// One feature, whose place in the file is `section`: `content` is its existing part.
void ReadFeature(unsigned bit, Bytes content, const PerfFileSection& section, ByteOrder order,
                 Recording& recording, FeatureDamage& damage) {
  const auto reader = std::find_if(std::begin(kReaders), std::end(kReaders),
                                   [&](const FeatureReader& r) { return r.bit == bit; });
  if (reader == std::end(kReaders)) return;
  FieldReader fields(content, order);
  if (content.size() == section.size && reader->read(fields, recording)) return;
  damage.Add(reader->name, section);
}

}  // namespace

bool ReadBuildIdRecord(const Record& record, Recording& recording) {
  if (record.size() < kBuildIdFixed) return false;
  FieldReader fields = record.Fields();
  return ReadBuildIdBody(fields, record.misc, record.size() - kBuildIdFixed, recording);
}

void FeatureDamage::Add(const char* name, const PerfFileSection& section) {
  constexpr uint64_t kMostNames = 16;  // a pipe can repeat a damaged record without end
  if (count_ < kMostNames) names_ += (count_ == 0 ? "\"" : ", \"") + std::string(name) + '"';
  if (count_ == kMostNames) names_ += ", ...";
  first_ = count_++ == 0 ? section.offset : std::min(first_, section.offset);
}

void FeatureDamage::Report(Recording& recording) const {
  if (count_ == 0) return;
  recording.warnings.push_back({"of the header's features " + Dec(count_) +
                                    (count_ == 1 ? " is" : " are") + " cut or damaged, " +
                                    (count_ == 1 ? "" : "the first ") + "at offset " + Hex(first_) +
                                    ": " + names_ + ": what is lacking stays unknown",
                                kDamageRemedy});
}

Bytes ReadFeatures(Bytes file, const FileHeader& header, Recording& recording) {
  Bytes tracing_data;
  FeatureDamage damage;
  FieldReader table(Slice(file, header.feature_table, kFeatureBits * kSectionSize), header.order);
  for (unsigned bit = 0; bit < kFeatureBits; ++bit) {
    if (!header.Has(bit)) continue;
    PerfFileSection section;
    section.offset = table.U64();
    section.size = table.U64();
    if (!table.ok()) {
      recording.warnings.push_back(
          {"the table of the header's features at offset " + Hex(header.feature_table) +
               " is cut by the file's end: the machine's description is incomplete",
           kDamageRemedy});
      break;
    }
    const Bytes content = Slice(file, section.offset, section.size);
    ReadFeature(bit, content, section, header.order, recording, damage);
    if (bit == kFeatureTracingData) tracing_data = content;
  }
  damage.Report(recording);
  return tracing_data;
}

void ReadFeatureRecord(const Record& record, Recording& recording, FeatureDamage& damage) {
  FieldReader fields = record.Fields();
  const uint64_t bit = fields.U64();
  if (!fields.ok() || bit >= kFeatureBits) return;  // the last one only ends the list
  const Bytes content = fields.Take(fields.remaining());
  const PerfFileSection section{record.offset + kRecordHeaderSize + 8, content.size()};
  ReadFeature(static_cast<unsigned>(bit), content, section, record.order, recording, damage);
}

}  // namespace flowback::perf
