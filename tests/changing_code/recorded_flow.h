// SPDX-License-Identifier: MIT
// A recording made by hand whose code changes while it is traced, and what engines make of it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/decode/recording_code.h"
#include "flowback/model/execution.h"
#include "flowback/model/recording.h"
#include "tests/code/temporary_folder.h"

namespace flowback {

inline constexpr int32_t kPid = 42;

// One stream's packets. Trace time is the TSC's, which is perf's as well.
class TraceWriter {
 public:
  // PSB+ at a time: the next instruction is at `ip`.
  void Sync(uint64_t tsc, uint64_t ip) {
    writer_.Psb();
    writer_.Write(pt::Tsc{.tsc = tsc});
    writer_.Write(pt::ModeExec{.cs_l = true});
    writer_.Fup(ip);
    writer_.Write(pt::PsbEnd{});
  }
  void Tip(uint64_t ip) { writer_.Tip(ip); }
  const std::vector<uint8_t>& bytes() const { return writer_.bytes(); }

 private:
  pt::PacketWriter writer_;
};

struct Flow {
  std::vector<uint64_t> ips;
  std::vector<DataLoss> losses;
};

class RecordedFlow {
 public:
  RecordedFlow();

  // A file whose bytes from offset 0x1000 on are `code`; returns its path.
  std::string File(const std::string& name, const std::vector<uint8_t>& code);
  std::string Save(const std::string& name, const std::vector<uint8_t>& bytes);

  void Map(uint64_t time, int32_t pid, uint64_t address, uint64_t size, const std::string& path);
  void Fork(uint64_t time, int32_t pid, int32_t parent);
  void Exec(uint64_t time, int32_t pid);
  void Exit(uint64_t time, int32_t pid);
  // Adds a stream of the process.
  void Trace(int32_t pid, const TraceWriter& trace);

  // The flow of one stream, for the engine. Fails the test when its sum is another, or where bytes
  // are not accounted for.
  Flow Decode(const std::string& engine, size_t stream = 0);
  const RecordingCode& code() const { return code_; }

  TemporaryFolder folder;
  Recording recording;
  ImageSearch search;

 private:
  std::deque<std::vector<uint8_t>> traces_;
  RecordingCode code_;
};

// "401000 401003 ..."
std::string Text(const std::vector<uint64_t>& ips);
std::string Text(const std::vector<DataLoss>& losses);

}  // namespace flowback
