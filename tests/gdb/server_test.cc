// SPDX-License-Identifier: MIT
// The server packet by packet, without a socket: what it says of itself, of threads, registers and
// memory, how it moves, and that rubbish is answered and does no harm.
#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "replay/gdb/gdb_server.h"
#include "tests/support/places.h"
#include "tests/support/random.h"

namespace flowback::gdb {
namespace {

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { Open("branches"); }

  void Open(const std::string& name) {
    Result<Session> opened = Session::Open(SourceFolder() + "/tests/recordings/" + name + ".data");
    ASSERT_TRUE(opened) << opened.error().message();
    session_ = std::make_unique<Session>(*std::move(opened));
    const Result<FlowIndex*> index = session_->Index();
    ASSERT_TRUE(index);
    machine_ = std::make_unique<ReplayedMachine>(**index, std::vector<size_t>{0});
    stacks_ = std::make_unique<ReplayedStacks>(*session_, **index, IndexCache());
    input_ = std::make_unique<ServerInput>(ServerInput{
        .session = *session_,
        .machine = *machine_,
        .stacks = *stacks_,
        .images = images_,
        .core = nullptr,
        .go_to = [this](const std::string& word, size_t thread) { return GoTo(word, thread); },
        .keep_on = [] { return true; }});
    server_ = std::make_unique<GdbServer>(*input_);
    Ask("qSupported:multiprocess+;swbreak+;hwbreak+");
  }

  // As the program does it, but for times.
  Status GoTo(const std::string& word, size_t thread) {
    if (word == "begin") machine_->ToBegin(thread);
    if (word == "end") machine_->ToEnd(thread);
    if (word == "begin" || word == "end") return {};
    if (word.starts_with('#') && machine_->ToInstruction(thread, std::stoull(word.substr(1))))
      return {};
    return Fail(Error(ErrorCode::kUsage, "not a moment").Remedy("#7"));
  }

  // The last reply; what was printed before it goes to output_.
  std::string Ask(std::string_view packet) {
    output_.clear();
    const Replies replies = server_->Answer(packet);
    EXPECT_FALSE(replies.empty()) << packet;
    for (size_t i = 0; i + 1 < replies.size(); ++i)
      output_ += BytesOfHex(replies[i].substr(1)).value_or("?");
    return replies.empty() ? "" : replies.back();
  }
  std::string Monitor(const std::string& line) {
    EXPECT_EQ(Ask("qRcmd," + HexOf(line)), "OK") << line;
    return output_;
  }
  uint64_t Pc() { return machine_->At(0).pc; }
  uint64_t Number() { return machine_->At(0).number; }

  std::unique_ptr<Session> session_;
  std::unique_ptr<ReplayedMachine> machine_;
  std::unique_ptr<ReplayedStacks> stacks_;
  ImageMemory images_;
  std::unique_ptr<ServerInput> input_;
  std::unique_ptr<GdbServer> server_;
  std::string output_;
};

TEST_F(ServerTest, SaysWhatItSupports) {
  const std::string text = Ask("qSupported:multiprocess+;swbreak+");
  for (const char* word : {"ReverseStep+", "ReverseContinue+", "multiprocess+", "swbreak+",
                           "QStartNoAckMode+", "vContSupported+", "qXfer:features:read+"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
  EXPECT_EQ(text.find("hwbreak+"), std::string::npos) << "the client did not ask for it";
  EXPECT_EQ(Ask("vMustReplyEmpty"), "");
  EXPECT_EQ(Ask("qTStatus"), "");
}

TEST_F(ServerTest, TellsItsThreads) {
  const std::string first = Ask("qfThreadInfo");
  ASSERT_TRUE(first.starts_with("mp")) << first;
  EXPECT_EQ(Ask("qsThreadInfo"), "l");
  const std::string id = first.substr(1);
  EXPECT_EQ(Ask("T" + id), "OK");
  EXPECT_EQ(Ask("Hg" + id), "OK");
  EXPECT_EQ(Ask("Tp1.7fffffff"), "E01");
  EXPECT_FALSE(BytesOfHex(Ask("qThreadExtraInfo," + id)).value_or("").empty());
  EXPECT_NE(Ask("qXfer:threads:read::0,1000").find("<thread id=\"" + id), std::string::npos);
}

TEST_F(ServerTest, HasTheProgramCounterOnly) {
  machine_->ToInstruction(0, 5);
  EXPECT_EQ(Ask("p10"), HexOfNumber(Pc(), 8));
  EXPECT_EQ(Ask("p7"), "xxxxxxxxxxxxxxxx");
  const std::string all = Ask("g");
  EXPECT_EQ(all.substr(16 * 16, 16), HexOfNumber(Pc(), 8));
  EXPECT_EQ(all.substr(0, 16), "xxxxxxxxxxxxxxxx");
  EXPECT_EQ(Ask("pffff"), "E01");
  EXPECT_EQ(Ask("G00"), "E01");
  EXPECT_EQ(Ask("P10=0000000000000000"), "E01");
}

TEST_F(ServerTest, ReadsCodeAndNothingElse) {
  std::ostringstream packet;
  packet << 'm' << std::hex << Pc() << ",4";
  EXPECT_EQ(Ask(packet.str()).size(), 8u);
  EXPECT_EQ(Ask("m10,4"), "E01");
  EXPECT_EQ(Ask("mffffffffffffffff,10"), "E01");
  EXPECT_EQ(Ask("m1"), "E01");
}

TEST_F(ServerTest, StepsInBothDirections) {
  EXPECT_TRUE(Ask("?").starts_with("T05"));
  const uint64_t begin = Pc();
  EXPECT_TRUE(Ask("vCont;s:p-1.-1").starts_with("T05"));
  EXPECT_EQ(Number(), 1u);
  Ask("s");
  EXPECT_EQ(Number(), 2u);
  Ask("bs");
  Ask("bs");
  EXPECT_EQ(Pc(), begin);
  EXPECT_NE(Ask("bs").find("replaylog:begin"), std::string::npos);
}

TEST_F(ServerTest, StepsAtTheEndDoNotGoOnForEver) {
  machine_->ToEnd(0);
  int steps = 0;
  while (steps < 1000 && Ask("s").starts_with("T05")) ++steps;
  EXPECT_GT(steps, 1) << "gdb steps off a breakpoint";
  EXPECT_LT(steps, 100);
  EXPECT_NE(output_.find("No more reverse-execution history"), std::string::npos) << output_;
}

TEST_F(ServerTest, StopsAtBreakpointsInBothDirections) {
  machine_->ToInstruction(0, 40);
  std::ostringstream place;
  place << std::hex << Pc();
  const std::string breakpoint = "0," + place.str() + ",1";
  Ask("bc");
  EXPECT_EQ(Ask("Z" + breakpoint), "OK");
  const std::string stop = Ask("vCont;c");
  EXPECT_NE(stop.find("swbreak:;"), std::string::npos) << stop;
  EXPECT_EQ(HexOfNumber(Pc(), 8), HexOfNumber(std::stoull(place.str(), nullptr, 16), 8));
  const uint64_t first = Number();
  Ask("z" + breakpoint);
  EXPECT_NE(Ask("vCont;c").find("replaylog:end"), std::string::npos);
  Ask("Z" + breakpoint);
  uint64_t last = Number();
  while (Ask("bc").find("swbreak") != std::string::npos) {
    EXPECT_LT(Number(), last);
    last = Number();
  }
  EXPECT_GE(last, first);
  EXPECT_EQ(Number(), 0u);
  EXPECT_EQ(Ask("Z2,1000,4"), "") << "watchpoints are not supported";
}

TEST_F(ServerTest, StopsAheadOfSystemCalls) {
  EXPECT_EQ(Ask("QCatchSyscalls:1"), "OK");
  std::vector<std::string> forward;
  std::string stop = Ask("vCont;c");
  for (; stop.find("replaylog") == std::string::npos; stop = Ask("vCont;c"))
    forward.push_back(std::to_string(Number()) + stop.substr(stop.find("syscall_entry:")));
  ASSERT_FALSE(forward.empty());
  EXPECT_NE(forward.back().find("syscall_entry:"), std::string::npos) << "exit_group";
  std::vector<std::string> backward;
  if (machine_->At(0).instruction.last == InstructionClass::kFarCall &&
      !machine_->At(0).never_executed)
    backward.push_back(forward.back());  // where the recording ends
  for (stop = Ask("bc"); stop.find("replaylog") == std::string::npos; stop = Ask("bc"))
    backward.push_back(std::to_string(Number()) + stop.substr(stop.find("syscall_entry:")));
  std::ranges::reverse(backward);
  EXPECT_EQ(backward, forward);
  EXPECT_EQ(Ask("QCatchSyscalls:1;ffff"), "OK");
  EXPECT_NE(Ask("vCont;c").find("replaylog:end"), std::string::npos);
  EXPECT_EQ(Ask("QCatchSyscalls:0"), "OK");
  EXPECT_EQ(Ask("QCatchSyscalls:1;x"), "E01");
}

// The blocks of the history, from the first one on.
TEST_F(ServerTest, TellsWhatLedToThePlace) {
  EXPECT_EQ(Ask("qXfer:btrace-conf:read::0,1000").find("<bts"), std::string::npos);
  EXPECT_EQ(Ask("qXfer:btrace:read:all:0,1000"), "E00") << "nobody asked for a history";
  EXPECT_EQ(Ask("Qbtrace:pt"), "E01");
  EXPECT_EQ(Ask("Qbtrace-conf:bts:size=0x100000"), "OK");
  EXPECT_EQ(Ask("Qbtrace:bts"), "OK");
  EXPECT_NE(Ask("qXfer:btrace-conf:read::0,1000").find("<bts size=\"0x100000\""),
            std::string::npos);
  constexpr uint64_t kPlace = 60;
  machine_->ToInstruction(0, kPlace);
  const std::string text = Ask("qXfer:btrace:read:all:0,ffff");
  const std::regex block("begin=\"0x([0-9a-f]+)\" end=\"0x([0-9a-f]+)\"");
  std::vector<std::pair<uint64_t, uint64_t>> blocks;
  for (std::sregex_iterator at(text.begin(), text.end(), block), none; at != none; ++at)
    blocks.emplace_back(std::stoull((*at)[1], nullptr, 16), std::stoull((*at)[2], nullptr, 16));
  ASSERT_GT(blocks.size(), 3u);
  ThreadCursor cursor(machine_->index(), machine_->thread(0));
  uint64_t instructions = 0;
  for (size_t i = blocks.size(); i-- != 0;) {
    for (uint64_t at = blocks[i].first;; cursor.NextInstruction()) {
      if (cursor.kind() != ThreadCursor::Kind::kInstruction) cursor.NextInstruction();
      ASSERT_EQ(cursor.instruction().address, at);
      at += cursor.instruction().length;
      ++instructions;
      if (cursor.instruction().address == blocks[i].second) break;
    }
    cursor.NextInstruction();
  }
  EXPECT_EQ(instructions, kPlace + 1) << "with the one at hand";
  EXPECT_EQ(Ask("qXfer:btrace:read:delta:0,ffff").find("<block"), std::string::npos)
      << "same place";
  Ask("s");
  EXPECT_EQ(Ask("qXfer:btrace:read:delta:0,ffff"), "E00");
  EXPECT_EQ(Ask("Qbtrace:off"), "OK");
}

TEST_F(ServerTest, StepsOutOfARange) {
  const uint64_t begin = Pc();
  std::ostringstream packet;
  packet << "vCont;r" << std::hex << begin << ',' << begin + 1 << ":p-1.-1";
  EXPECT_TRUE(Ask(packet.str()).starts_with("T05"));
  EXPECT_EQ(Number(), 1u);
}

TEST_F(ServerTest, AnInterruptEndsARunWhereItBegan) {
  machine_->ToEnd();
  const uint64_t end = Number();
  input_->keep_on = [] { return false; };
  GdbServer server(*input_);
  const Replies replies = server.Answer("bc");
  EXPECT_TRUE(replies.back().starts_with("T02")) << replies.back();
  EXPECT_EQ(Number(), end);
}

// gdb makes many short runs of one command, and Ctrl-C may come between two of them.
TEST_F(ServerTest, AnInterruptBetweenTwoRunsEndsTheNextOne) {
  for (const char* run : {"c", "vCont;c", "vCont;s:p-1.-1", "bs", "bc", "s"}) {
    SCOPED_TRACE(run);
    const uint64_t before = Number();
    GdbServer server(*input_);
    server.Interrupt();
    const Replies replies = server.Answer(run);
    EXPECT_TRUE(replies.back().starts_with("T02")) << replies.back();
    EXPECT_EQ(Number(), before);
    EXPECT_FALSE(server.Answer(run).back().starts_with("T02"));
    machine_->ToBegin();
  }
}

TEST_F(ServerTest, ServesTheRecordedFilesOnly) {
  for (const ImageStatus& image : session_->code().images()) {
    if (!image.usable) continue;
    const std::string opened = Ask("vFile:open:" + HexOf(image.path) + ",0,0");
    ASSERT_TRUE(opened.starts_with("F") && opened[1] != '-') << opened;
    const std::string read = Ask("vFile:pread:" + opened.substr(1) + ",4,0");
    EXPECT_EQ(read,
              "F4;\x7f"
              "ELF");
    EXPECT_TRUE(Ask("vFile:fstat:" + opened.substr(1)).starts_with("F40;"));
    EXPECT_TRUE(Ask("vFile:open:" + HexOf(image.path) + ",1,0").starts_with("F-1,"));
    EXPECT_EQ(Ask("vFile:close:" + opened.substr(1)), "F0");
    EXPECT_TRUE(Ask("vFile:pread:" + opened.substr(1) + ",4,0").starts_with("F-1,"));
  }
  for (const char* path : {"/etc/passwd", "../../../etc/passwd", ""})
    EXPECT_EQ(Ask("vFile:open:" + HexOf(path) + ",0,0"), "F-1,2") << path;
}

TEST_F(ServerTest, TellsTheFlowsFrames) {
  machine_->ToInstruction(0, 20);
  const std::string id = Ask("qC").substr(2);
  const std::string frames = Ask("qFlowbackFrames:" + id);
  std::ostringstream counter;
  counter << ';' << std::hex << Pc() << ',';
  EXPECT_NE(frames.find(counter.str()), std::string::npos) << frames;
  EXPECT_EQ(Ask("qFlowbackFrames:p1.7fffffff"), "E01");
}

TEST_F(ServerTest, MonitorGoesAndTells) {
  EXPECT_NE(Monitor("goto #7").find("#7"), std::string::npos);
  EXPECT_EQ(Number(), 7u);
  EXPECT_NE(Monitor("goto #99999999999").find("not a moment\n  try: #7"), std::string::npos);
  EXPECT_EQ(Number(), 7u);
  Monitor("goto end");
  EXPECT_GE(Number() + 1, machine_->thread(0).instructions);
  Monitor("goto begin");
  EXPECT_EQ(Number(), 0u);
  EXPECT_NE(Monitor("goto soon").find("not a moment"), std::string::npos);
  for (const char* command :
       {"help", "when", "events", "losses", "backtrace", "backtrace 1", "stop-at x", "stop-at",
        "visits", "who", "why rax", "why-unavailable"})
    EXPECT_FALSE(Monitor(command).empty()) << command;
  EXPECT_NE(Monitor("visits").find("1 times, 0 of them"), std::string::npos);
  EXPECT_NE(Monitor("why").find("takes a register"), std::string::npos);
  EXPECT_NE(Monitor("why 0x40zz").find("takes a register"), std::string::npos);
  EXPECT_NE(Monitor("why 0x401000").find("no value is proven here"), std::string::npos);
  EXPECT_NE(Monitor("dance").find("monitor help"), std::string::npos);
}

// "x86_64-unknown-linux-gnu", in hexadecimal digits. At an end LLDB needs a reason of its own.
TEST_F(ServerTest, TellsLldbOfTheMachine) {
  const std::string triple = "triple:" + HexOf("x86_64-unknown-linux-gnu") + ";ptrsize:8;";
  EXPECT_NE(Ask("qHostInfo").find(triple), std::string::npos);
  EXPECT_NE(Ask("qProcessInfo").find(triple), std::string::npos);
  EXPECT_EQ(Ask("qProcessInfoPID:1"), "");
  EXPECT_EQ(Ask("bs").find("reason:"), std::string::npos) << "gdb knows of ends";
  EXPECT_EQ(Ask("QThreadSuffixSupported"), "");
  EXPECT_NE(Ask("bs").find("reason:exception;description:"), std::string::npos);
}

// Every packet gets an answer; the machine stays usable.
TEST_F(ServerTest, AnswersRubbish) {
  const std::vector<std::string> beginnings = {"",
                                               "?",
                                               "H",
                                               "Hg",
                                               "Hcp",
                                               "T",
                                               "g",
                                               "p",
                                               "m",
                                               "Z0,",
                                               "z1,",
                                               "vCont",
                                               "vCont;",
                                               "vCont;s",
                                               "vCont;r",
                                               "vFile:",
                                               "qXfer:",
                                               "qXfer:features:read:",
                                               "qRcmd,",
                                               "qThreadExtraInfo,",
                                               "qXfer:btrace:read:",
                                               "Qbtrace",
                                               "qFlowbackFrames:",
                                               "qFlowbackMonitorOf:",
                                               "vFile:open:",
                                               "vFile:pread:",
                                               "b",
                                               "bs",
                                               "\xff"};
  testing::Random random(1);
  for (int i = 0; i < 3'000; ++i) {
    std::string packet = beginnings[random.Below(beginnings.size())];
    for (uint64_t more = random.Below(12); more-- != 0;)
      packet += "0123456789abcdef,:;.-p#x\xff\n"[random.Below(26)];
    EXPECT_FALSE(server_->Answer(packet).empty()) << packet;
  }
  EXPECT_EQ(Monitor("goto #7").substr(0, 6), "thread");
}

}  // namespace
}  // namespace flowback::gdb
