// SPDX-License-Identifier: MIT
#include "tests/changing_code/recorded_flow.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "flowback/decode/decoder.h"
#include "flowback/decode/stream_input.h"
#include "flowback/replay/thread_cursor.h"
#include "tests/support/elf_writer.h"
#include "tests/support/flow_of.h"
#include "tests/threads/cursor_elements.h"

namespace flowback {
RecordedFlow::RecordedFlow() {
  search.build_id_cache = folder / "cache";
  recording.time = {.shift = 0, .mult = 1, .zero = 0};
}

std::string RecordedFlow::Save(const std::string& name, const std::vector<uint8_t>& bytes) {
  WriteFile(folder / name, bytes);
  return folder / name;
}

std::string RecordedFlow::File(const std::string& name, const std::vector<uint8_t>& code) {
  ElfSpec spec;
  spec.position_independent = true;
  std::vector<uint8_t> page(code);
  page.resize(0x3000, 0xcc);
  spec.segments = {{.address = 0x1000, .bytes = page}};
  return Save(name, WriteElf(spec).bytes);
}

void RecordedFlow::Map(uint64_t time, int32_t pid, uint64_t address, uint64_t size,
                       const std::string& path) {
  MmapRecord record;
  record.time = time;
  record.pid = record.tid = pid;
  record.address = address;
  record.size = size;
  record.file_offset = 0x1000;
  record.path = path;
  recording.sideband.emplace_back(std::move(record));
}

void RecordedFlow::Fork(uint64_t time, int32_t pid, int32_t parent) {
  ForkRecord record;
  record.time = time;
  record.pid = record.tid = pid;
  record.parent_pid = record.parent_tid = parent;
  recording.sideband.emplace_back(record);
}

void RecordedFlow::Exec(uint64_t time, int32_t pid) {
  CommRecord record;
  record.time = time;
  record.pid = record.tid = pid;
  record.exec = true;
  recording.sideband.emplace_back(record);
}

void RecordedFlow::Exit(uint64_t time, int32_t pid) {
  ExitRecord record;
  record.time = time;
  record.pid = record.tid = pid;
  recording.sideband.emplace_back(record);
}

void RecordedFlow::Trace(int32_t pid, const TraceWriter& trace) {
  Stream stream;
  stream.index = static_cast<uint32_t>(recording.streams.size());
  stream.pid = stream.tid = pid;
  stream.bytes = traces_.emplace_back(trace.bytes());
  recording.streams.push_back(std::move(stream));
}

namespace {

// Segments of a packet each: a cursor that goes to and fro comes from any state of the code to any
// other, again and again.
void ExpectSameByCursor(const DecodeInput& whole, Decoder& decoder) {
  using namespace cursor_elements;
  DecodeInput input = whole;
  input.changes.clear();
  Stream stream;
  stream.bytes = input.bytes;
  const std::vector<ThreadFlow> flows = {
      {.pieces = {{.stream = &stream, .begin = 0, .end = input.bytes.size()}}}};
  Result<FlowIndex> index =
      FlowIndex::Build({{&stream, &input}}, flows, decoder, {.times = false, .segment_bytes = 1});
  ASSERT_TRUE(index) << index.error().message();
  Elements brute;
  ASSERT_TRUE(decoder.Decode(input, brute));
  const std::vector<Element>& truth = brute.Of(nullptr);
  ThreadCursor cursor(*index, index->threads()[0]);
  EXPECT_EQ(Difference(Forward(cursor), truth), "");
  EXPECT_EQ(Difference(Backward(cursor), truth), "");
  const uint64_t count = index->threads()[0].instructions;
  for (uint64_t i = 0; i < count; ++i)
    for (const uint64_t number : {i, count - 1 - i}) {
      cursor.ToInstruction(number);
      ASSERT_EQ(cursor.number(), number);
      const Element here = At(cursor);
      uint64_t passed = 0;
      for (const Element& element : truth)
        if (element.kind == Kind::kInstruction && passed++ == number) {
          EXPECT_TRUE(element == here) << number;
        }
    }
}

}  // namespace

Flow RecordedFlow::Decode(const std::string& engine, size_t stream) {
  auto code = RecordingCode::Load(recording, search);
  EXPECT_TRUE(code) << code.error().message();
  auto decoder = MakeDecoder(engine);
  if (!code || !decoder) return {};
  code_ = std::move(*code);
  const StreamInputs inputs(recording, code_, Resync::kSyncPoint);
  const DecodeInput& input = inputs.For(recording.streams[stream]);
  FlowSegment told;
  SegmentRecorder recorder(told);
  const auto account = (*decoder)->Decode(input, recorder);
  const auto sum = (*decoder)->Summarize(input);
  EXPECT_TRUE(account && sum);
  if (!account || !sum) return {};
  EXPECT_EQ(account->decoded + account->padding + account->lost, input.bytes.size());
  Flow flow{.ips = AddressesOf(told), .losses = {}};
  ForEachItem(told, [&flow](const DataLoss& loss) { flow.losses.push_back(loss); });
  FlowDigest digest;
  for (const uint64_t ip : flow.ips) digest.Append(ip);
  EXPECT_EQ(sum->digest, digest);
  ExpectSameByCursor(input, **decoder);
  return flow;
}

std::string Text(const std::vector<uint64_t>& ips) {
  std::string text;
  for (const uint64_t ip : ips) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%llx", static_cast<unsigned long long>(ip));
    text += (text.empty() ? "" : " ") + std::string(digits);
  }
  return text;
}

std::string Text(const std::vector<DataLoss>& losses) {
  std::string text;
  for (const DataLoss& loss : losses)
    text += std::string(Name(loss.cause)) + ": " + loss.detail + "\n";
  return text;
}

}  // namespace flowback
