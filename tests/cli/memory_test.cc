// SPDX-License-Identifier: MIT
// `branches --mem`: of samples beside a trace, against perf's own reading of the same file, and of
// those in a trace.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "decode/pt/packets/packet_writer.h"
#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/samples/access_file.h"
#include "tests/support/elf_writer.h"
#include "tests/support/host.h"
#include "tests/support/random.h"

namespace flowback::test {
namespace {

using nlohmann::json;
using support::AccessFile;
using support::DataSourceWord;
using support::WrittenAccess;

// A counter that two threads change, a word beside it that one reads, and far data.
constexpr DataSourceWord kLoad{.op = 2, .levels = 2 | 8, .tlb = 0xa, .number = 1};
constexpr DataSourceWord kStore{.op = 4, .levels = 2 | 8, .tlb = 0xa, .number = 1};
constexpr DataSourceWord kModified{
    .op = 2, .levels = 2 | 0x40, .snoop = 0x10, .tlb = 0xa, .number = 3};
constexpr DataSourceWord kFar{
    .op = 2, .levels = 2 | 0x100, .tlb = 0x14, .number = 0xd, .remote = 1};

AccessFile Sharing() {
  AccessFile file;
  uint64_t time = 100;
  const auto add = [&](uint64_t count, WrittenAccess access, const DataSourceWord& source) {
    access.data_source = source.word();
    for (; count > 0; --count) {
      access.time = ++time;
      file.Add(access);
    }
  };
  add(30, {.ip = 0x401000, .address = 0x7040, .tid = 43}, kStore);
  add(20, {.ip = 0x401008, .address = 0x7048, .tid = 44, .weight = 90}, kModified);
  add(5, {.ip = 0x401008, .address = 0x7048, .tid = 44, .weight = 4, .exact = false}, kLoad);
  add(60, {.ip = 0x402000, .address = 0x9000, .tid = 43, .weight = 400}, kFar);
  return file;
}

class Memory : public ::testing::Test {
 protected:
  std::string Write(const std::vector<uint8_t>& bytes) const {
    return folder_.Write("perf.data", std::string(bytes.begin(), bytes.end()));
  }
  ProgramResult Run(const std::vector<uint8_t>& bytes, std::vector<std::string> words = {}) const {
    words.insert(words.begin(), {"branches", "--mem", Write(bytes)});
    return RunFlowback(words);
  }
  // The lines of a type, and the header as the first.
  static std::vector<json> Objects(const ProgramResult& result, const std::string& type) {
    EXPECT_EQ(result.status, 0) << result.err;
    std::vector<json> objects;
    for (const std::string& line : Lines(result.out)) {
      json object = json::parse(line);
      if (object.contains("schema") || object.at("type") == type)
        objects.push_back(std::move(object));
    }
    return objects;
  }

  ScratchFolder folder_;
};

TEST_F(Memory, TellsWhoSharesALine) {
  const ProgramResult result = Run(Sharing().Build());
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<std::string> lines = Lines(result.out);
  ASSERT_GT(lines.size(), 6u);
  EXPECT_EQ(lines[0],
            "The hottest cache line that several threads touch is 7040 of process 42: 25 loads and "
            "30 stores by 2 threads in the samples, 20 of which found it changed in another "
            "cache.");
  EXPECT_EQ(lines[1],
            "No two threads were sampled at one place of it: they share the line, it "
            "seems, and no data.");
  EXPECT_EQ(lines[2], "Most sampled accesses are made by 0x402000: 60 of 115.");
  EXPECT_TRUE(lines[3].starts_with("Longest in all was waited for data at 0x402000: 93.0% "))
      << lines[3];
  EXPECT_TRUE(
      lines[4].starts_with("Among 115 sampled accesses 5 do not name their instruction "
                           "exactly (skid)"))
      << lines[4];
  EXPECT_EQ(lines[5], "These are samples: of accesses between them nothing is known.");
  EXPECT_TRUE(result.out.contains("+0  30 stores by thread 43: 0x401000")) << result.out;
  EXPECT_TRUE(result.out.contains("+8  25 loads by thread 44: 0x401008")) << result.out;
  EXPECT_TRUE(result.out.contains("RAM 60")) << result.out;
}

TEST_F(Memory, AsJson) {
  const ProgramResult result = Run(Sharing().Build(), {"--json"});
  const std::vector<json> lines = Objects(result, "line");
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].at("schema"), "flowback.memory/1");
  EXPECT_EQ(lines[0].at("samples"), true);
  EXPECT_EQ(lines[0].at("accesses"), 115);
  EXPECT_EQ(lines[0].at("inexact"), 5);
  EXPECT_EQ(lines[1].at("address"), "9000");
  EXPECT_EQ(lines[1].at("remote"), 60);
  EXPECT_EQ(lines[1].at("threads"), 1);
  EXPECT_EQ(lines[2].at("pid"), 42);
  EXPECT_EQ(lines[2].at("modified"), 20);
  EXPECT_EQ(lines[2].at("remote_modified"), 0);
  EXPECT_EQ(lines[2].at("apart"), true);
  EXPECT_EQ(lines[2].at("uses").size(), 2u);
  EXPECT_EQ(lines[2].at("uses")[0].at("tids"), json::array({43}));
  const std::vector<json> code = Objects(result, "instruction");
  ASSERT_EQ(code.size(), 4u);
  EXPECT_EQ(code[1].at("ip"), "402000");
  EXPECT_EQ(code[1].at("latency").at("p50"), 400);
  EXPECT_EQ(code[1].at("levels"), json({{"RAM", 60}}));
}

TEST_F(Memory, OfChosenThreadsAndRows) {
  const ProgramResult one = Run(Sharing().Build(), {"--tid", "44"});
  EXPECT_TRUE(one.out.starts_with("No cache line was sampled with more than one thread at it."))
      << one.out << one.err;
  EXPECT_FALSE(one.out.contains("402000"));
  const ProgramResult rows = Run(Sharing().Build(), {"--top", "1"});
  EXPECT_TRUE(rows.out.contains("9000 of process 42"));
  EXPECT_FALSE(rows.out.substr(rows.out.find("\ninstructions\n")).contains("0x401000"));
}

TEST_F(Memory, WithoutAccessesIsAnError) {
  AccessFile file;
  file.Add({.ip = 0x401000, .address = 0});
  const ProgramResult none = Run(file.Build());
  EXPECT_EQ(none.status, 1);
  EXPECT_TRUE(none.err.contains("no sampled access to memory in this recording")) << none.err;
  EXPECT_TRUE(none.err.contains("cpu/mem-loads,ldlat=30/P")) << none.err;
  EXPECT_TRUE(none.err.contains("ibs_op")) << none.err;
  const ProgramResult both = Run(Sharing().Build(), {"--annotate", "main"});
  EXPECT_EQ(both.status, 2);
  const ProgramResult far = Run(Sharing().Build(), {"--tid", "99"});
  EXPECT_EQ(far.status, 1) << far.out;
  EXPECT_TRUE(far.err.contains("by the chosen threads")) << far.err;
}

TEST_F(Memory, InfoCountsThem) {
  const ProgramResult info = RunFlowback({"info", Write(Sharing().Build())});
  EXPECT_TRUE(info.out.contains("115 SAMPLE with memory access")) << info.out << info.err;
}

// Words at random: perf's text of each says what our sums say.
TEST_F(Memory, AsPerfReadsIt) {
  FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerf);
  testing::Random random(11);
  AccessFile file(perf::kSampleWeight, 0, false);
  constexpr uint64_t kLevels[] = {2 | 8, 2 | 0x10, 2 | 0x20, 2 | 0x40, 2 | 0x80};
  constexpr uint64_t kNumbers[] = {1, 0xc, 2, 3, 0xd};
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t level = random.Below(5);
    const bool remote = random.Chance(200);
    const DataSourceWord source{.op = random.Chance(300) ? 4u : 2u,
                                .levels = kLevels[level],
                                .snoop = random.Chance(300) ? 0x10u : 2u,
                                .lock = random.Chance(100) ? 2u : 1u,
                                .tlb = random.Chance(100) ? 0x14u : 0xau,
                                .number = kNumbers[level],
                                .remote = remote};
    file.Add({.ip = 0x401000 + random.Below(20),
              .address = 0x7000 + random.Below(1000),
              .time = 100 + i,
              .tid = static_cast<int32_t>(42 + random.Below(3)),
              .weight = random.Between(1, 500),
              .data_source = source.word()});
  }
  const ProgramResult ours = Run(file.Build(), {"--json"});
  // ADDR |OP ...|LVL ...|SNP ...|...  WEIGHT  IP
  struct Sums {
    uint64_t samples = 0, loads = 0, stores = 0, modified = 0, remote = 0, latency = 0;
    bool operator==(const Sums&) const = default;
  };
  std::map<uint64_t, Sums> by_ip, by_line;
  const ProgramResult perf =
      RunShell(folder_, "perf script -i perf.data -F addr,data_src,weight,ip 2>/dev/null");
  for (const std::string& line : Lines(perf.out)) {
    const std::vector<std::string> words = Words(line);
    ASSERT_GT(words.size(), 5u) << line;
    const uint64_t address = std::stoull(words.front(), nullptr, 16);
    const uint64_t ip = std::stoull(words.back(), nullptr, 16);
    const uint64_t weight = std::stoull(words[words.size() - 2]);
    for (Sums* sums : {&by_ip[ip], &by_line[address & ~uint64_t{63}]}) {
      ++sums->samples;
      sums->loads += line.contains("|OP LOAD|");
      sums->stores += line.contains("|OP STORE|");
      sums->modified += line.contains("|SNP HitM|");
      sums->remote += line.contains("|LVL Remote ");
      sums->latency += weight;
    }
  }
  ASSERT_FALSE(by_ip.empty()) << perf.err;
  for (const auto& [type, key, truth] :
       {std::tuple("instruction", "ip", &by_ip), std::tuple("line", "address", &by_line)}) {
    std::map<uint64_t, Sums> told;
    std::vector<json> objects = Objects(ours, type);
    for (size_t i = 1; i < objects.size(); ++i) {
      const json& of = objects[i];
      told[std::stoull(of.at(key).get<std::string>(), nullptr, 16)] = {
          of.at("samples"),  of.at("loads"),  of.at("stores"),
          of.at("modified"), of.at("remote"), of.at("latency").at("sum")};
    }
    EXPECT_TRUE(told == *truth) << type << '\n' << ours.out << perf.out;
  }
}

// Registers of IBS at random: perf -D names each field that ours are made of.
TEST_F(Memory, IbsAsPerfReadsIt) {
  FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerf);
  testing::Random random(12);
  AccessFile file;
  file.TellAmd("AuthenticAMD,25,97,2");
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t data3 = random.Next() | 3 << 17;  // with both addresses
    file.AddIbs(AccessFile::kOpId, 1, 100 + i, 0xbff,
                {1 << 17 | 1 << 18, 0x401000 + random.Below(8), random.Below(1 << 20),
                 random.Below(8), data3, 0x7000 + random.Below(500), 0x99000, 0x401000});
  }
  const ProgramResult ours = Run(file.Build(), {"--json"});
  const ProgramResult perf = RunShell(folder_, "perf script -D -i perf.data 2>/dev/null");
  std::map<uint64_t, std::array<uint64_t, 3>> truth;  // by line: accesses, loads, stores
  uint64_t loads = 0, stores = 0, latencies = 0;
  bool is_load = false, is_store = false;
  const auto value = [](const std::string& line, const std::string& word) {
    const size_t at = line.find(word + ' ');
    return at == std::string::npos ? ~uint64_t{0} : std::stoull(line.substr(at + word.size()));
  };
  for (const std::string& line : Lines(perf.out)) {
    if (line.starts_with("ibs_op_data3:")) {
      is_load = value(line, "LdOp") == 1;
      is_store = value(line, "StOp") == 1;
      if (is_load && value(line, "DcMiss") == 1) latencies += value(line, "DcMissLat");
    }
    if (!line.starts_with("IbsDCLinAd:") || (!is_load && !is_store)) continue;
    auto& sums = truth[std::stoull(Words(line).back().substr(11), nullptr, 16) & ~uint64_t{63}];
    ++sums[0];
    sums[1] += is_load;
    sums[2] += is_store;
    loads += is_load;
    stores += is_store;
  }
  ASSERT_GT(loads, 20u) << perf.err;
  ASSERT_GT(stores, 20u);
  std::map<uint64_t, std::array<uint64_t, 3>> told;
  uint64_t told_latencies = 0;
  std::vector<json> lines = Objects(ours, "line");
  for (size_t i = 1; i < lines.size(); ++i) {
    told[std::stoull(lines[i].at("address").get<std::string>(), nullptr, 16)] = {
        lines[i].at("samples"), lines[i].at("loads"), lines[i].at("stores")};
    if (!lines[i].at("latency").is_null())
      told_latencies += lines[i].at("latency").at("sum").get<uint64_t>();
  }
  EXPECT_TRUE(told == truth) << ours.out;
  EXPECT_EQ(told_latencies, latencies);
}

// perf makes samples of those in the trace where an event is there that they may be of: each is at
// the same time, with the same registers.
TEST_F(Memory, SamplesOfATraceAsPerfReadsThem) {
  FLOWBACK_NEEDS_TRACES();
  FLOWBACK_NEEDS_HOST(flowback::host::Trait::kPerf);
  const std::string generated = golden::TracesFolder() / "generated";
  std::string file = ReadFile(generated + "/vcalls-pebs/perf.data");
  const auto word_at = [&file](size_t at) {
    uint64_t word = 0;
    std::memcpy(&word, file.data() + at, sizeof(word));
    return word;
  };
  const auto set_bits = [&](size_t at, uint64_t bits) {
    const uint64_t word = word_at(at) | bits;
    std::memcpy(file.data() + at, &word, sizeof(word));
  };
  const size_t second = word_at(24) + word_at(16);  // the dummy event's attribute
  set_bits(second + 24, perf::kSampleRegsIntr);
  set_bits(second + 40, uint64_t{1} << 31);  // aux_output
  set_bits(second + perf::kRegsIntrAt, 0xff03ff);
  folder_.Write("perf.data", file);
  const ProgramResult theirs =
      RunShell(folder_, "perf script --ns --itrace=o -i perf.data --symfs " + generated +
                            "/images -F time,ip,iregs 2>/dev/null");
  const ProgramResult ours =
      RunFlowback({"decode", "--as", "samples", "--json", "-F", "time", "--symfs",
                   generated + "/images", generated + "/vcalls-pebs/perf.data"});
  std::vector<std::map<std::string, std::string>> told, read;
  for (const std::string& line : Lines(ours.out)) {
    const json sample = json::parse(line);
    if (!sample.contains("ip")) continue;
    EXPECT_EQ(sample.at("place"), "exact");
    auto& fields = told.emplace_back();
    fields["time"] = std::to_string(sample.at("time").get<uint64_t>());
    for (const auto& [name, value] : sample.at("registers").items()) fields[name] = value;
  }
  // SECONDS.NANOSECONDS: ABI:2 AX:0x1 ...; perf 6.1 prints no instruction of these.
  for (const std::string& line : Lines(theirs.out)) {
    const std::vector<std::string> words = Words(line);
    ASSERT_GT(words.size(), 4u) << line;
    auto& fields = read.emplace_back();
    for (const char c : words[0])
      if (std::isdigit(static_cast<unsigned char>(c))) fields["time"] += c;
    for (size_t i = 2; i < words.size(); ++i) {
      const size_t colon = words[i].find(":0x");
      ASSERT_NE(colon, std::string::npos) << words[i];
      std::string name = words[i].substr(0, colon);
      for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
      fields[name] = words[i].substr(colon + 3);
    }
  }
  ASSERT_EQ(told.size(), 2276u) << ours.err;
  ASSERT_EQ(read.size(), told.size());
  for (size_t i = 0; i < told.size(); ++i) ASSERT_EQ(told[i], read[i]) << i;
}

// A sample is several events, and segments end between any two.
TEST_F(Memory, SamplesAreTheSameInSegments) {
  FLOWBACK_NEEDS_TRACES();
  const std::string generated = golden::TracesFolder() / "generated";
  const auto listed = [&generated](const std::string& threads, const std::string& window) {
    return RunFlowback({"decode", "--as", "samples", "--threads", threads, "--window", window,
                        "--no-cache", "--symfs", generated + "/images",
                        generated + "/vcalls-pebs/perf.data"});
  };
  const std::string one = listed("1", "1").out;
  const std::vector<std::string> lines = Lines(one);
  EXPECT_EQ(std::ranges::count_if(
                lines, [](const std::string& line) { return line.contains(" place=exact "); }),
            2276);
  EXPECT_FALSE(one.contains(" cut"));
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(listed("2", "2").out, one);
    EXPECT_EQ(listed("7", "16").out, one);
  }
}

// Three NOPs and a system call, and in the middle a sample with the data that the NOP before it
// would have accessed. `narrow`: items of four bytes.
std::vector<uint8_t> TraceOf(uint64_t address, uint64_t latency, bool narrow) {
  constexpr uint64_t kCode = 0x401000;
  pt::PacketWriter trace;
  trace.Psb();
  trace.Write(pt::Tsc{.tsc = 1000});
  trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
  trace.Write(pt::PsbEnd{});
  trace.TipPge(kCode);
  const auto group = [&](uint8_t type, std::initializer_list<uint64_t> items) {
    trace.Write(pt::Bbp{.type = type, .four_byte = narrow});
    uint8_t id = 0;
    for (const uint64_t item : items)
      trace.Write(pt::Bip{.id = id++, .payload = item, .bytes = uint8_t(narrow ? 4 : 8)});
  };
  group(4, {kCode + 1, 2, 1500});
  group(5, {address, 0x21, latency});
  trace.Write(pt::Bep{.ip = true});
  trace.Fup(kCode + 1);
  trace.TipPgd(std::nullopt);
  return trace.Take();
}

TEST_F(Memory, OfGroupsInATrace) {
  ElfSpec spec;
  spec.segments = {{.address = 0x401000, .bytes = {0x90, 0x90, 0x90, 0x0f, 0x05}}};
  const auto text = [](const std::vector<uint8_t>& bytes) {
    return std::string(bytes.begin(), bytes.end());
  };
  const std::string image = folder_.Write("image", text(WriteElf(spec).bytes));
  const std::vector<std::string> input = {
      "--raw-pt", folder_.Write("a", text(TraceOf(0x7000, uint64_t{80} << 32 | 90, false))),
      "--raw-pt", folder_.Write("b", text(TraceOf(0x7008, 300, true))),
      "--image",  image};
  const auto run = [&input](std::vector<std::string> words) {
    words.insert(words.end(), input.begin(), input.end());
    return RunFlowback(words);
  };
  const ProgramResult ours = run({"branches", "--mem", "--json"});
  const std::vector<json> code = Objects(ours, "instruction");
  ASSERT_EQ(code.size(), 2u) << ours.out;
  EXPECT_EQ(code[0].at("accesses"), 2);
  EXPECT_EQ(code[0].at("cut"), 0);
  EXPECT_EQ(code[0].at("unread"), 0);
  EXPECT_EQ(code[1].at("ip"), "401001");
  EXPECT_EQ(code[1].at("inexact"), 0);
  EXPECT_EQ(code[1].at("latency").at("sum"), 380);
  const std::vector<json> lines = Objects(ours, "line");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].at("address"), "7000");
  const ProgramResult listed = run({"decode", "--as", "samples"});
  EXPECT_TRUE(
      listed.out.contains("sample ip=401001 place=exact counters=2 address=7000 "
                          "latency=80 instruction-latency=90 code=21\n"))
      << listed.out << listed.err;
  EXPECT_TRUE(listed.out.contains("address=7008 latency=300 code=21\n")) << listed.out;
}

// Samples in a trace that name no data: said, not made up.
TEST_F(Memory, OfATraceWhoseSamplesTellNoData) {
  FLOWBACK_NEEDS_TRACES();
  const std::string generated = golden::TracesFolder() / "generated";
  const ProgramResult result = RunFlowback({"branches", "--mem", "--symfs", generated + "/images",
                                            generated + "/vcalls-pebs/perf.data"});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(result.err.contains("none of its 2276 samples has an address")) << result.err;
}

}  // namespace
}  // namespace flowback::test
