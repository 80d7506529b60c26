// SPDX-License-Identifier: MIT
#include "tests/support/perf_data_converter.h"

#include <zstd.h>

#include <algorithm>
#include <bit>

#include "flowback/base/bytes.h"
#include "tests/support/perf_byte_swap.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::support {
namespace {

constexpr size_t kHeaderSize = 104;
constexpr size_t kPipeHeaderSize = 16;
constexpr unsigned kFeatureBuildId = 2;
constexpr unsigned kFeatureAuxtrace = 18;
constexpr unsigned kFeatureCompressed = 27;
constexpr uint32_t kTypeAux = 11;
constexpr uint32_t kTypeHeaderAttr = 64;
constexpr uint8_t kTypeHeaderBuildId = 67;
constexpr uint32_t kTypeAuxtrace = 71;
constexpr uint32_t kTypeHeaderFeature = 80;
constexpr uint32_t kTypeCompressed = 81;
constexpr uint32_t kTypeCompressed2 = 83;
constexpr uint32_t kFirstRecorderType = 64;

uint64_t Load(const FileBytes& bytes, size_t at, unsigned width) {
  return LoadLittleEndian(&bytes.at(at), width);
}

FileBytes Part(const FileBytes& bytes, size_t at, size_t size) {
  const auto begin = bytes.begin() + static_cast<ptrdiff_t>(at);
  return {begin, begin + static_cast<ptrdiff_t>(size)};
}

void Append(FileBytes& bytes, const FileBytes& more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

FileBytes MakeRecord(uint32_t type, const FileBytes& body) {
  FieldWriter record;
  record.U32(type).U16(0).U16(static_cast<uint16_t>(8 + body.size())).Raw(body);
  return record.bytes;
}

FileBytes Joined(const std::vector<PerfDataParts::Record>& records) {
  FileBytes all;
  for (const PerfDataParts::Record& record : records) {
    Append(all, record.bytes);
    Append(all, record.data_behind);
  }
  return all;
}

// Header, ids, attributes, data, table of features, features.
FileBytes Assemble(const PerfDataParts& parts, const FileBytes& data) {
  FieldWriter ids;
  FieldWriter attrs;
  for (const PerfDataParts::Event& event : parts.events) {
    attrs.Raw(event.attr).U64(kHeaderSize + ids.bytes.size()).U64(8 * event.ids.size());
    for (const uint64_t id : event.ids) ids.U64(id);
  }
  const uint64_t attrs_at = kHeaderSize + ids.bytes.size();
  const uint64_t data_at = attrs_at + attrs.bytes.size();
  const size_t entry = parts.events.front().attr.size() + 16;
  FieldWriter file;
  file.Raw({'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'}).U64(kHeaderSize).U64(entry);
  file.U64(attrs_at).U64(attrs.bytes.size()).U64(data_at).U64(data.size()).U64(0).U64(0);
  uint64_t bits = 0;
  for (const auto& [bit, content] : parts.features) bits |= uint64_t{1} << bit;
  file.U64(bits).U64(0).U64(0).U64(0).Raw(ids.bytes).Raw(attrs.bytes).Raw(data);
  uint64_t content_at = file.bytes.size() + 16 * parts.features.size();
  for (const auto& [bit, content] : parts.features) {
    file.U64(content_at).U64(content.size());
    content_at += content.size();
  }
  for (const auto& [bit, content] : parts.features) file.Raw(content);
  return file.bytes;
}

// What `perf record -o -` puts before the kernel's records.
std::vector<PerfDataParts::Record> HeaderRecords(const PerfDataParts& parts) {
  std::vector<PerfDataParts::Record> records;
  for (const PerfDataParts::Event& event : parts.events) {
    FieldWriter body;
    body.Raw(event.attr);
    for (const uint64_t id : event.ids) body.U64(id);
    records.push_back({kTypeHeaderAttr, MakeRecord(kTypeHeaderAttr, body.bytes), {}});
  }
  for (const auto& [bit, content] : parts.features) {
    if (bit == kFeatureBuildId) continue;
    FieldWriter body;
    body.U64(bit).Raw(content);
    records.push_back({kTypeHeaderFeature, MakeRecord(kTypeHeaderFeature, body.bytes), {}});
  }
  // The feature is a sequence of such records, but for their type.
  const auto build_ids = parts.features.find(kFeatureBuildId);
  if (build_ids == parts.features.end()) return records;
  const FileBytes& table = build_ids->second;
  for (size_t at = 0; at < table.size(); at += Load(table, at + 6, 2)) {
    FileBytes record = Part(table, at, Load(table, at + 6, 2));
    record[0] = kTypeHeaderBuildId;
    records.push_back({kTypeHeaderBuildId, std::move(record), {}});
  }
  return records;
}

FileBytes PipeHeader() {
  FieldWriter header;
  header.Raw({'P', 'E', 'R', 'F', 'I', 'L', 'E', '2'}).U64(kPipeHeaderSize);
  return header.bytes;
}

// One zstd stream; each record's part of it is flushed.
class Compressor {
 public:
  explicit Compressor(bool newer_form) : newer_form_(newer_form) {}
  ~Compressor() { ZSTD_freeCStream(stream_); }
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  FileBytes Pack(const FileBytes& plain) {
    FileBytes packed(ZSTD_compressBound(plain.size()) + 64);
    ZSTD_inBuffer input{plain.data(), plain.size(), 0};
    ZSTD_outBuffer output{packed.data(), packed.size(), 0};
    ZSTD_compressStream2(stream_, &output, &input, ZSTD_e_flush);
    packed.resize(output.pos);
    if (!newer_form_) return MakeRecord(kTypeCompressed, packed);
    FieldWriter body;
    body.U64(packed.size()).Raw(packed);
    body.bytes.resize((body.bytes.size() + 7) / 8 * 8);
    return MakeRecord(kTypeCompressed2, body.bytes);
  }

 private:
  bool newer_form_;
  ZSTD_CStream* stream_ = ZSTD_createCStream();
};

}  // namespace

PerfDataParts TakeApart(const FileBytes& file) {
  PerfDataParts parts;
  if (file.size() < kHeaderSize || file[0] != 'P') return parts;
  const uint64_t entry = Load(file, 16, 8);
  const uint64_t attrs = Load(file, 24, 8);
  for (uint64_t at = attrs; at < attrs + Load(file, 32, 8); at += entry) {
    PerfDataParts::Event event{Part(file, at, entry - 16), {}};
    const uint64_t ids = Load(file, at + entry - 16, 8);
    for (uint64_t i = 0; i < Load(file, at + entry - 8, 8); i += 8) {
      event.ids.push_back(Load(file, ids + i, 8));
    }
    parts.events.push_back(std::move(event));
  }
  const uint64_t data = Load(file, 40, 8);
  const uint64_t end = data + Load(file, 48, 8);
  for (uint64_t at = data; at < end;) {
    PerfDataParts::Record record{
        static_cast<uint32_t>(Load(file, at, 4)), Part(file, at, Load(file, at + 6, 2)), {}};
    at += record.bytes.size();
    if (record.type == kTypeAuxtrace) {
      record.data_behind = Part(file, at, Load(record.bytes, 8, 8));
      at += record.data_behind.size();
    }
    parts.records.push_back(std::move(record));
  }
  uint64_t table = end;
  for (unsigned bit = 0; bit < 64; ++bit) {
    if (!(Load(file, 72, 8) >> bit & 1)) continue;
    if (bit != kFeatureAuxtrace) {
      parts.features[bit] = Part(file, Load(file, table, 8), Load(file, table + 8, 8));
    }
    table += 16;
  }
  return parts;
}

FileBytes ToFile(const PerfDataParts& parts) { return Assemble(parts, Joined(parts.records)); }

FileBytes ToPipe(const PerfDataParts& parts) {
  FileBytes file = PipeHeader();
  Append(file, Joined(HeaderRecords(parts)));
  Append(file, Joined(parts.records));
  return file;
}

FileBytes ToCompressed(const PerfDataParts& parts, size_t piece, bool newer_form) {
  Compressor compressor(newer_form);
  FileBytes data;
  FileBytes waiting;
  const auto pack = [&](size_t least) {
    while (waiting.size() >= least && !waiting.empty()) {
      const size_t size = std::min(piece, waiting.size());
      Append(data, compressor.Pack(Part(waiting, 0, size)));
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<ptrdiff_t>(size));
    }
  };
  for (const PerfDataParts::Record& record : parts.records) {
    if (record.type < kFirstRecorderType) {
      Append(waiting, record.bytes);
      pack(piece);
    } else {
      pack(1);
      Append(data, record.bytes);
      Append(data, record.data_behind);
    }
  }
  pack(1);
  PerfDataParts with_feature = parts;
  FieldWriter feature;  // version, zstd, level, ratio, size of a buffer
  feature.U32(1).U32(1).U32(1).U32(2).U32(528384);
  with_feature.features[kFeatureCompressed] = feature.bytes;
  return Assemble(with_feature, data);
}

FileBytes ToForeign(const PerfDataParts& parts) {
  const PerfDataParts swapped = SwapParts(parts);
  FileBytes file = Assemble(swapped, Joined(swapped.records));
  SwapFileHeader(file);
  return file;
}

FileBytes ToForeignPipe(const PerfDataParts& parts) {
  PerfDataParts all = parts;
  all.records = HeaderRecords(parts);
  all.records.insert(all.records.end(), parts.records.begin(), parts.records.end());
  FileBytes file = PipeHeader();
  std::reverse(file.begin(), file.begin() + 8);
  std::reverse(file.begin() + 8, file.end());
  Append(file, Joined(SwapParts(all).records));
  return file;
}

std::map<std::string, FileBytes> ToDirectory(const PerfDataParts& parts) {
  PerfDataParts main = parts;
  main.records.clear();
  std::vector<PerfDataParts::Record> others[2];
  size_t turn = 0;
  for (const PerfDataParts::Record& record : parts.records) {
    const bool of_kernel = record.type < kFirstRecorderType && record.type != kTypeAux;
    (of_kernel ? others[turn++ % 2] : main.records).push_back(record);
  }
  return {{"data", ToFile(main)}, {"data.0", Joined(others[0])}, {"data.1", Joined(others[1])}};
}

}  // namespace flowback::support
