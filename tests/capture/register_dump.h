// SPDX-License-Identifier: MIT
// What tests of dumps of branch registers need: a file put together line by line, and what was
// read.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "base/hex.h"
#include "base/recorded/branch_records.h"
#include "flowback/model/recording.h"
#include "tests/capture/temporary_file.h"

namespace flowback {

// A file of one unit, line by line.
class DumpText {
 public:
  explicit DumpText(const std::string& unit) {
    text_ = "flowback-branch-registers 1\nunit " + unit + "\n";
  }
  DumpText& Line(const std::string& line) {
    text_ += line + '\n';
    return *this;
  }
  DumpText& Set(const std::string& name, uint64_t value) { return Line(name + ' ' + Hex(value)); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

inline Recording ReadDump(const std::string& text) {
  auto recording = support::ReadBytes({text.begin(), text.end()});
  EXPECT_TRUE(recording) << recording.error().message() << '\n' << text;
  return recording ? *std::move(recording) : Recording();
}

inline std::string ErrorOf(const std::string& text) {
  const auto recording = support::ReadBytes({text.begin(), text.end()});
  EXPECT_FALSE(recording) << text;
  return recording ? "" : recording.error().message();
}

// Returns the records of the only stream, in program order: the oldest first.
inline std::vector<BranchRecord> RecordsIn(const Recording& recording) {
  std::vector<BranchRecord> records;
  if (recording.streams.size() != 1) return records;
  const Bytes bytes = recording.streams[0].bytes;
  for (uint64_t at = 0; at < bytes.size(); at += kBranchRecordSize)
    records.push_back(BranchRecordAt(bytes, at));
  return records;
}

inline void ExpectEqual(const BranchRecord& read, const BranchRecord& truth,
                        const std::string& text) {
  EXPECT_EQ(read.from, truth.from) << text;
  EXPECT_EQ(read.to, truth.to) << text;
  EXPECT_EQ(read.kind, truth.kind) << text;
  EXPECT_EQ(read.cycles, truth.cycles) << text;
  EXPECT_EQ(read.cycles_told, truth.cycles_told) << text;
  EXPECT_EQ(read.prediction, truth.prediction) << text;
  EXPECT_EQ(read.level, truth.level) << text;
  EXPECT_EQ(read.path, truth.path) << text;
  EXPECT_EQ(read.in_transaction, truth.in_transaction) << text;
  EXPECT_EQ(read.aborted, truth.aborted) << text;
  EXPECT_EQ(read.counters, truth.counters) << text;
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t end) { return engine_() % end; }
  bool Coin() { return Below(2) == 1; }
  // Returns an address of a program or a kernel, as wide as processors have them; never 0.
  uint64_t Address(unsigned bits) {
    const uint64_t low = (engine_() & ((uint64_t{1} << (bits - 1)) - 1)) | 1;
    return Coin() ? low : low | ~((uint64_t{1} << (bits - 1)) - 1);
  }

 private:
  std::mt19937_64 engine_;
};

inline constexpr unsigned kSeeds = 300;

}  // namespace flowback
