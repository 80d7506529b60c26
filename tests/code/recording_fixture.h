// SPDX-License-Identifier: MIT
// A recording of one process, made by hand, and the code that is found for it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "flowback/decode/recording_code.h"
#include "tests/code/temporary_folder.h"
#include "tests/support/elf_writer.h"

namespace flowback {

inline const std::vector<uint8_t> kId = {0xaa, 0xbb, 0xcc, 0x01};
inline const std::vector<uint8_t> kOtherId = {0x11, 0x22, 0x33, 0x44};
inline constexpr int32_t kPid = 42;
inline constexpr uint64_t kBase = 0x555555554000;

// A library whose only code byte tells builds apart.
inline std::vector<uint8_t> Library(const std::vector<uint8_t>& build_id, uint8_t code) {
  ElfSpec spec;
  spec.position_independent = true;
  spec.build_id = build_id;
  spec.segments = {{.address = 0x1000, .bytes = std::vector<uint8_t>(0x40, code)}};
  return WriteElf(spec).bytes;
}

inline MmapRecord Mmap(const std::string& path, uint64_t address = kBase, uint64_t time = 1) {
  MmapRecord record;
  record.time = time;
  record.pid = record.tid = kPid;
  record.address = address;
  record.size = 0x1000;
  record.file_offset = 0x1000;
  record.path = path;
  return record;
}

class RecordingCodeTest : public testing::Test {
 protected:
  RecordingCodeTest() {
    search_.build_id_cache = folder_ / "cache";
    Stream stream;
    stream.pid = stream.tid = kPid;
    recording_.streams.push_back(stream);
  }

  std::string Save(const std::string& name, const std::vector<uint8_t>& bytes) {
    WriteFile(folder_ / name, bytes);
    return folder_ / name;
  }
  void Record(MmapRecord record, const std::vector<uint8_t>& build_id = {}) {
    record.build_id.bytes = build_id;
    recording_.sideband.push_back(std::move(record));
  }
  void Load() {
    auto loaded = RecordingCode::Load(recording_, search_);
    ASSERT_TRUE(loaded) << loaded.error().message();
    code_ = std::move(*loaded);
  }
  // The code byte of the stream's first process; -1 where nothing is mapped.
  int At(uint64_t address, size_t epoch = 0, size_t stream = 0) const {
    uint8_t byte = 0;
    const auto& epochs = code_.ForStream(recording_.streams[stream]).epochs;
    return epochs.at(epoch).space->Read(address, &byte, 1) == 1 ? byte : -1;
  }
  const ImageStatus& Only() const {
    EXPECT_EQ(code_.images().size(), 1u);
    return code_.images().at(0);
  }
  static bool Contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TemporaryFolder folder_;
  ImageSearch search_;
  Recording recording_;
  RecordingCode code_;
};

}  // namespace flowback
