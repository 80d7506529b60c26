// SPDX-License-Identifier: MIT
// Long runs of one packet, or of two that contradict each other: each packet costs a bounded time,
// however many follow it, and the account of what is lost does not grow with them. A look over all
// that follows, from each packet, would take hours here, and the test's time limit shows it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "decode/pt/native_decoder.h"
#include "decode/pt/packets/packet.h"
#include "decode/pt/packets/packet_writer.h"
#include "tests/flow/test_code.h"

namespace flowback::pt {
namespace {

constexpr uint64_t kCode = 0x401000;
constexpr size_t kSize = size_t{1} << 20;

// jne to itself; a chain of jumps; a loop of two; ret.
std::vector<uint8_t> Code() {
  std::vector<uint8_t> code = {0x75, 0xfe};
  for (int i = 0; i < 1000; ++i) code.insert(code.end(), {0xeb, 0x00});
  code.insert(code.end(), {0xeb, 0x00, 0xeb, 0xfc, 0xc3});
  return code;
}
constexpr uint64_t kChain = kCode + 2;
constexpr uint64_t kRound = kChain + 2000;

std::vector<uint8_t> EncodingOf(const std::vector<Packet>& packets) {
  std::vector<uint8_t> bytes;
  for (const Packet& packet : packets) Encode(packet, bytes);
  return bytes;
}

struct PacketRun {
  const char* name;
  uint64_t begin;  // the address in the PSB+ before it
  std::vector<Packet> packets;
};

std::vector<PacketRun> Runs() {
  const IpPayload full = LastIp::Uncompressed(kCode);
  const IpPayload shortened{IpPayload::kUpdate16, kCode & 0xffff};
  const IpPayload none{};
  const Fup fup{LastIp::Uncompressed(kChain + 2)};
  return {{"OVF", kCode, {Ovf{}}},
          {"OVF and FUP", kCode, {Ovf{}, Fup{full}}},
          {"TIP.PGE", kCode, {TipPge{full}}},
          {"TIP.PGE, shortened", kCode, {TipPge{shortened}}},
          {"TIP.PGD", kCode, {TipPgd{none}}},
          {"TIP.PGD with an address", kCode, {TipPgd{full}}},
          {"TIP and TIP.PGD", kCode, {Tip{full}, TipPgd{full}}},
          {"TIP.PGE and TNT", kRound, {TipPge{full}, ShortTnt{.count = 1, .bits = 1}}},
          {"TIP without an address", kCode, {Tip{none}}},
          {"FUP", kCode, {Fup{full}}},
          {"FUP without an address", kCode, {Fup{none}}},
          {"PIP", kCode, {Pip{.cr3 = 0x1000}}},
          {"PIP ahead of a chain", kChain, {Pip{.cr3 = 0x1000}}},
          {"PIP in a loop", kRound, {Pip{.cr3 = 0x1000}}},
          {"VMCS", kCode, {Vmcs{0x1000}}},
          {"MODE.Exec", kCode, {ModeExec{.cs_l = true}}},
          {"MODE.TSX", kCode, {ModeTsx{.in_transaction = true}}},
          {"MODE.TSX and FUP", kChain, {ModeTsx{.in_transaction = true}, fup}},
          {"FUP and PIP", kCode, {Fup{full}, Pip{.cr3 = 0x1000}}},
          {"PSB", kCode, {Psb{}}},
          {"PSB+ without FUP", kCode, {Psb{}, PsbEnd{}}},
          {"PTW", kCode, {Ptw{.payload = 1, .bytes = 4}}},
          {"BEP with its FUP", kRound, {Bep{.ip = true}, Fup{full}}},
          {"EXSTOP with its FUP", kRound, {ExStop{.ip = true}, Fup{full}}},
          {"TNT in a loop", kRound, {ShortTnt{.count = 6, .bits = 0}}},
          {"CBR", kCode, {Cbr{24}}},
          {"CYC", kCode, {Cyc{1}}},
          {"TRACESTOP", kCode, {TraceStop{}}}};
}

class PacketRuns : public ::testing::TestWithParam<PacketRun> {};

TEST_P(PacketRuns, CostTheirOwnTimeAndABoundedAccount) {
  const PacketRun& run = GetParam();
  PacketWriter writer;
  writer.Psb();
  writer.Write(ModeExec{.cs_l = true});
  writer.Fup(run.begin);
  writer.Write(PsbEnd{});
  std::vector<uint8_t> bytes = writer.Take();
  const std::vector<uint8_t> once = EncodingOf(run.packets);
  while (bytes.size() < kSize) bytes.insert(bytes.end(), once.begin(), once.end());
  const AddressSpaceHistory history = History(Space({At(kCode, Code())}));
  DecodeInput input;
  input.bytes = bytes;
  input.code = &history;
  for (const Resync resync : {Resync::kEarliest, Resync::kSyncPoint}) {
    input.resync = resync;
    const Result<FlowSummary> sum = MakeNativeDecoder()->Summarize(input);
    ASSERT_TRUE(sum);
    EXPECT_LE(sum->losses.size(), FlowTotals::kTold + 3);
    EXPECT_EQ(sum->bytes_decoded + sum->bytes_padding + sum->bytes_lost, bytes.size());
    uint64_t lost = 0;
    for (const DataLoss& loss : sum->losses) lost += loss.bytes();
    EXPECT_EQ(lost, sum->bytes_lost);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, PacketRuns, ::testing::ValuesIn(Runs()), [](const auto& param) {
  std::string name;
  for (const char c : std::string(param.param.name)) name += std::isalnum(c) != 0 ? c : '_';
  return name;
});

}  // namespace
}  // namespace flowback::pt
