// SPDX-License-Identifier: MIT
#include "tests/judge/aux_losses.h"

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <optional>

#include "flowback/base/bytes.h"

namespace flowback::judge {
namespace {

using support::FileBytes;
using Record = support::PerfDataParts::Record;

constexpr uint32_t kAux = 11;
constexpr uint32_t kAuxtrace = 71;
constexpr uint64_t kTruncatedFlag = 1;
// Places in both records, of 8 bytes each.
constexpr size_t kAuxOffset = 8, kAuxSize = 16, kAuxFlags = 24;
constexpr size_t kTraceSize = 8, kTraceOffset = 16;
// Fields of 4 bytes.
constexpr size_t kAuxTid = 36;
constexpr size_t kTraceIndex = 32, kTraceTid = 36, kTraceCpu = 40;
constexpr uint64_t kAlignment = 8;  // perf pads AUXTRACE's data to it

uint64_t Get(const Record& record, size_t at, unsigned size = 8) {
  return LoadLittleEndian(&record.bytes.at(at), size);
}

void Set(Record& record, size_t at, uint64_t value) {
  for (size_t i = 0; i < 8; ++i) record.bytes.at(at + i) = static_cast<uint8_t>(value >> (8 * i));
}

// An AUXTRACE record's data, and its AUX record: the one before it in the file.
struct Piece {
  size_t aux = 0;  // numbers of records
  size_t trace = 0;
  uint64_t stream_offset = 0;
  uint64_t size = 0;  // without perf's padding
};

// Buffers of a thread each have a record with offset 0, but only one with that thread's number.
bool TellsOf(const Record& aux, const Record& trace) {
  constexpr uint64_t kNoCpu = 0xffffffff;
  if (Get(trace, kTraceCpu, 4) == kNoCpu && Get(trace, kTraceTid, 4) != Get(aux, kAuxTid, 4))
    return false;
  const uint64_t padded = (Get(aux, kAuxSize) + kAlignment - 1) / kAlignment * kAlignment;
  return Get(aux, kAuxOffset) == Get(trace, kTraceOffset) && padded == Get(trace, kTraceSize);
}

// The pieces of a buffer, which are those of one stream.
std::vector<Piece> PiecesOf(const std::vector<Record>& records, uint64_t index) {
  std::vector<Piece> pieces;
  uint64_t end = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].type != kAuxtrace || Get(records[i], kTraceIndex, 4) != index) continue;
    Piece piece{.aux = i, .trace = i, .stream_offset = end};
    for (size_t before = 0; before < i; ++before)
      if (records[before].type == kAux && TellsOf(records[before], records[i])) piece.aux = before;
    if (piece.aux == i) return {};
    piece.size = Get(records[piece.aux], kAuxSize);
    end += piece.size;
    pieces.push_back(piece);
  }
  return pieces;
}

void SetData(Record& trace, FileBytes data) {
  data.resize((data.size() + kAlignment - 1) / kAlignment * kAlignment);
  Set(trace, kTraceSize, data.size());
  trace.data_behind = std::move(data);
}

void Truncate(std::vector<Record>& records, const std::vector<Piece>& pieces, const Piece& piece,
              uint64_t at, uint64_t removed) {
  for (const Piece& later : pieces)
    if (later.stream_offset > piece.stream_offset) {
      Set(records[later.aux], kAuxOffset, Get(records[later.aux], kAuxOffset) - removed);
      Set(records[later.trace], kTraceOffset, Get(records[later.trace], kTraceOffset) - removed);
    }
  Record& trace = records[piece.trace];
  FileBytes data = trace.data_behind;
  data.resize(piece.size);
  const auto from = data.begin() + static_cast<ptrdiff_t>(at);
  data.erase(from, from + static_cast<ptrdiff_t>(removed));
  SetData(trace, std::move(data));
  Record rest = records[piece.aux];
  Set(rest, kAuxOffset, Get(rest, kAuxOffset) + at);
  Set(rest, kAuxSize, piece.size - removed - at);
  Set(records[piece.aux], kAuxSize, at);
  Set(records[piece.aux], kAuxFlags, kTruncatedFlag);
  records.insert(records.begin() + static_cast<ptrdiff_t>(piece.aux) + 1, std::move(rest));
}

// AUX records stay as they are: the kernel has reported all data.
void MakeHole(std::vector<Record>& records, const Piece& piece, uint64_t at, uint64_t removed) {
  Record& trace = records[piece.trace];
  Record rest = trace;
  const auto data = rest.data_behind.begin();
  Set(rest, kTraceOffset, Get(rest, kTraceOffset) + at + removed);
  SetData(rest, {data + static_cast<ptrdiff_t>(at + removed), rest.data_behind.end()});
  SetData(trace,
          {trace.data_behind.begin(), trace.data_behind.begin() + static_cast<ptrdiff_t>(at)});
  records.insert(records.begin() + static_cast<ptrdiff_t>(piece.trace) + 1, std::move(rest));
}

std::vector<uint64_t> Indexes(const std::vector<Record>& records) {
  std::vector<uint64_t> indexes;
  for (const Record& record : records)
    if (record.type == kAuxtrace) indexes.push_back(Get(record, kTraceIndex, 4));
  std::ranges::sort(indexes);
  const auto same = std::ranges::unique(indexes);
  indexes.erase(same.begin(), same.end());
  return indexes;
}

// The stream that has the buffer's bytes.
const Stream* StreamOf(const std::vector<Piece>& pieces, const std::vector<Record>& records,
                       const std::vector<Stream>& streams) {
  const uint64_t size = pieces.back().stream_offset + pieces.back().size;
  const FileBytes& first = records[pieces[0].trace].data_behind;
  for (const Stream& stream : streams)
    if (stream.bytes.size() == size &&
        std::equal(first.begin(), first.begin() + static_cast<ptrdiff_t>(pieces[0].size),
                   stream.bytes.begin()))
      return &stream;
  return nullptr;
}

}  // namespace

support::PerfDataParts ReadPerfData(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return support::TakeApart({std::istreambuf_iterator<char>(in), {}});
}

std::vector<Damage> LoseAuxData(support::PerfDataParts& parts, AuxLoss loss,
                                const std::vector<Stream>& streams, testing::Random& random) {
  std::vector<Damage> damages(streams.size());
  for (const uint64_t index : Indexes(parts.records)) {
    const std::vector<Piece> pieces = PiecesOf(parts.records, index);
    const Stream* stream = pieces.empty() ? nullptr : StreamOf(pieces, parts.records, streams);
    if (stream == nullptr) continue;
    const Piece& piece = pieces[random.Below(pieces.size())];
    const uint64_t unit = loss == AuxLoss::kHole ? kAlignment : 1;
    // Some data remains on both sides.
    const uint64_t units = piece.size / unit;
    if (units < 4) continue;
    const uint64_t at = 1 + random.Below(units - 3);
    const uint64_t removed = std::min(uint64_t{1} << random.Between(0, 12), units - 1 - at);
    damages[stream->index] = {.begin = piece.stream_offset + at * unit, .removed = removed * unit};
    if (loss == AuxLoss::kHole)
      MakeHole(parts.records, piece, at * unit, removed * unit);
    else
      Truncate(parts.records, pieces, piece, at, removed);
  }
  return damages;
}

}  // namespace flowback::judge
