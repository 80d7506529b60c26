// SPDX-License-Identifier: MIT
// Kernel code: from a copy of the kernel's memory, with the changes in the records.
#include "decode/code/kernel_code.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "flowback/decode/decoder.h"
#include "flowback/replay/symbolizer.h"
#include "tests/changing_code/recorded_flow.h"
#include "tests/support/core_writer.h"
#include "tests/support/elf_writer.h"

namespace flowback {
namespace {

constexpr uint64_t kText = 0xffffffff81000000;
constexpr uint64_t kModule = 0xffffffffc0100000;
constexpr uint64_t kTrampoline = 0xffffffffc0300000;
constexpr uint64_t kUser = 0x401000;
const std::vector<uint8_t> kNop5 = {0x0f, 0x1f, 0x44, 0x00, 0x00};
const std::vector<uint8_t> kJump = {0xe9, 0x1b, 0x00, 0x00, 0x00};  // to +0x20
const std::vector<uint8_t> kId = {0xaa, 0xbb, 0xcc, 0x01};
const std::vector<uint8_t> kOtherId = {0x11, 0x22, 0x33, 0x44};

// A static key: five bytes of nop or a jump; then jmp rax. At 0x20: nop; jmp rax.
std::vector<uint8_t> TextWith(const std::vector<uint8_t>& key) {
  std::vector<uint8_t> code(0x1000, 0xcc);
  std::memcpy(code.data(), key.data(), key.size());
  const uint8_t jump[] = {0xff, 0xe0};
  const uint8_t target[] = {0x90, 0xff, 0xe0};
  std::memcpy(code.data() + 5, jump, sizeof jump);
  std::memcpy(code.data() + 0x20, target, sizeof target);
  return code;
}

std::vector<uint8_t> Kcore(const std::vector<uint8_t>& text,
                           const std::vector<uint8_t>& build_id = {}, uint64_t place = 0) {
  CoreSpec spec;
  spec.pid = 0;
  spec.tids = {};
  spec.kernel_build_id = build_id;
  spec.kernel_text = place;
  spec.segments = {{.address = kText, .bytes = text}};
  return WriteCore(spec);
}

std::vector<uint8_t> Note(const std::vector<uint8_t>& build_id) {
  const Elf64_Nhdr header{4, static_cast<uint32_t>(build_id.size()), NT_GNU_BUILD_ID};
  std::vector<uint8_t> note(sizeof header);
  std::memcpy(note.data(), &header, sizeof header);
  for (const char letter : {'G', 'N', 'U', '\0'}) note.push_back(static_cast<uint8_t>(letter));
  note.insert(note.end(), build_id.begin(), build_id.end());
  return note;
}

MmapRecord KernelMap(const std::string& path, uint64_t address, uint64_t size,
                     const std::vector<uint8_t>& build_id = {}) {
  MmapRecord record;
  record.address = address;
  record.size = size;
  record.path = path;
  record.kernel = true;
  record.build_id.bytes = build_id;
  return record;
}

TextPokeRecord Poke(uint64_t time, uint64_t address, const std::vector<uint8_t>& old_bytes,
                    const std::vector<uint8_t>& new_bytes) {
  TextPokeRecord record;
  record.time = time;
  record.address = address;
  record.old_bytes = old_bytes;
  record.new_bytes = new_bytes;
  return record;
}

KsymbolRecord Ksymbol(uint64_t time, uint64_t address, uint32_t size, bool unregister = false) {
  KsymbolRecord record;
  record.time = time;
  record.address = address;
  record.size = size;
  record.type = 1;
  record.unregister = unregister;
  record.name = "bpf_prog_1234_test";
  return record;
}

class KernelFlow : public RecordedFlow {
 public:
  KernelFlow() {
    recording.levels.kernel = true;
    recording.sideband.emplace_back(KernelMap("[kernel.kallsyms]_text", kText, 0x1000));
  }
  // The copy that perf puts beside the recording.
  void CopyOf(const std::vector<uint8_t>& text) {
    Save("kcore_dir/kcore", Kcore(text));
    recording.kcore_dir = folder / "kcore_dir";
  }
  template <class T>
  void Record(T record) {
    recording.sideband.emplace_back(std::move(record));
  }
};

class KernelCodeTest : public testing::TestWithParam<std::string_view> {
 protected:
  Flow Decode() { return flow_.Decode(std::string(GetParam())); }
  void Expect(const std::string& ips) {
    const Flow flow = Decode();
    EXPECT_EQ(Text(flow.ips), ips);
    EXPECT_EQ(Text(flow.losses), "");
  }
  // The only loss is at `address` and its detail has `words`.
  void ExpectLoss(const Flow& flow, uint64_t address, const std::string& words) {
    ASSERT_EQ(flow.losses.size(), 1u) << Text(flow.losses);
    EXPECT_EQ(flow.losses[0].cause, LossCause::kNoImage);
    EXPECT_EQ(flow.losses[0].last_ip, address);
    EXPECT_NE(flow.losses[0].detail.find(words), std::string::npos) << flow.losses[0].detail;
  }

  KernelFlow flow_;
};

// A key that is switched on at 200 and off at 400, whenever the memory was copied.
TEST_P(KernelCodeTest, StaticKeyIsSwitched) {
  flow_.Record(Poke(200, kText, kNop5, kJump));
  flow_.Record(Poke(400, kText, kJump, kNop5));
  TraceWriter trace;
  for (const uint64_t tsc : {100, 300, 500}) {
    trace.Sync(tsc, kText);
    trace.Tip(kText);
  }
  flow_.Trace(kPid, trace);
  for (const auto& copied : {kNop5, kJump}) {
    flow_.CopyOf(TextWith(copied));
    Expect(
        "ffffffff81000000 ffffffff81000005 "
        "ffffffff81000000 ffffffff81000020 ffffffff81000021 "
        "ffffffff81000000 ffffffff81000005");
  }
  ASSERT_EQ(flow_.code().images().size(), 1u);
  EXPECT_EQ(flow_.code().images()[0].source, CodeSource::kKernelCore);
  EXPECT_TRUE(flow_.code().images()[0].usable);
}

// Changes of a process's code and of the kernel's, in one stream.
TEST_P(KernelCodeTest, KernelAndUserCodeInTurn) {
  flow_.CopyOf(TextWith(kNop5));
  flow_.Map(10, kPid, kUser, 0x1000, flow_.File("a", {0x90, 0xff, 0xe0}));
  flow_.Record(Poke(200, kText, kNop5, kJump));
  flow_.Map(300, kPid, kUser, 0x1000, flow_.File("b", {0x90, 0x90, 0xff, 0xe0}));
  TraceWriter trace;
  for (const uint64_t tsc : {100, 250, 350}) {
    trace.Sync(tsc, kUser);
    trace.Tip(kText);
    trace.Tip(kUser);
  }
  flow_.Trace(kPid, trace);
  Expect(
      "401000 401001 ffffffff81000000 ffffffff81000005 "
      "401000 401001 ffffffff81000000 ffffffff81000020 ffffffff81000021 "
      "401000 401001 401002 ffffffff81000000 ffffffff81000020 ffffffff81000021");
}

TEST_P(KernelCodeTest, TrampolineComesAndGoes) {
  flow_.CopyOf(TextWith(kNop5));
  const std::vector<uint8_t> code = {0x90, 0x90, 0xff, 0xe0};
  flow_.Record(Ksymbol(200, kTrampoline, 4));
  flow_.Record(Poke(200, kTrampoline, {}, code));
  flow_.Record(Poke(400, kTrampoline, code, {}));
  flow_.Record(Ksymbol(400, kTrampoline, 4, true));
  TraceWriter trace;
  for (const uint64_t tsc : {300, 500}) {
    trace.Sync(tsc, kText);
    trace.Tip(kTrampoline);
    trace.Tip(kText);
  }
  flow_.Trace(kPid, trace);
  const Flow flow = Decode();
  EXPECT_EQ(Text(flow.ips),
            "ffffffff81000000 ffffffff81000005 ffffffffc0300000 ffffffffc0300001 ffffffffc0300002 "
            "ffffffff81000000 ffffffff81000005");
  ExpectLoss(flow, kTrampoline, "taken away");
}

TEST_P(KernelCodeTest, ProgramLoadedAfterTheCopyIsNotInIt) {
  flow_.CopyOf(TextWith(kNop5));
  flow_.Record(Ksymbol(200, kText + 0x20, 0x10));
  TraceWriter trace;
  for (const uint64_t tsc : {100, 300}) {
    trace.Sync(tsc, kText);
    trace.Tip(kText + 0x20);
    trace.Tip(kText);
  }
  flow_.Trace(kPid, trace);
  const Flow flow = Decode();
  EXPECT_EQ(Text(flow.ips),
            "ffffffff81000000 ffffffff81000005 ffffffff81000020 ffffffff81000021 "
            "ffffffff81000000 ffffffff81000005");
  ExpectLoss(flow, kText + 0x20, "bpf_prog_1234_test");
}

TEST_P(KernelCodeTest, ModulesFileIsNotWhatRan) {
  const std::string path = flow_.File("nf-nat.ko", {0x90, 0xff, 0xe0});
  flow_.Record(KernelMap(path, kModule, 0x1000));
  flow_.CopyOf(TextWith(kNop5));
  TraceWriter trace;
  trace.Sync(100, kText);
  trace.Tip(kModule);
  trace.Tip(kText);
  flow_.Trace(kPid, trace);
  ExpectLoss(Decode(), kModule, "kernel code");
  const ImageStatus& module = flow_.code().images().at(1);
  EXPECT_EQ(module.path, path);
  EXPECT_FALSE(module.usable);
  flow_.recording.kcore_dir.clear();
  Decode();
  EXPECT_NE(flow_.code().images().at(1).problem.find("relocates"), std::string::npos);
}

TEST_P(KernelCodeTest, WithoutACopyALossSaysHowToGetOne) {
  TraceWriter trace;
  trace.Sync(100, kText);
  trace.Tip(kText);
  flow_.Trace(kPid, trace);
  ExpectLoss(Decode(), kText, "perf record --kcore");
}

// What the user gives as an image must be of the recorded kernel as well.
TEST_P(KernelCodeTest, ImageOfAnotherKernelIsNotUsed) {
  flow_.recording.build_ids.emplace_back("[kernel.kallsyms]", BuildId{kId});
  ElfSpec vmlinux;
  vmlinux.build_id = kOtherId;
  vmlinux.segments = {{.address = kText, .bytes = TextWith(kNop5)}};
  flow_.recording.images.push_back({flow_.Save("vmlinux", WriteElf(vmlinux).bytes), {}});
  TraceWriter trace;
  trace.Sync(100, kText);
  trace.Tip(kText);
  flow_.Trace(kPid, trace);
  EXPECT_TRUE(Decode().ips.empty());
  vmlinux.build_id = kId;
  flow_.Save("vmlinux", WriteElf(vmlinux).bytes);
  Expect("ffffffff81000000 ffffffff81000005");
}

INSTANTIATE_TEST_SUITE_P(Engines, KernelCodeTest, testing::ValuesIn(DecoderNames()),
                         [](const auto& test) { return std::string(test.param); });

class KernelSourceTest : public testing::Test {
 protected:
  KernelSourceTest() {
    flow_.recording.build_ids.emplace_back("[kernel.kallsyms]", BuildId{kId});
    running_.kcore = flow_.Save("proc/kcore", Kcore(TextWith(kNop5)));
    running_.notes = flow_.Save("sys/notes", Note(kId));
    running_.kallsyms = flow_.folder / "proc/kallsyms";
  }
  KernelCode Load() {
    auto kernel = LoadKernelCode(flow_.recording, flow_.search, 0, store_, running_);
    EXPECT_TRUE(kernel) << kernel.error().message();
    return kernel ? std::move(*kernel) : KernelCode();
  }
  static int ByteAt(const KernelCode& kernel, uint64_t address) {
    uint8_t byte = 0;
    return kernel.history->epochs[0].space->Read(address, &byte, 1) == 1 ? byte : -1;
  }
  // Where the kernel's text lay when the recording was made.
  void RecordPlace(uint64_t address, const std::string& symbol = "_text") {
    flow_.recording.sideband.clear();
    MmapRecord map = KernelMap("[kernel.kallsyms]" + symbol, kText, 0x1000);
    map.file_offset = address;
    flow_.Record(map);
  }
  void SaveSymbols(const std::string& lines) {
    const std::string saved =
        flow_.Save("proc/kallsyms", std::vector<uint8_t>(lines.begin(), lines.end()));
    EXPECT_EQ(saved, running_.kallsyms);
  }
  // The text of the error that loading must end with.
  std::string Refusal() {
    const auto kernel = LoadKernelCode(flow_.recording, flow_.search, 0, store_, running_);
    if (kernel) return "";
    EXPECT_EQ(kernel.error().code(), ErrorCode::kUsage);
    return kernel.error().message();
  }
  std::string NameAt(const KernelCode& kernel, uint64_t address) {
    Symbolizer symbolizer(flow_.search);
    const auto symbol = symbolizer.Find(*kernel.history->epochs[0].space, address);
    return symbol ? std::string(symbol->name) + "+" + std::to_string(symbol->offset) : "";
  }
  static bool Contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  KernelFlow flow_;
  RunningKernel running_;
  ImageStore store_;
};

TEST_F(KernelSourceTest, RunningKernelOfTheRecordedBuild) {
  const KernelCode kernel = Load();
  EXPECT_EQ(ByteAt(kernel, kText), 0x0f);
  ASSERT_EQ(kernel.images.size(), 1u);
  EXPECT_EQ(kernel.images[0].verification, Verification::kBuildId);
  EXPECT_TRUE(Contains(kernel.images[0].problem, "running kernel")) << "what can't be known";
}

TEST_F(KernelSourceTest, RunningKernelOfAnotherBuild) {
  flow_.Save("sys/notes", Note(kOtherId));
  const KernelCode kernel = Load();
  EXPECT_EQ(ByteAt(kernel, kText), -1);
  ASSERT_EQ(kernel.images.size(), 1u);
  EXPECT_FALSE(kernel.images[0].usable);
  const std::string& problem = kernel.images[0].problem;
  EXPECT_TRUE(Contains(problem, "aabbcc01") && Contains(problem, "11223344")) << problem;
  EXPECT_TRUE(Contains(problem, "--kcore")) << problem;
}

TEST_F(KernelSourceTest, RunningKernelThatCanNotBeRead) {
  running_.kcore = flow_.folder / "nowhere";
  EXPECT_TRUE(Contains(Load().images.at(0).problem, "nowhere"));
  flow_.recording.build_ids.clear();
  EXPECT_TRUE(Contains(Load().images.at(0).problem, "no build-id for its kernel"));
}

// The same build, but at another place: what lies at the recorded addresses now is not what ran.
TEST_F(KernelSourceTest, RunningKernelThatWasStartedElsewhere) {
  constexpr uint64_t kElsewhere = kText + 0x1200000;
  RecordPlace(kElsewhere);
  for (const bool by_symbols : {true, false}) {
    SaveSymbols(by_symbols ? "0000000000000000 A fixed\nffffffff81000000 T _text\n" : "");
    running_.kcore =
        flow_.Save("proc/kcore", Kcore(TextWith(kNop5), kId, by_symbols ? kElsewhere : kText));
    const KernelCode kernel = Load();
    EXPECT_EQ(ByteAt(kernel, kText), -1) << by_symbols;
    EXPECT_FALSE(kernel.images.at(0).usable);
    const std::string& problem = kernel.images[0].problem;
    EXPECT_TRUE(Contains(problem, "_text lay at 0xffffffff82200000")) << problem;
    EXPECT_TRUE(Contains(problem, "0xffffffff81000000")) << problem;
    EXPECT_TRUE(Contains(problem, "--kcore")) << problem;
    EXPECT_EQ(NameAt(kernel, kText), "") << "nor are names those of what ran";
  }
}

TEST_F(KernelSourceTest, RunningKernelAtItsPlace) {
  RecordPlace(kText);
  running_.kcore = flow_.Save("proc/kcore", Kcore(TextWith(kNop5), kId, kText));
  const std::string lists[] = {"ffffffff81000000 T _text\n", "0000000000000000 T _text\n", "",
                               std::string(100'000, 'x')};
  for (const std::string& symbols : lists) {
    SaveSymbols(symbols);
    EXPECT_EQ(ByteAt(Load(), kText), 0x0f) << symbols;
  }
}

// Elsewhere than on x86 _text and _stext are two places.
TEST_F(KernelSourceTest, PlaceOfAnotherSymbolSaysNothing) {
  flow_.recording.instruction_set = "aarch64";
  running_.kcore = flow_.Save("proc/kcore", Kcore(TextWith(kNop5), kId, kText + 0x10000));
  RecordPlace(kText);
  EXPECT_EQ(ByteAt(Load(), kText), 0x0f);
  RecordPlace(kText, "_stext");
  EXPECT_EQ(ByteAt(Load(), kText), -1);
}

TEST_F(KernelSourceTest, GivenFilesOfAnotherStartAreErrors) {
  RecordPlace(kText);
  flow_.search.kcore = flow_.Save("copy", Kcore(TextWith(kNop5), kId, kText + 0x200000));
  std::string message = Refusal();
  EXPECT_TRUE(Contains(message, "--kcore") && Contains(message, "0xffffffff81200000")) << message;
  flow_.search.kcore = flow_.Save("copy", Kcore(TextWith(kNop5), kId, kText));
  EXPECT_EQ(ByteAt(Load(), kText), 0x0f);
  SaveSymbols("ffffffff81200000 T _text\n");
  flow_.search.kallsyms = running_.kallsyms;
  message = Refusal();
  EXPECT_TRUE(Contains(message, "--kallsyms") && Contains(message, "0xffffffff81200000"))
      << message;
}

// A user who may not read the kernel's memory, or looks elsewhere, may still know its symbols.
TEST_F(KernelSourceTest, NamesWithoutCode) {
  RecordPlace(kText);
  SaveSymbols(
      "ffffffff81000000 T _text\nffffffff81000020 t helper\nffffffffc0100000 t init\t[mod]\n");
  running_.kcore = flow_.folder / "nowhere";
  EXPECT_EQ(NameAt(Load(), kText + 0x24), "helper+4");
  EXPECT_EQ(NameAt(Load(), kModule + 1), "init+1");
  EXPECT_EQ(NameAt(Load(), kText - 1), "");
  EXPECT_EQ(NameAt(Load(), kUser), "");
  flow_.Save("sys/notes", Note(kOtherId));
  EXPECT_EQ(NameAt(Load(), kText + 0x24), "") << "of another kernel";
  flow_.search.kallsyms = running_.kallsyms;
  EXPECT_EQ(NameAt(Load(), kText + 0x24), "helper+4") << "given by the user";
}

TEST_F(KernelSourceTest, AGuestsKernelIsNotThisMachines) {
  flow_.recording.sideband.clear();
  flow_.Record(KernelMap("[guest.kernel.kallsyms.42]_text", kText, 0x20));
  flow_.Record(KernelMap("[kernel.kallsyms]_text", kText + 0x20, 0xfe0));
  const KernelCode kernel = Load();
  EXPECT_EQ(ByteAt(kernel, kText), -1);
  EXPECT_EQ(ByteAt(kernel, kText + 0x20), 0x90);
  EXPECT_EQ(kernel.images.size(), 1u);
}

TEST_F(KernelSourceTest, SamplesMayTellOfAKernelThatWasNotTraced) {
  flow_.recording.levels.kernel = false;
  EXPECT_EQ(Load().history, nullptr);
  flow_.recording.sampled_in_kernel = {kPid};
  EXPECT_NE(Load().history, nullptr);
}

TEST_F(KernelSourceTest, UserOnlyRecordingNeedsNone) {
  flow_.recording.levels.kernel = false;
  EXPECT_EQ(Load().history, nullptr);
}

TEST_F(KernelSourceTest, GivenCopyOfAnotherKernelIsAnError) {
  flow_.search.kcore = flow_.Save("copy", Kcore(TextWith(kNop5), kOtherId));
  const auto kernel = LoadKernelCode(flow_.recording, flow_.search, 0, store_, running_);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), ErrorCode::kUsage);
  const std::string& message = kernel.error().message();
  EXPECT_TRUE(Contains(message, "aabbcc01") && Contains(message, "11223344")) << message;
  flow_.search.kcore = flow_.Save("copy", Kcore(TextWith(kNop5), kId));
  EXPECT_EQ(Load().images.at(0).verification, Verification::kBuildId);
  flow_.search.kcore = flow_.Save("copy", Kcore(TextWith(kNop5)));
  EXPECT_EQ(Load().images.at(0).verification, Verification::kGiven);
}

TEST_F(KernelSourceTest, WithoutMapsAllOfTheCopyIsTaken) {
  flow_.recording.sideband.clear();
  flow_.recording.levels.kernel = false;  // raw streams do not say
  flow_.search.kcore = flow_.Save("copy", Kcore(TextWith(kNop5)));
  EXPECT_EQ(ByteAt(Load(), kText + 0x20), 0x90);
}

TEST_F(KernelSourceTest, MapsThatBeginBelowTheKernel) {
  flow_.recording.sideband.clear();
  flow_.Record(KernelMap("[kernel.kallsyms]_text", 0, ~uint64_t{0}));
  const KernelCode kernel = Load();
  EXPECT_EQ(ByteAt(kernel, kText), 0x0f);
  EXPECT_EQ(ByteAt(kernel, kText + 0x1000), -1);
}

TEST_F(KernelSourceTest, UnreadableFilesAreErrors) {
  flow_.search.kallsyms = "/nowhere/kallsyms";
  auto kernel = LoadKernelCode(flow_.recording, flow_.search, 0, store_, running_);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), ErrorCode::kUnreadable);
  flow_.search.kallsyms.clear();
  flow_.search.kcore = flow_.Save("copy", {1, 2, 3});
  kernel = LoadKernelCode(flow_.recording, flow_.search, 0, store_, running_);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().code(), ErrorCode::kUnreadable);
}

}  // namespace
}  // namespace flowback
