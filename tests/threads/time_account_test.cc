// SPDX-License-Identifier: MIT
// The account of threads' times on small recordings made by hand: one nanosecond is one TSC tick.
#include "flowback/replay/time_account.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "base/recorded/pt_config.h"
#include "decode/pt/packets/packet_writer.h"
#include "flowback/decode/recording_code.h"

namespace flowback {
namespace {

constexpr uint64_t kCode = 0x401000;  // SYSCALL; its place is the whole known code
constexpr uint64_t kNoCode = 0x900000;

class TraceWriter {
 public:
  TraceWriter& Psb(uint64_t tsc) {
    writer_.Psb();
    writer_.Write(pt::Tsc{tsc});
    writer_.Write(pt::PsbEnd{});
    return *this;
  }
  // Tracing is on: the instruction at `ip` is next.
  TraceWriter& PsbOn(uint64_t tsc, uint64_t ip) {
    writer_.Psb();
    writer_.Write(pt::Tsc{tsc});
    writer_.Fup(ip);
    writer_.Write(pt::PsbEnd{});
    return *this;
  }
  TraceWriter& Time(uint64_t tsc) {
    writer_.Write(pt::Tsc{tsc});
    return *this;
  }
  // A TSC packet on both sides of each border: it is known to two ticks.
  TraceWriter& Start(uint64_t tsc, uint64_t ip = kCode) {
    Time(tsc - 1).writer_.TipPge(ip);
    return Time(tsc + 1);
  }
  TraceWriter& Stop(uint64_t tsc, std::optional<uint64_t> ip = {}) {
    Time(tsc - 1).writer_.TipPgd(ip);
    return Time(tsc + 1);
  }
  TraceWriter& Run(uint64_t begin, uint64_t end) { return Start(begin).Stop(end); }
  TraceWriter& Overflow(uint64_t tsc) {
    Time(tsc).writer_.Write(pt::Ovf{});
    return *this;
  }
  template <class P>
  TraceWriter& Write(const P& packet) {
    writer_.Write(packet);
    return *this;
  }
  pt::PacketWriter& raw() { return writer_; }
  size_t size() const { return writer_.size(); }
  std::vector<uint8_t> Take() { return writer_.Take(); }

 private:
  pt::PacketWriter writer_;
};

class TimeAccountTest : public testing::Test {
 protected:
  TimeAccountTest() {
    recording_.time = {.shift = 0, .mult = 1, .zero = 0};
    recording_.levels.user = true;
    recording_.levels.kernel = false;
    const auto file = std::filesystem::temp_directory_path() /
                      ("time_account_test." + std::to_string(::getpid()) + ".code");
    std::ofstream(file, std::ios::binary) << std::string("\x0f\x05\x90\x0f\x05", 5);
    code_file_ = file;
    recording_.sections.push_back({.file = code_file_, .offset = 0, .size = 5, .address = kCode});
  }
  ~TimeAccountTest() override { std::filesystem::remove(code_file_); }

  void AddStream(int32_t cpu, int32_t tid, TraceWriter& trace) {
    auto bytes = std::make_shared<std::vector<uint8_t>>(trace.Take());
    Stream stream;
    stream.index = static_cast<uint32_t>(recording_.streams.size());
    stream.cpu = cpu;
    stream.tid = tid;
    stream.pid = tid < 0 ? -1 : 1;
    stream.bytes = *bytes;
    recording_.streams.push_back(stream);
    recording_.storage.push_back(bytes);
  }
  template <class Record>
  Record Base(uint64_t time, int32_t tid, int32_t cpu = 0) {
    Record record;
    record.time = time;
    record.pid = 1;
    record.tid = tid;
    record.cpu = cpu;
    return record;
  }
  void In(uint64_t time, int32_t tid, int32_t cpu = 0) {
    recording_.sideband.push_back(Base<SwitchRecord>(time, tid, cpu));
  }
  void Out(uint64_t time, int32_t tid, int32_t cpu = 0) {
    SwitchRecord record = Base<SwitchRecord>(time, tid, cpu);
    record.out = true;
    recording_.sideband.push_back(record);
  }
  void Fork(uint64_t time, int32_t tid, int32_t parent) {
    ForkRecord record = Base<ForkRecord>(time, tid);
    record.parent_pid = 1;
    record.parent_tid = parent;
    recording_.sideband.push_back(record);
  }
  void Exit(uint64_t time, int32_t tid) {
    recording_.sideband.push_back(Base<ExitRecord>(time, tid));
  }
  void Started(uint64_t time, int32_t tid) {
    recording_.sideband.push_back(Base<ItraceStartRecord>(time, tid));
  }

  // Checks the law.
  void Account() {
    Result<RecordingCode> code = RecordingCode::Load(recording_, {});
    ASSERT_TRUE(code) << code.error().message();
    const StreamInputs inputs(recording_, *code, Resync::kEarliest);
    Result<std::unique_ptr<Decoder>> decoder = MakeDecoder("native");
    ASSERT_TRUE(decoder);
    Result<FlowAccounts> accounts = AccountFlow(recording_, inputs, **decoder);
    ASSERT_TRUE(accounts) << accounts.error().message();
    accounts_ = std::move(accounts->times);
    for (const TimeAccount& account : accounts_.threads) {
      EXPECT_EQ(account.Sum(), account.lifetime()) << account.tid;
      for (const TimeShare& share : account.shares) {
        EXPECT_LE(share.lo, share.time) << account.tid;
        EXPECT_GE(share.hi, share.time) << account.tid;
      }
    }
  }

  const TimeAccount& Of(int32_t tid) const {
    static const TimeAccount kNone;
    const auto found = std::ranges::find(accounts_.threads, tid, &TimeAccount::tid);
    EXPECT_NE(found, accounts_.threads.end()) << tid;
    return found == accounts_.threads.end() ? kNone : *found;
  }
  // The truth lies within the bounds, and the time is not further away than `slack`.
  static void ExpectTime(const TimeAccount& account, TimeClass kind, uint64_t truth,
                         uint64_t slack = 4) {
    const TimeShare& share = account.Of(kind);
    EXPECT_LE(share.lo, truth) << Name(kind);
    EXPECT_GE(share.hi, truth) << Name(kind);
    EXPECT_LE(share.time, truth + slack) << Name(kind);
    EXPECT_GE(share.time + slack, truth) << Name(kind);
  }
  static void ExpectLife(const TimeAccount& account, uint64_t begin, uint64_t end) {
    EXPECT_EQ(account.begin, begin);
    EXPECT_EQ(account.end, end);
  }

  Recording recording_;
  TimeAccounts accounts_;
  std::string code_file_;
};

TEST_F(TimeAccountTest, TwoThreadsOnOneCpu) {
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Run(220, 260).Run(600, 700).Run(1100, 1150);
  AddStream(0, -1, trace);
  In(100, 7), Out(300, 7), In(500, 8), Out(900, 8), In(1000, 7), Out(1300, 7);
  Account();
  ExpectLife(Of(7), 100, 1300);
  ExpectTime(Of(7), TimeClass::kExecuting, 140, 8);
  ExpectTime(Of(7), TimeClass::kKernel, 360, 8);
  EXPECT_EQ(Of(7).Of(TimeClass::kOffCpu).time, 700u);
  EXPECT_EQ(Of(7).instructions, 3u);
  ExpectLife(Of(8), 500, 1300);  // no record ends it
  ExpectTime(Of(8), TimeClass::kExecuting, 100);
  ExpectTime(Of(8), TimeClass::kKernel, 300);
  EXPECT_EQ(Of(8).Of(TimeClass::kOffCpu).time, 400u);
  EXPECT_EQ(accounts_.threads.size(), 2u);
}

// Thread 7 went off the CPU somewhere between the two records.
TEST_F(TimeAccountTest, ALostSwitchRecordIsLostTime) {
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Run(600, 700);
  AddStream(0, -1, trace);
  In(100, 7), In(500, 8), Out(900, 8);
  Account();
  EXPECT_EQ(Of(7).Of(TimeClass::kLost).time, 400u);
  EXPECT_EQ(Of(7).causes.at(LossCause::kThreadUnknown), 400u);
  EXPECT_EQ(Of(7).Of(TimeClass::kOffCpu).time, 400u);
  ExpectTime(Of(8), TimeClass::kExecuting, 100);
  EXPECT_EQ(Of(8).Of(TimeClass::kLost).time, 0u);
}

// Thread 8's "in" is missing: it is known to have run from its first flow on only.
TEST_F(TimeAccountTest, ALostInRecordIsLostTimeUpToTheFirstFlow) {
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Run(600, 700);
  AddStream(0, -1, trace);
  In(100, 7), Out(300, 7), Out(900, 8);
  std::get<SwitchRecord>(recording_.sideband[1]).other_tid = 8;
  Account();
  ExpectTime(Of(8), TimeClass::kLost, 300);
  ExpectTime(Of(8), TimeClass::kExecuting, 100);
  ExpectTime(Of(8), TimeClass::kKernel, 200);
}

// Two pauses can hold the switch: what was executed between them is nobody's.
TEST_F(TimeAccountTest, AnAmbiguousSwitchIsLostTime) {
  TraceWriter trace;
  trace.Psb(10).Start(150).Time(190);
  trace.raw().TipPgd({});
  trace.raw().TipPge(kCode);
  trace.raw().TipPgd({});
  trace.raw().TipPge(kCode);
  trace.Time(320).Stop(400).Time(500);
  AddStream(0, -1, trace);
  In(100, 7), Out(250, 7), In(251, 8), Out(600, 8);
  Account();
  EXPECT_NE(Of(7).Of(TimeClass::kLost).time + Of(8).Of(TimeClass::kLost).time, 0u);
  EXPECT_EQ(Of(-1).instructions, 1u);
}

TEST_F(TimeAccountTest, TruncatedAuxDataIsLostTime) {
  TraceWriter trace;
  trace.Psb(10).Start(110).Time(200);
  const size_t gap = trace.size();
  trace.PsbOn(600, kCode).Stop(700);
  AddStream(0, -1, trace);
  recording_.streams[0].gaps.push_back({gap, "truncated"});
  In(100, 7), Out(1000, 7);
  Account();
  ExpectTime(Of(7), TimeClass::kLost, 400, 300);
  EXPECT_GE(Of(7).Of(TimeClass::kLost).time, 380u);
  EXPECT_EQ(Of(7).causes.begin()->first, LossCause::kAuxLost);
}

TEST_F(TimeAccountTest, AnOverflowIsLostTime) {
  TraceWriter trace;
  trace.Psb(10).Start(110).Overflow(200).Time(299);
  trace.raw().Fup(kCode);
  trace.Time(301).Stop(400);
  AddStream(0, -1, trace);
  In(100, 7), Out(1000, 7);
  Account();
  EXPECT_EQ(Of(7).causes.begin()->first, LossCause::kOverflow);
  ExpectTime(Of(7), TimeClass::kLost, 150, 60);
  ExpectTime(Of(7), TimeClass::kKernel, 610);
}

TEST_F(TimeAccountTest, CodeThatIsMissingIsUndecodableTime) {
  TraceWriter trace;
  trace.Psb(10).Start(110, kNoCode);
  trace.raw().TntBit(true);
  trace.raw().FlushTnt();
  trace.Time(150).Stop(300).Run(400, 500);
  AddStream(0, -1, trace);
  In(100, 7), Out(1000, 7);
  Account();
  EXPECT_EQ(Of(7).causes.begin()->first, LossCause::kNoImage);
  ExpectTime(Of(7), TimeClass::kUndecodable, 190, 10);
  ExpectTime(Of(7), TimeClass::kExecuting, 100, 50);
}

TEST_F(TimeAccountTest, LeavingTheFilterIsFilteredTime) {
  recording_.config.Make<PtConfig>().address_filter = true;
  TraceWriter trace;
  trace.Psb(10).Start(110, kCode + 2).Stop(300, kCode + 3).Run(400, 500);
  AddStream(0, -1, trace);
  In(100, 7), Out(1000, 7);
  Account();
  ExpectTime(Of(7), TimeClass::kFiltered, 100);
  ExpectTime(Of(7), TimeClass::kExecuting, 290, 8);
  ExpectTime(Of(7), TimeClass::kKernel, 510, 8);
}

TEST_F(TimeAccountTest, PausesOfAKernelTraceAreFiltered) {
  recording_.levels.kernel = true;
  TraceWriter trace;
  trace.Psb(10).Run(400, 500);
  AddStream(0, -1, trace);
  In(100, 7), Out(1000, 7);
  Account();
  EXPECT_EQ(Of(7).Of(TimeClass::kKernel).time, 0u);
  ExpectTime(Of(7), TimeClass::kFiltered, 800);
}

// The kernel switches threads while it is traced; a change of address space is a part of that.
TEST_F(TimeAccountTest, AThreadMayBeSwitchedWhileTracingIsOn) {
  recording_.levels.kernel = true;
  TraceWriter trace;
  trace.Psb(10).Start(110).Time(299);
  trace.Write(pt::Pip{.cr3 = 0x1000, .non_root = false}).Time(301).Stop(700);
  AddStream(0, -1, trace);
  In(100, 7), Out(300, 7), In(300, 8), Out(900, 8);
  Account();
  ExpectTime(Of(7), TimeClass::kExecuting, 190);
  ExpectTime(Of(7), TimeClass::kFiltered, 10);
  ExpectTime(Of(8), TimeClass::kExecuting, 400);
  ExpectTime(Of(8), TimeClass::kFiltered, 200);
}

// A switch behind a loss: for both threads it is lost up to where the flow goes on.
TEST_F(TimeAccountTest, AThreadMayBeSwitchedWhileTheFlowIsLost) {
  TraceWriter trace;
  trace.Psb(10).Start(110).Overflow(200).Start(500).Stop(600);
  AddStream(0, -1, trace);
  In(100, 7), Out(300, 7), In(310, 8), Out(900, 8);
  Account();
  ExpectTime(Of(7), TimeClass::kLost, 100, 100);
  ExpectTime(Of(8), TimeClass::kLost, 190);
  ExpectTime(Of(8), TimeClass::kExecuting, 100);
}

TEST_F(TimeAccountTest, AThreadLivesFromForkToExit) {
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Run(600, 700).Run(1100, 1150);
  AddStream(0, -1, trace);
  Started(100, 7), In(100, 7), Fork(160, 8, 7), Fork(170, 9, 7), Out(300, 7), In(500, 8),
      Exit(880, 8);
  Out(900, 8), In(1000, 7), Out(1300, 7);
  Account();
  ExpectLife(Of(8), 160, 900);
  EXPECT_EQ(Of(8).Of(TimeClass::kOffCpu).time, 340u);
  ExpectTime(Of(8), TimeClass::kExecuting, 100);
  ExpectLife(Of(9), 170, 1300);  // it never ran
  EXPECT_EQ(Of(9).Of(TimeClass::kOffCpu).time, 1130u);
}

TEST_F(TimeAccountTest, WithoutSwitchRecordsTimeOffTheCpuIsNotTold) {
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Time(400);
  AddStream(-1, 7, trace);
  Started(100, 7);
  Account();
  ExpectLife(Of(7), 100, 401);
  EXPECT_FALSE(Of(7).off_cpu_told);
  ExpectTime(Of(7), TimeClass::kExecuting, 50);
  ExpectTime(Of(7), TimeClass::kKernel, 251);
}

TEST_F(TimeAccountTest, AThreadsOwnSwitchRecordsTellWhenItWasOffTheCpu) {
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Run(600, 700);
  AddStream(-1, 7, trace);
  In(100, 7, 0), Out(300, 7, 0), In(500, 7, 3), Out(900, 7, 3);
  Account();
  EXPECT_TRUE(Of(7).off_cpu_told);
  EXPECT_EQ(Of(7).Of(TimeClass::kOffCpu).time, 200u);
  ExpectTime(Of(7), TimeClass::kExecuting, 150, 8);
}

TEST_F(TimeAccountTest, ABufferWithoutFlowTakesNoTime) {
  TraceWriter flow, none;
  flow.Psb(10).Run(150, 200).Time(400), none.Psb(10);
  AddStream(0, 7, flow), AddStream(1, 7, none), Started(100, 7);
  Account();
  ExpectTime(Of(7), TimeClass::kExecuting, 50);
  In(100, 7, 0), Out(300, 7, 0);
  Account();
  ExpectTime(Of(7), TimeClass::kExecuting, 50);
}

TEST_F(TimeAccountTest, WithoutAnyTimePacketTheTimeOnCpusIsLost) {
  TraceWriter trace;
  trace.raw().Psb();
  trace.Write(pt::PsbEnd{}).raw().TipPge(kCode);
  trace.raw().TipPgd({});
  AddStream(0, -1, trace);
  In(100, 7), Out(300, 7), In(310, 7), Exit(390, 7), Out(400, 7);
  Account();
  EXPECT_EQ(Of(7).causes.at(LossCause::kNoTime), 290u);
  EXPECT_EQ(Of(7).Of(TimeClass::kOffCpu).time, 10u);
}

TEST_F(TimeAccountTest, WithoutAConversionTheUnitIsTicks) {
  recording_.time = {};
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Time(400);
  AddStream(-1, 7, trace);
  In(1'000'000, 7), Out(2'000'000, 7);
  Account();
  EXPECT_FALSE(accounts_.nanoseconds);
  ExpectLife(Of(7), 10, 400);
  ExpectTime(Of(7), TimeClass::kExecuting, 50);
}

TEST_F(TimeAccountTest, ASharedCpuWithoutSwitchRecordsIsNobodys) {
  TraceWriter trace;
  trace.Psb(10).Run(150, 200).Time(400);
  AddStream(0, -1, trace);
  Started(100, 7), Fork(120, 8, 7);
  recording_.sideband.erase(recording_.sideband.begin());
  recording_.sideband.insert(recording_.sideband.begin(), Base<ItraceStartRecord>(100, 7, -1));
  Account();
  ExpectTime(Of(-1), TimeClass::kExecuting, 50);
  EXPECT_EQ(Of(8).Of(TimeClass::kLost).time, Of(8).lifetime());
}

TEST_F(TimeAccountTest, ASnapshotLeavesOutWhatWasOverwritten) {
  TraceWriter trace;
  trace.PsbOn(500, kCode).Stop(600);
  AddStream(0, -1, trace);
  In(100, 7), Out(1000, 7);
  AuxRecord aux = Base<AuxRecord>(900, 7);
  aux.flags = 0x02;
  recording_.sideband.push_back(aux);
  Account();
  ExpectTime(Of(7), TimeClass::kFiltered, 400, 100);
  EXPECT_TRUE(Of(7).causes.empty());
  ExpectTime(Of(7), TimeClass::kKernel, 400);
}

TEST_F(TimeAccountTest, ATraceThatEndsWhileOnLosesTheRest) {
  TraceWriter trace;
  trace.Psb(10).Start(400).Time(500);
  AddStream(0, -1, trace);
  In(100, 7), Out(1000, 7);
  Account();
  ExpectTime(Of(7), TimeClass::kLost, 500);
  EXPECT_EQ(Of(7).causes.begin()->first, LossCause::kTruncated);
}

// Whatever the records and the trace say, right or wrong, each life is counted once.
TEST_F(TimeAccountTest, AddsUpOnNonsense) {
  std::mt19937 random(20261121);
  const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() % limit); };
  for (int round = 0; round < 300; ++round) {
    recording_.sideband.clear();
    recording_.streams.clear();
    recording_.storage.clear();
    recording_.time.mult = round % 10 == 9 ? 0 : 1;
    for (int32_t cpu = 0; cpu < 2; ++cpu) {
      TraceWriter trace;
      uint64_t tsc = 100;
      for (int i = 0; i < 60; ++i) {
        tsc += below(40);
        switch (below(7)) {
          case 0:
            trace.Psb(tsc);
            break;
          case 1:
            trace.Overflow(tsc);
            break;
          case 2:
            trace.Stop(tsc, kCode + 3);
            break;
          case 3:
            trace.PsbOn(below(4) == 0 ? below(2000) + 1 : tsc, kCode);
            break;
          default:
            trace.Run(tsc, tsc + 10);
        }
      }
      AddStream(round % 5 == 4 ? -1 : cpu, round % 5 == 4 ? 7 + cpu : -1, trace);
    }
    uint64_t time = 100;
    for (int i = 0; i < 40; ++i) {
      time += below(60);
      const int32_t tid = static_cast<int32_t>(below(4)) + 6 * (below(8) != 0);
      const int32_t cpu = static_cast<int32_t>(below(2));
      switch (below(8)) {
        case 0:
          Fork(time, tid, 7);
          break;
        case 1:
          if (below(4) == 0) Exit(time, tid);
          break;
        case 2:
          if (below(4) == 0) Started(time, tid);
          break;
        case 3:
        case 4:
          Out(time, tid, cpu);
          break;
        default:
          In(time, tid, cpu);
      }
    }
    ASSERT_NO_FATAL_FAILURE(Account());
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

}  // namespace
}  // namespace flowback
