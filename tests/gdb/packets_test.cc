// SPDX-License-Identifier: MIT
// Packets of gdb's remote protocol: framing, checksums, escapes, runs, and what is no packet.
#include <gtest/gtest.h>
#include <signal.h>

#include <map>
#include <string>
#include <vector>

#include "flowback/model/code_mode.h"
#include "replay/gdb/gdb_packets.h"
#include "replay/gdb/gdb_signals.h"
#include "replay/gdb/target_description.h"

namespace flowback::gdb {
namespace {

using Kind = Received::Kind;

std::vector<Received> ReadAll(GdbPacketReader& reader) {
  std::vector<Received> all;
  while (auto received = reader.Next()) all.push_back(*std::move(received));
  return all;
}

std::vector<Received> ReadAll(std::string_view bytes) {
  GdbPacketReader reader;
  reader.Add(bytes);
  return ReadAll(reader);
}

// What a client makes of a reply: runs are written out.
std::string WithoutRuns(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*' && i + 1 < text.size())
      out.append(static_cast<size_t>(text[++i]) - 29, out.back());
    else
      out += text[i];
  }
  return out;
}

TEST(Packets, HaveTheSumOfTheirBytes) {
  EXPECT_EQ(Framed("OK"), "$OK#9a");
  EXPECT_EQ(Framed(""), "$#00");
  const auto received = ReadAll("$OK#9a");
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].packet, "OK");
}

TEST(Packets, ComeInPartsAndInGroups) {
  GdbPacketReader reader;
  std::string bytes = "+$qC#b4$?#3f-";
  std::vector<Received> all;
  for (const char c : bytes) {
    reader.Add({&c, 1});
    for (Received& received : ReadAll(reader)) all.push_back(std::move(received));
  }
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].packet, "qC");
  EXPECT_EQ(all[1].packet, "?");
  EXPECT_TRUE(all[2].kind == Kind::kAgain);
}

TEST(Packets, WithWrongSumsAreTold) {
  for (const char* bytes : {"$OK#9b", "$OK#zz", "$OK#9z"}) {
    const auto received = ReadAll(bytes);
    ASSERT_EQ(received.size(), 1u) << bytes;
    EXPECT_TRUE(received[0].kind == Kind::kBadChecksum) << bytes;
  }
  GdbPacketReader trusting;
  trusting.set_checks(false);
  trusting.Add("$OK#00");
  EXPECT_EQ(trusting.Next()->packet, "OK");
}

TEST(Packets, ThatAreTooLongAreReadToTheirEnd) {
  GdbPacketReader reader;
  reader.Add("$" + std::string(10 << 20, 'a'));
  EXPECT_FALSE(reader.Next());
  reader.Add(std::string(1000, 'b') + "#00$qC#b4");
  const auto all = ReadAll(reader);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].kind == Kind::kTooLong);
  EXPECT_EQ(all[1].packet, "qC");
}

TEST(Packets, LeaveOutWhatIsNone) {
  EXPECT_TRUE(ReadAll("nonsense # + \xff\n").empty());
  GdbPacketReader reader;
  reader.Add("$half");
  EXPECT_FALSE(reader.Next());
}

TEST(Packets, AreFoundBehindMuchNoise) {
  GdbPacketReader reader;
  reader.Add(std::string(1 << 20, '+') + "$qC#b4");
  EXPECT_EQ(reader.Next()->packet, "qC");
  EXPECT_EQ(reader.size(), 0u);
}

TEST(Interrupt, IsAByteOutsideOfPackets) {
  GdbPacketReader reader;
  reader.Add("$m1\x03#d1");
  EXPECT_FALSE(reader.HasInterrupt());
  reader.Next();
  reader.Add("\x03");
  EXPECT_TRUE(reader.HasInterrupt());
  EXPECT_TRUE(reader.Next()->kind == Kind::kInterrupt);
  EXPECT_FALSE(reader.HasInterrupt());
}

TEST(Escapes, KeepAnyBytes) {
  std::string bytes;
  for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(i * 7);
  bytes += std::string(500, '}') + std::string(500, '#') + std::string(500, '\0');
  const std::string framed = Framed(Escaped(bytes));
  EXPECT_EQ(framed.find('#'), framed.size() - 3);
  EXPECT_EQ(framed.find('$', 1), std::string::npos);
  GdbPacketReader reader;
  // As a client does: first the sum, then the runs, then the escapes.
  const std::string content = WithoutRuns(std::string_view(framed).substr(1, framed.size() - 4));
  reader.set_checks(false);
  reader.Add("$" + content + "#00");
  EXPECT_EQ(reader.Next()->packet, bytes);
}

TEST(Runs, AreShortAndMeanTheSame) {
  for (size_t size = 1; size < 400; ++size) {
    const std::string text = "a" + std::string(size, 'x') + "b";
    const std::string framed = Framed(text);
    const std::string content = framed.substr(1, framed.size() - 4);
    EXPECT_EQ(WithoutRuns(content), text) << size;
    for (const char bad : {'#', '$'}) EXPECT_EQ(content.find(bad), std::string::npos) << size;
    EXPECT_TRUE(size <= 20 || content.size() < text.size() / 2) << size;
  }
}

TEST(Hex, ReadsNumbersAndBytes) {
  std::string_view text = "1fG";
  EXPECT_EQ(TakeHex(text), 0x1fu);
  EXPECT_EQ(text, "G");
  EXPECT_FALSE(TakeHex(text));
  std::string_view wide = "12345678123456781";
  EXPECT_FALSE(TakeHex(wide));
  EXPECT_EQ(HexOfNumber(0x1234, 4), "34120000");
  EXPECT_EQ(HexOfNumber(1, 10), "01000000000000000000");
  EXPECT_EQ(BytesOfHex("6869"), "hi");
  EXPECT_FALSE(BytesOfHex("686"));
  EXPECT_FALSE(BytesOfHex("6x"));
}

// As gdb numbers them: its documentation of the remote protocol.
TEST(Signals, HaveTheNumbersOfTheProtocol) {
  const std::map<int, int> wanted = {{SIGINT, 2},   {SIGTRAP, 5},  {SIGABRT, 6},  {SIGBUS, 10},
                                     {SIGSEGV, 11}, {SIGPIPE, 13}, {SIGCHLD, 20}, {SIGUSR1, 30},
                                     {SIGUSR2, 31}, {SIGSYS, 12},  {33, 45},      {63, 75}};
  for (const auto& [signal, number] : wanted) EXPECT_EQ(GdbSignal(signal), number) << signal;
  for (const int unknown : {-1, 65, 1000}) EXPECT_EQ(GdbSignal(unknown), 143);
}

TEST(TargetDescription, NamesTheRegistersThatGdbNeeds) {
  struct Wanted {
    CodeMode mode;
    const char* architecture;
    const char* counter;
    size_t number;
  };
  for (const auto& [mode, architecture, counter, number] :
       {Wanted{CodeMode::kX86_64, "i386:x86-64", "rip", 16},
        Wanted{CodeMode::kX86_32, "i386", "eip", 8},
        Wanted{CodeMode::kAArch64, "aarch64", "pc", 32}}) {
    const std::vector<Register> registers = RegistersOf(mode);
    ASSERT_GT(registers.size(), number);
    EXPECT_EQ(registers[number].name, counter);
    EXPECT_EQ(registers.back().name, kFrameRegister);
    const std::string text = TargetDescription(mode, registers);
    EXPECT_NE(text.find("<architecture>" + std::string(architecture) + "<"), std::string::npos);
    EXPECT_NE(text.find("<osabi>GNU/Linux</osabi>"), std::string::npos);
    for (const Register& one : registers)
      EXPECT_NE(text.find("<reg name=\"" + one.name + "\""), std::string::npos) << one.name;
  }
}

}  // namespace
}  // namespace flowback::gdb
