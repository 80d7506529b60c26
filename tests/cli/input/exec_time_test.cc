// SPDX-License-Identifier: MIT
// One flipped bit in a packet of time moves the trace's clock, by seconds perhaps. Which program a
// process runs is then seen in the trace itself, so that no flow is read with another one's code.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <variant>

#include "decode/pt/packets/packet.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/perf_data_converter.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using support::FileBytes;
using support::PerfDataParts;

class ExecTime : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    std::ifstream file(golden::TracesFolder() / "generated/execs/perf.data", std::ios::binary);
    parts_ = support::TakeApart({std::istreambuf_iterator<char>(file), {}});
    for (PerfDataParts::Record& record : parts_.records)
      if (!record.data_behind.empty()) trace_ = &record.data_behind;
    ASSERT_NE(trace_, nullptr);
  }
  // Where the payloads of the MTC packets are.
  std::vector<size_t> Mtcs() const {
    std::vector<size_t> found;
    pt::PebsState pebs;
    pt::Packet packet;
    for (size_t at = pt::FindPsb(*trace_, 0); at < trace_->size();) {
      const pt::ReadResult size = pt::ReadPacket(Bytes(*trace_).subspan(at), pebs, packet);
      if (!size) break;
      if (std::holds_alternative<pt::Mtc>(packet)) found.push_back(at + 1);
      at += *size;
    }
    return found;
  }
  ProgramResult Digest(const std::string& engine) const {
    const FileBytes bytes = support::ToFile(parts_);
    const ScratchFolder folder;
    const std::string file = folder.Write("perf.data", std::string(bytes.begin(), bytes.end()));
    return RunFlowback({"decode", "--as", "digest", file, "--engine", engine, "--no-cache",
                        "--symfs", golden::TracesFolder() / "generated/images"});
  }

  PerfDataParts parts_;
  FileBytes* trace_ = nullptr;
};

TEST_F(ExecTime, AFlippedBitInAnMtcChangesNoFlow) {
  const ProgramResult whole = Digest("native");
  ASSERT_EQ(whole.err, "");
  const bool has_libipt = Digest("libipt").status == 0;
  const std::vector<size_t> mtcs = Mtcs();
  ASSERT_GT(mtcs.size(), 1000u);
  for (size_t i = 0; i < mtcs.size(); i += mtcs.size() / 60) {
    const uint8_t bit = static_cast<uint8_t>(1 << i % 8);
    (*trace_)[mtcs[i]] ^= bit;
    const ProgramResult damaged = Digest("native");
    EXPECT_EQ(damaged.out, whole.out) << "MTC " << i << ": " << damaged.err;
    if (has_libipt) {
      EXPECT_EQ(Digest("libipt").out, whole.out) << "MTC " << i;
    }
    (*trace_)[mtcs[i]] ^= bit;
  }
}

}  // namespace
}  // namespace flowback::test
