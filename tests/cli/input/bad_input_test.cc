// SPDX-License-Identifier: MIT
// Bad input: a message with file, place and remedy, the documented status, and no crash, hang or
// unbounded memory. What could be decoded is kept.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "decode/pt/packets/packet_writer.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/elf_writer.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

constexpr size_t kEnoughMemory = 2048;  // MiB of address space

ProgramResult TryIt(const std::vector<std::string>& words) {
  const ProgramResult result =
      RunFlowback(words, {.close_output_after = 0, .memory_mib = kEnoughMemory, .folder = {}});
  EXPECT_FALSE(result.timed_out);
  EXPECT_GE(result.status, 0) << "ended by a signal: " << result.err;
  return result;
}

// `flowback: ...FILE...` and a line with the remedy.
void ExpectMessage(const ProgramResult& result, const std::string& file, int status) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_TRUE(result.err.starts_with("flowback: ")) << result.err;
  EXPECT_TRUE(result.err.contains(file)) << result.err;
  EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
}

// Build-ids of two of the generated recordings' programs.
constexpr char kHello[] = "6a81eab040093625a17e226a3929bdc9cea4c408";
constexpr char kTraps[] = "901127fa94823d18bbff4fde6b7968ceea227726";

std::string Text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

class BadInput : public ::testing::Test {
 protected:
  std::string ControlFlow() const {
    return ReadFile(Traces("hase-2018-04-04/control_flow-20180404T163033.perf"));
  }
  std::vector<std::string> WithImage(std::vector<std::string> words) const {
    words.insert(words.end(), {"--image", Traces("hase-2018-04-04/control_flow")});
    return words;
  }

  ScratchFolder folder_;
};

TEST_F(BadInput, NotARecording) {
  const std::string file = folder_.Write("notes.txt", std::string(4000, 'x') + "\n");
  for (const char* command : {"info", "decode"}) ExpectMessage(TryIt({command, file}), file, 8);
}

TEST_F(BadInput, EmptyFile) {
  const std::string file = folder_.Write("empty", "");
  for (const char* command : {"info", "decode"}) ExpectMessage(TryIt({command, file}), file, 8);
  ExpectMessage(TryIt({"decode", "--raw-pt", file, "--image", ProgramFile()}), file, 8);
}

TEST_F(BadInput, Directory) {
  ExpectMessage(TryIt({"decode", folder_.path()}), folder_.path(), 8);
  ExpectMessage(TryIt({"decode", "--raw-pt", folder_.path()}), folder_.path(), 8);
}

TEST_F(BadInput, MissingFile) {
  const std::string file = folder_.File("nothing");
  ExpectMessage(TryIt({"decode", file}), file, 8);
  ExpectMessage(TryIt({"decode", "--raw-pt", file}), file, 8);
}

TEST_F(BadInput, UnreadableFile) {
  const std::string file = folder_.Write("secret", std::string(4000, 'x'));
  std::filesystem::permissions(file, std::filesystem::perms::none);
  const ProgramResult result =
      RunFlowback({"info", file}, {.obey_permissions = true, .folder = {}});
  ExpectMessage(result, file, 8);
  EXPECT_TRUE(result.err.contains("Permission denied")) << result.err;
}

// An image is an input like the recording, and a message about it is about it alone.
TEST_F(BadInput, UnreadableImage) {
  const std::string trace = folder_.Write("trace", std::string(64, '\0'));
  const std::string image = folder_.Write("secret", std::string(4000, 'x'));
  std::filesystem::permissions(image, std::filesystem::perms::none);
  for (const char* command : {"info", "decode"}) {
    const ProgramResult result =
        RunFlowback({command, "--raw-pt", trace, "--image", image}, {.obey_permissions = true});
    ExpectMessage(result, image, 8);
    EXPECT_TRUE(result.err.contains("sudo")) << result.err;
    EXPECT_FALSE(result.err.contains(trace)) << result.err;
  }
}

TEST_F(BadInput, ImageThatIsNone) {
  const std::string trace = folder_.Write("trace", std::string(64, '\0'));
  const std::string image = folder_.Write("image", std::string(4000, 'x'));
  for (const char* command : {"info", "decode"}) {
    const ProgramResult result = TryIt({command, "--raw-pt", trace, "--image", image});
    ExpectMessage(result, image, 8);
    EXPECT_FALSE(result.err.contains(trace)) << result.err;
  }
}

// Its size is 0, but nothing killed a recorder.
TEST_F(BadInput, FileOfTheKernel) {
  const ProgramResult result = TryIt({"info", "/proc/self/mem"});
  ExpectMessage(result, "/proc/self/mem: is no ordinary file", 8);
  EXPECT_FALSE(result.err.contains("killed")) << result.err;
}

TEST_F(BadInput, OutputThatCannotBeWritten) {
  const std::string trace = folder_.Write("trace", std::string(64, '\0'));
  for (const std::string& output :
       {folder_.File("none/x"), folder_.path(), std::string("/dev/full")})
    ExpectMessage(TryIt({"info", "--raw-pt", trace, "-o", output}), output, 1);
}

TEST_F(BadInput, CutInsideTheHeader) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = folder_.Write("cut", ControlFlow().substr(0, 50));
  ExpectMessage(TryIt({"info", file}), file, 8);
  ExpectMessage(TryIt({"decode", file}), file, 8);
}

// The AUX data lies behind the cut: nothing is left to decode, and a message says so.
TEST_F(BadInput, CutInsideARecord) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = folder_.Write("cut", ControlFlow().substr(0, 0x1262));
  const ProgramResult info = TryIt({"info", file});
  EXPECT_TRUE(info.status == 0 || info.status == 8) << info.err;
  const std::string said = info.out + info.err;
  EXPECT_TRUE(said.contains("cut") || said.contains("ends")) << said;
  const ProgramResult decoded = TryIt({"decode", file});
  ExpectMessage(decoded, file, 8);
  EXPECT_TRUE(decoded.err.contains("the file is cut before its branch trace")) << decoded.err;
  EXPECT_TRUE(decoded.err.contains("cut at offset 0x1262")) << decoded.err;
  EXPECT_FALSE(decoded.err.contains("perf record -e")) << decoded.err;
}

// Half of the AUX data is there: its flow is printed, the rest is reported.
TEST_F(BadInput, CutInsideTheAuxData) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = folder_.Write("cut", ControlFlow().substr(0, 0x1ad8 + 0x30 + 0x261));
  const ProgramResult decoded = TryIt(WithImage({"decode", "-F", "ip", file}));
  EXPECT_EQ(decoded.status, 0) << decoded.err;
  EXPECT_TRUE(decoded.err.contains(file)) << decoded.err;
  const std::vector<std::string> lines = Lines(decoded.out);
  EXPECT_GT(lines.size(), 100u);
  EXPECT_LT(lines.size(), 1092u);
  EXPECT_EQ(TryIt(WithImage({"decode", "--as", "digest", "--strict", file})).status, 6);
  const ProgramResult whole = TryIt(WithImage(
      {"decode", "-F", "ip", Traces("hase-2018-04-04/control_flow-20180404T163033.perf")}));
  const std::vector<std::string> all = Lines(whole.out);
  EXPECT_TRUE(std::equal(lines.begin(), lines.end(), all.begin()))
      << "not a beginning of the whole";
}

// The size of the AUX data says more than the file holds.
TEST_F(BadInput, SizesThatLie) {
  FLOWBACK_NEEDS_TRACES();
  for (const size_t at : {size_t{0x1ad8 + 8}, size_t{0x1ad8 + 6}, size_t{24 + 16}, size_t{40}}) {
    std::string bytes = ControlFlow();
    bytes.replace(at, 2, "\xff\xff");
    const std::string file = folder_.Write("lies", bytes);
    const ProgramResult result = TryIt(WithImage({"decode", "--as", "digest", file}));
    EXPECT_TRUE(result.status == 0 || result.err.contains(file)) << result.err;
    EXPECT_FALSE(result.err.contains("fault in flowback")) << result.err;
  }
}

// A real recording whose records contradict each other: the flow is all there, and the message says
// which record is damaged, and where.
TEST_F(BadInput, AuxRecordsThatLie) {
  FLOWBACK_NEEDS_TRACES();
  struct Lie {
    size_t at;
    uint64_t value;
    const char* says;
  };
  constexpr uint64_t kOne = 1;
  for (const Lie& lie :
       {Lie{0x2b80, kOne << 40, "the AUXTRACE record at offset 0x2b70 is damaged"},
        Lie{0x29d8, kOne << 50, "the AUX record at offset 0x29d0 is damaged"},
        Lie{0x2b78, kOne << 62, "the size in the AUXTRACE record at offset 0x2b70 is damaged"}}) {
    std::string bytes = ReadFile(Traces("hase-2018-04-04/loopy-20180404T162955.perf"));
    for (size_t i = 0; i < 8; ++i) bytes[lie.at + i] = static_cast<char>(lie.value >> (8 * i));
    const std::string file = folder_.Write("lies", bytes);
    const ProgramResult result =
        TryIt({"decode", "--as", "digest", "--image", Traces("hase-2018-04-04/loopy"), file});
    ExpectMessage(result, file, 0);
    EXPECT_EQ(result.out, "19233 57 58ca80eae7b4f27d\n");
    EXPECT_TRUE(result.err.contains(lie.says)) << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: copy the file again")) << result.err;
    EXPECT_FALSE(result.err.contains("lost ")) << result.err;
    const ProgramResult info = TryIt({"info", file});
    EXPECT_TRUE(info.out.contains("\n    try: copy the file again")) << info.out;
  }
}

// Ten of the features of a recording that is cut behind its data are one line.
TEST_F(BadInput, CutFeaturesAreOneLine) {
  FLOWBACK_NEEDS_TRACES();
  const std::string bytes = ReadFile(Traces("hase-2018-04-04/loopy-20180404T162955.perf"));
  const std::string file = folder_.Write("cut", bytes.substr(0, 0x3a00));
  const ProgramResult result =
      TryIt({"decode", "--as", "digest", "--image", Traces("hase-2018-04-04/loopy"), file});
  ExpectMessage(result, file, 0);
  EXPECT_EQ(result.out, "19233 57 58ca80eae7b4f27d\n");
  EXPECT_TRUE(result.err.contains("of the header's features 10 are cut")) << result.err;
  EXPECT_EQ(Lines(result.err).size(), 2u) << result.err;
}

TEST_F(BadInput, NoBranchTrace) {
  support::PerfDataBuilder builder = support::PerfDataBuilder::WithIntelPt();
  builder.Comm(100, 100, "quiet", true, {.time = 1, .pid = 100, .tid = 100, .cpu = 0, .id = 102});
  const std::string file = folder_.Write("perf.data", Text(builder.Build()));
  const ProgramResult decoded = TryIt({"decode", file});
  ExpectMessage(decoded, file, 1);
  EXPECT_TRUE(decoded.err.contains("no branch trace")) << decoded.err;
  const ProgramResult info = TryIt({"info", file});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_TRUE(info.out.contains("none in this recording")) << info.out;
  EXPECT_TRUE(info.out.contains("flowback record")) << info.out;
}

// Nothing is decoded, so images of other builds are no one's worry; the list of images has them.
TEST_F(BadInput, NoBranchTraceNeedsNoImages) {
  support::PerfDataBuilder file;
  file.AddEvent({1, 0, support::PerfDataBuilder::kUsualSampleType, true, {100}});
  file.Mmap2(42, 0x400000, 0x1000, 0, "/no/such/program", {1000, 42, 42, 1, 100});
  const ProgramResult info = TryIt({"info", folder_.Write("perf.data", Text(file.Build()))});
  EXPECT_EQ(info.status, 0);
  EXPECT_EQ(info.err, "");
  EXPECT_TRUE(info.out.contains("none in this recording")) << info.out;
  EXPECT_TRUE(info.out.contains("\nimages\n")) << info.out;
}

// What Debian's perf records without the hardware.
TEST_F(BadInput, PerfRecordingWithoutBranchTrace) {
  const std::string file = folder_.File("perf.data");
  const std::string command = "perf record -N -e cpu-clock -o " + file + " true >/dev/null 2>&1";
  if (std::system(command.c_str()) != 0) GTEST_SKIP() << "perf can't record here";
  const ProgramResult decoded = TryIt({"decode", file});
  ExpectMessage(decoded, file, 1);
  EXPECT_TRUE(decoded.err.contains("no branch trace")) << decoded.err;
  EXPECT_TRUE(decoded.err.contains("flowback record")) << decoded.err;
  const ProgramResult info = TryIt({"info", file});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_TRUE(info.out.contains("none in this recording")) << info.out;
  EXPECT_TRUE(info.out.contains("1 FINISHED_INIT")) << info.out;
  EXPECT_FALSE(info.out.contains("damage:")) << info.out;
}

// The same in perf's other ways to record.
TEST_F(BadInput, OtherPerfRecordingsWithoutBranchTrace) {
  const std::string file = folder_.File("perf.data");
  for (const std::string& how : {"--per-thread -o " + file, "-a -o " + file, "-z -o " + file,
                                 "-k CLOCK_MONOTONIC -o " + file, "-o - >" + file}) {
    const std::string command = "(perf record -N -e cpu-clock " + how + " -- true) >/dev/null 2>&1";
    if (std::system(command.c_str()) != 0) GTEST_SKIP() << "perf can't record here: " << how;
    const ProgramResult decoded = TryIt({"decode", file});
    ExpectMessage(decoded, file, 1);
    EXPECT_TRUE(decoded.err.contains("no branch trace")) << how << decoded.err;
    const ProgramResult info = TryIt({"info", file});
    EXPECT_EQ(info.status, 0) << info.err;
    EXPECT_TRUE(info.out.contains("none in this recording")) << how << info.out;
    EXPECT_FALSE(info.out.contains("damage:")) << how << info.out;
  }
}

TEST_F(BadInput, SectionLongerThanItsFile) {
  const std::string code = folder_.Write("code", std::string(100, '\x90'));
  const std::string trace = folder_.Write("trace", std::string(64, '\0'));
  const ProgramResult result =
      TryIt({"decode", "--raw-pt", trace, "--section", code + ":0:0x1000:0x401000"});
  ExpectMessage(result, code, 8);
}

TEST_F(BadInput, StreamWithoutSyncPoint) {
  const std::string trace = folder_.Write("trace", std::string(256, '\x06'));
  const std::vector<std::string> words = {"decode", "--as",    "digest",     "--raw-pt",
                                          trace,    "--image", ProgramFile()};
  const ProgramResult result = TryIt(words);
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.out, "0 0 0000000000000000\n");
  EXPECT_TRUE(result.err.contains("lost 100.0 %")) << result.err;
  EXPECT_TRUE(result.err.contains("no sync point (256 bytes)")) << result.err;
  EXPECT_TRUE(result.err.contains("try: ")) << result.err;
  std::vector<std::string> strict = words;
  strict.push_back("--strict");
  EXPECT_EQ(TryIt(strict).status, 6);
}

// The program is not at its recorded path, which is not on this machine.
TEST_F(BadInput, ImageMissing) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = Traces("hase-2018-04-04/control_flow-20180404T163033.perf");
  const ProgramResult result = TryIt({"decode", "--as", "digest", file});
  EXPECT_EQ(result.status, 0);
  EXPECT_TRUE(result.err.contains("no code image")) << result.err;
  EXPECT_TRUE(result.err.contains("--symfs")) << result.err;
  EXPECT_EQ(TryIt({"decode", "--as", "digest", "--strict", file}).status, 7);
}

// A file of another build lies at the recorded path: it is not used, and both build-ids are named.
TEST_F(BadInput, WrongBuildId) {
  FLOWBACK_NEEDS_TRACES();
  const auto generated = golden::TracesFolder() / "generated";
  const std::string symfs = folder_.File("symfs");
  std::filesystem::copy(generated / "images", symfs, std::filesystem::copy_options::recursive);
  const std::string program = symfs + "/recorded/hello";
  std::filesystem::permissions(program, std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
  std::filesystem::remove(program);
  std::filesystem::copy(generated / "images/recorded/traps", program);
  const std::string file = generated / "hello/perf.data";
  const ProgramResult info = TryIt({"info", "--symfs", symfs, file});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_TRUE(info.out.contains("build-id")) << info.out;
  const ProgramResult digest = TryIt({"decode", "--as", "digest", "--symfs", symfs, file});
  EXPECT_EQ(digest.status, 0);
  EXPECT_TRUE(digest.err.contains("no code image")) << digest.err;
  const ProgramResult named = TryIt(
      {"decode", "--as", "digest", "--symfs", symfs, "--image", symfs + "/recorded/hello", file});
  for (const ProgramResult& result : {digest, info, named}) {
    EXPECT_TRUE(result.err.contains(program)) << result.err;
    EXPECT_TRUE(result.err.contains(kTraps)) << result.err;
    EXPECT_TRUE(result.err.contains(kHello)) << result.err;
    EXPECT_TRUE(result.err.contains(std::string("debuginfod-find executable ") + kHello))
        << result.err;
    const size_t first = result.err.find("not used");
    EXPECT_EQ(result.err.find("not used", first + 1), std::string::npos) << result.err;
  }
  EXPECT_EQ(TryIt({"decode", "--as", "digest", "--strict", "--symfs", symfs, file}).status, 7);
  // What ran in the right images is still there, but for what the gaps hide.
  const ProgramResult listed = TryIt({"decode", "-F", "ip,dso", "--symfs", symfs, file});
  size_t in_libraries = 0;
  for (const std::string& line : Lines(listed.out)) {
    EXPECT_FALSE(line.ends_with("/recorded/hello")) << line;
    in_libraries += line.contains(".so.");
  }
  EXPECT_GT(in_libraries, 112000u);
  EXPECT_LE(in_libraries, 112829u);
}

// A conditional jump, and a trace that says the code is 32-bit while the image is 64-bit.
TEST_F(BadInput, ThirtyTwoBitTraceOnASixtyFourBitImage) {
  pt::PacketWriter writer({.long_tnt = false});
  writer.Psb();
  writer.Write(pt::ModeExec{.cs_l = false, .cs_d = true, .iflag = false});
  writer.Fup(0x401000);
  writer.Write(pt::PsbEnd{});
  writer.TntBit(true);
  writer.TipPgd(std::nullopt);
  const std::string trace = folder_.Write("trace", Text(writer.Take()));
  ElfSpec spec;
  // inc rax; jne: in 32-bit mode the REX prefix is a DEC EAX of its own.
  spec.segments = {{.address = 0x401000, .bytes = {0x48, 0xff, 0xc0, 0x75, 0xfb, 0x0f, 0x05}}};
  const std::string image = folder_.Write("image", Text(WriteElf(spec).bytes));
  const ProgramResult result =
      TryIt({"decode", "--as", "digest", "--raw-pt", trace, "--image", image});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.err.contains("trace says 32-bit code, " + image + " is a 64-bit image"))
      << result.err;
  const ProgramResult info = TryIt({"info", "--raw-pt", trace, "--image", image});
  EXPECT_TRUE(info.err.contains("trace says 32-bit code")) << info.err;
}

TEST_F(BadInput, FlippedBitsNeverCrash) {
  FLOWBACK_NEEDS_TRACES();
  const std::string whole = ReadFile(Traces("dynamorio-v3_static_820k_sb/pt.bin"));
  std::mt19937 random(20261120);
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    const int flips = 1 << (round % 6);
    for (int i = 0; i < flips; ++i)
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << (random() % 8));
    const std::string trace = folder_.Write("trace", bytes);
    for (const char* kind : {"summary", "packets"}) {
      const ProgramResult result =
          TryIt({"decode", "--as", kind, "--raw-pt", trace, "--image",
                 Traces("dynamorio-v3_static_820k_sb/hello"), "--cpu", "6/85/4"});
      EXPECT_EQ(result.status, 0) << "round " << round << ": " << result.err;
      EXPECT_FALSE(result.out.empty());
    }
  }
}

// Every byte of the perf.data file that is not AUX data, wrong one at a time in steps.
TEST_F(BadInput, FlippedBytesOfPerfDataNeverCrash) {
  FLOWBACK_NEEDS_TRACES();
  const std::string whole = ControlFlow();
  for (size_t at = 0; at < whole.size(); at += 131) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(~bytes[at]);
    const std::string file = folder_.Write("flipped", bytes);
    const ProgramResult result = TryIt(WithImage({"decode", "--as", "digest", file}));
    EXPECT_TRUE(result.status == 0 || result.err.contains(file)) << at << ": " << result.err;
    EXPECT_FALSE(result.err.contains("fault in flowback")) << at << ": " << result.err;
  }
}

struct WrongUse {
  std::string name;
  std::vector<std::string> words;
  std::string says;
  int status = 2;
};

class Usage : public ::testing::TestWithParam<WrongUse> {};

TEST_P(Usage, IsExplained) {
  const ScratchFolder empty;  // with no perf.data in it
  const ProgramResult result = RunFlowback(GetParam().words, {.folder = empty.path()});
  EXPECT_EQ(result.status, GetParam().status) << result.err;
  EXPECT_TRUE(result.err.contains(GetParam().says)) << result.err;
  EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
  EXPECT_EQ(result.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Words, Usage,
    ::testing::Values(
        WrongUse{"command", {"dekode"}, "no command 'dekode'"},
        WrongUse{"help_of_nothing", {"help", "dekode"}, "no command 'dekode'"},
        WrongUse{"option", {"decode", "--no-such-option", "x"}, "--no-such-option"},
        WrongUse{"no_input", {"decode"}, "no input"},
        WrongUse{"two_inputs", {"decode", "a", "-i", "b"}, "two inputs"},
        WrongUse{"kind", {"decode", "--as", "poetry", "x"}, "no kind 'poetry'"},
        WrongUse{"cpu", {"decode", "--cpu", "six", "x"}, "six"},
        WrongUse{"ratio", {"decode", "--tsc-ctc", "200", "x"}, "--tsc-ctc"},
        WrongUse{"mtc", {"decode", "--mtc-freq", "99", "x"}, "--mtc-freq"},
        WrongUse{"resync", {"decode", "--resync", "never", "x"}, "--resync"},
        WrongUse{"libipt_resync",
                 {"decode", "--engine", "libipt", "--resync", "earliest", "x"},
                 "--resync psb"},
        WrongUse{"duration", {"record", "--duration", "0", "--", "true"}, "--duration", 125},
        WrongUse{"max_instructions",
                 {"record", "--max-instructions", "0", "--", "true"},
                 "--max-instructions",
                 125},
        WrongUse{"tid", {"decode", "--tid", "5-2", "x"}, "--tid"},
        WrongUse{"section", {"decode", "--section", "file", "--raw-pt", "x"}, "file"}),
    [](const auto& test) { return test.param.name; });

// These need a recording to come to the mistake.
TEST(UsageOfARecording, IsExplained) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = Traces("hase-2018-04-04/loopy-20180404T162955.perf");
  const std::vector<WrongUse> uses = {
      {"field", {"-F", "colour"}, "no field 'colour'"},
      {"source", {"-F", "source"}, "does not apply"},
      {"srcline_of_branches", {"--as", "branches", "-F", "srcline"}, "does not apply"},
      {"field_of_kind", {"--as", "branches", "-F", "insn"}, "does not apply"},
      {"engine", {"--engine", "steam"}, "steam"},
      {"time", {"--time", "yesterday"}, "--time"},
      {"time_order", {"--time", "20,10"}, "--time"},
  };
  for (const WrongUse& use : uses) {
    std::vector<std::string> words = {"decode", file};
    words.insert(words.end(), use.words.begin(), use.words.end());
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, use.status) << use.name << ": " << result.err;
    EXPECT_TRUE(result.err.contains(use.says)) << use.name << ": " << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << use.name << ": " << result.err;
  }
}

}  // namespace
}  // namespace flowback::test
