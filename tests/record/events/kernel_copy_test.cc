// SPDX-License-Identifier: MIT
// A recording with a copy of the kernel's code (--kcore), of a kernel that the test plays.
#include "capture/record/output/kernel_copy.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>

#include "capture/record/image/kernel_ranges.h"
#include "decode/code/kernel_memory.h"
#include "tests/record/events/event_simulated.h"
#include "tests/support/core_writer.h"

namespace flowback::record_test {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kText = 0xffffffff81000000, kEndOfText = kText + 0x4800;
constexpr uint64_t kModule = 0xffffffffc0a5d000, kProgramOfBpf = 0xffffffffc0a63000;
constexpr uint64_t kAllMemory = 0xffff888000000000;

const std::string kSymbols =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000040 t do_one_initcall\n"
    "ffffffff81004800 T _etext\n"
    "ffffffff82000000 D init_task\n"
    "ffffffffc0a5d010 t nf_nat_ipv4_fn\t[nf_nat]\n"
    "ffffffffc0a63020 t bpf_prog_6deef7357e7b4530\t[bpf]\n";
const std::string kModuleList = "nf_nat 57344 1 xt_nat, Live 0xffffffffc0a5d000\n";

std::vector<uint8_t> Pattern(size_t size, uint8_t first) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first + i + i / 256);
  return bytes;
}

CoreSpec Memory() {
  CoreSpec spec;
  spec.kernel_build_id.resize(20);
  std::iota(spec.kernel_build_id.begin(), spec.kernel_build_id.end(), uint8_t{1});
  spec.segments = {{.address = kText, .bytes = Pattern(0x9000, 1)},
                   {.address = kModule - 0x2000, .bytes = Pattern(0x20000, 7)},
                   {.address = kAllMemory, .bytes = Pattern(0x3000, 9)}};
  return spec;
}

// The kernel's files about itself, each time that they are read.
class KernelFiles : public SimulatedKernel {
 public:
  KernelFiles() : SimulatedKernel(test::Tree("skylake_server")) {
    const std::vector<uint8_t> core = WriteCore(Memory());
    files["/proc/kcore"] = std::string(core.begin(), core.end());
    files["/proc/kallsyms"] = kSymbols;
    files["/proc/modules"] = kModuleList;
  }
  std::optional<std::string> ReadFile(const std::string& path) const override {
    const auto own = files.find(path);
    if (own == files.end()) return SimulatedKernel::ReadFile(path);
    if (path == "/proc/modules" && loads_ > 0)
      return own->second + "loaded" + std::to_string(loads_--) + " 4096 0 - Live 0x0\n";
    return own->second;
  }
  kernel::Called<size_t> ReadPart(const std::string& path, uint64_t offset,
                                  std::span<uint8_t> into) const override {
    if (refuses != 0) return std::unexpected(refuses);
    return SimulatedKernel::ReadPart(path, offset, into);
  }
  // Each of the next reads has another module.
  void LoadModules(int count) { loads_ = count; }

  std::map<std::string, std::string> files;
  kernel::Errno refuses = 0;

 private:
  mutable int loads_ = 0;
};

void ExpectRefused(const Status& copied, ErrorCode code, const std::string& words) {
  ASSERT_FALSE(copied);
  EXPECT_EQ(copied.error().code(), code);
  EXPECT_TRUE(copied.error().message().contains(words)) << copied.error().message();
  EXPECT_FALSE(copied.error().remedy().empty());
}

// ---- where code is ----

TEST(KernelRanges, AreWholePagesOfTextAndOfAllModules) {
  const auto ranges = record::KernelCodeRanges(kSymbols, kModuleList);
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ((*ranges)[0].begin, kText);
  EXPECT_EQ((*ranges)[0].end, kText + 0x5000);
  EXPECT_EQ((*ranges)[1].begin, kModule);
  EXPECT_EQ((*ranges)[1].end, kModule + 57344) << "the module is longer than to its last symbol";
}

TEST(KernelRanges, GoToTheLastCodeThatHasASymbol) {
  const auto ranges = record::KernelCodeRanges(kSymbols, "");
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 2U);
  EXPECT_EQ((*ranges)[1].begin, kModule);
  EXPECT_EQ((*ranges)[1].end, kProgramOfBpf + 0x2000);
}

TEST(KernelRanges, WithoutNamesOfItsBordersTextIsWhereSymbolsAre) {
  const auto ranges = record::KernelCodeRanges(
      "ffff800008010040 T first\nffff800008012ff0 t last\nffff800009000000 d data\n", "");
  ASSERT_TRUE(ranges);
  ASSERT_EQ(ranges->size(), 1U);
  EXPECT_EQ((*ranges)[0].begin, 0xffff800008010000);
  EXPECT_EQ((*ranges)[0].end, 0xffff800008014000);
}

TEST(KernelRanges, HiddenAddressesAreRefused) {
  const auto hidden = record::KernelCodeRanges("0000000000000000 T _stext\n", kModuleList);
  ASSERT_FALSE(hidden);
  EXPECT_EQ(hidden.error().code(), ErrorCode::kPermission);
  EXPECT_TRUE(hidden.error().remedy().contains("kptr_restrict")) << hidden.error().remedy();
  for (const char* none : {"", "\n\n", "ffffffff81000000", "no symbols\n at all\n"})
    EXPECT_FALSE(record::KernelCodeRanges(none, "")) << none;
}

// ---- the copy ----

class KernelCopy : public ::testing::Test {
 protected:
  std::string Folder() const { return (folder_.path() / "kcore_dir").string(); }
  Status Copy() const { return record::CopyKernel(kernel_, Folder()); }

  support::TemporaryFolder folder_;
  KernelFiles kernel_;
};

void ExpectMemory(KernelMemory& memory, uint64_t address, const std::vector<uint8_t>& bytes) {
  const auto parts = memory.Find(address, bytes.size());
  ASSERT_EQ(parts.size(), 1U) << std::hex << address;
  ASSERT_EQ(parts[0].address, address);
  ASSERT_EQ(parts[0].size, bytes.size());
  const Bytes found = parts[0].bytes.subspan(parts[0].offset, parts[0].size);
  EXPECT_TRUE(std::ranges::equal(found, bytes)) << std::hex << address;
}

TEST_F(KernelCopy, HasTheCodeAtItsAddressesAndNothingElse) {
  ASSERT_TRUE(Copy());
  auto memory = KernelMemory::Open(Folder() + "/kcore");
  ASSERT_TRUE(memory) << memory.error().message();
  const CoreSpec spec = Memory();
  std::vector<uint8_t> text = spec.segments[0].bytes;
  text.resize(0x5000);
  ExpectMemory(*memory, kText, text);
  const auto module = spec.segments[1].bytes.begin() + 0x2000;
  ExpectMemory(*memory, kModule, {module, module + 57344});
  EXPECT_TRUE(memory->Find(kText + 0x5000, 0x1000).empty());
  EXPECT_TRUE(memory->Find(kModule - 0x1000, 0x1000).empty());
  EXPECT_TRUE(memory->Find(kAllMemory, 0x1000).empty());
  EXPECT_TRUE(std::ranges::equal(memory->build_id().bytes, spec.kernel_build_id));
  EXPECT_EQ(Content(Folder() + "/kallsyms"), kSymbols);
  EXPECT_EQ(Content(Folder() + "/modules"), kModuleList);
  EXPECT_EQ(fs::status(Folder() + "/kcore").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(KernelCopy, IsMadeAnewWhereAModuleWasLoadedMeanwhile) {
  kernel_.LoadModules(3);
  ASSERT_TRUE(Copy());
  EXPECT_EQ(Content(Folder() + "/modules"), kModuleList);
  kernel_.LoadModules(1000);
  ExpectRefused(Copy(), ErrorCode::kSystem, "modules come and go");
}

TEST_F(KernelCopy, SaysWhatItCantRead) {
  kernel_.refuses = EPERM;
  ExpectRefused(Copy(), ErrorCode::kPermission, "/proc/kcore");
  kernel_.refuses = ENOENT;
  ExpectRefused(Copy(), ErrorCode::kUnreadable, "/proc/kcore");
  kernel_.refuses = 0;
  kernel_.files["/proc/kallsyms"] = "0000000000000000 T _stext\n";
  ExpectRefused(Copy(), ErrorCode::kPermission, "hides");
}

TEST_F(KernelCopy, OddMemoryIsRefused) {
  const std::string whole = kernel_.files["/proc/kcore"];
  for (size_t size = 0; size < 700; ++size) {
    kernel_.files["/proc/kcore"] = whole.substr(0, size);
    EXPECT_FALSE(Copy()) << size;
  }
  kernel_.files["/proc/kcore"] = whole.substr(0, whole.size() / 2);
  ExpectRefused(Copy(), ErrorCode::kUnreadable, "ends before");
  kernel_.files["/proc/kcore"] = std::string(4096, 'x');
  ExpectRefused(Copy(), ErrorCode::kUnreadable, "no memory of a 64-bit kernel");
  CoreSpec elsewhere = Memory();
  elsewhere.segments = {{.address = kAllMemory, .bytes = Pattern(0x3000, 9)}};
  const std::vector<uint8_t> core = WriteCore(elsewhere);
  kernel_.files["/proc/kcore"] = std::string(core.begin(), core.end());
  ExpectRefused(Copy(), ErrorCode::kUnreadable, "does not have the kernel's text");
}

// ---- the recording ----

class RecordingWithKernel : public EventSimulated {
 protected:
  RecordingWithKernel() {
    files_.AddProcess(kProgram);
    options_.events.kernel_code = true;
  }
  Result<RecordSummary> Record() {
    auto summary = RunOn(files_, [this] { files_.EndProcess(kProgram); });
    files_.AddProcess(kProgram);
    return summary;
  }

  KernelFiles files_;
};

TEST_F(RecordingWithKernel, IsAFolderThatIsReadWithItsKernel) {
  const auto recorded = Record();
  ASSERT_TRUE(recorded) << recorded.error().message();
  const Recording recording = Open();
  EXPECT_EQ(recording.kcore_dir, options_.files.output + "/kcore_dir");
  EXPECT_FALSE(recording.sideband.empty());
}

TEST_F(RecordingWithKernel, PerfReadsIt) {
  FLOWBACK_NEEDS_PERF();
  ASSERT_TRUE(Record());
  const std::string command = "perf script -i '" + options_.files.output +
                              "' --show-mmap-events >'" + File("out") + "' 2>'" + File("err") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << Content(File("err"));
}

TEST_F(RecordingWithKernel, OlderOnesMakeWay) {
  const std::string path = options_.files.output, older = path + ".old";
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Record());
  EXPECT_TRUE(fs::exists(path + "/data"));
  EXPECT_TRUE(fs::exists(older + "/kcore_dir/kcore"));
  EXPECT_FALSE(fs::exists(older + ".old"));
  options_.events.kernel_code = false;
  ASSERT_TRUE(Record());
  EXPECT_TRUE(fs::is_regular_file(path));
  EXPECT_TRUE(fs::exists(older + "/data"));
  ASSERT_TRUE(Record());
  EXPECT_TRUE(fs::is_regular_file(older));
  options_.events.kernel_code = true;
  ASSERT_TRUE(Record());
  EXPECT_TRUE(fs::exists(path + "/data"));
  EXPECT_TRUE(fs::is_regular_file(older));
  EXPECT_FALSE(fs::exists(older + ".old"));
}

TEST_F(RecordingWithKernel, WithoutTheKernelNothingIsLeftOrLost) {
  const std::string path = options_.files.output;
  files_.refuses = EPERM;
  EXPECT_FALSE(Record());
  EXPECT_FALSE(fs::exists(path));
  files_.refuses = 0;
  ASSERT_TRUE(Record());
  const std::string before = Content(path + "/data");
  files_.refuses = EPERM;
  EXPECT_FALSE(Record());
  EXPECT_EQ(Content(path + "/data"), before);
  EXPECT_FALSE(fs::exists(path + ".old"));
}

TEST_F(RecordingWithKernel, AFolderOfSomethingElseIsLeftAlone) {
  fs::create_directory(options_.files.output);
  std::ofstream(options_.files.output + "/precious") << "mine";
  const auto recorded = Record();
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error().code(), ErrorCode::kUsage);
  EXPECT_EQ(Content(options_.files.output + "/precious"), "mine");
}

}  // namespace
}  // namespace flowback::record_test
