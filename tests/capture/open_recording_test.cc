// SPDX-License-Identifier: MIT
// Opening: what kind of input it is, and what the user says about it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/recorded/pt_config.h"
#include "capture/formats/perf_records/perf_layout.h"
#include "flowback/capture/open.h"
#include "tests/capture/temporary_file.h"
#include "tests/support/perf_data_builder.h"

namespace flowback {
namespace {

using support::FieldWriter;
using support::PerfDataBuilder;
using support::ReadBytes;
using support::TemporaryFolder;

Result<Recording> OpenFile(const std::string& path) {
  OpenOptions options;
  options.input = path;
  return OpenRecording(options);
}

void ExpectError(const Result<Recording>& result, ErrorCode code, const std::string& text) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), code);
  EXPECT_NE(result.error().message().find(text), std::string::npos) << result.error().message();
  EXPECT_FALSE(result.error().remedy().empty()) << result.error().message();
}

TEST(OpenRecording, UnknownFormatShowsTheFirstBytes) {
  TemporaryFolder folder;
  const std::string path = folder.Write("perf.data",
                                        "\x7f"
                                        "ELF and more");
  const auto result = OpenFile(path);
  ExpectError(result, ErrorCode::kUnreadable, "7f 45 4c 46");
  EXPECT_NE(result.error().message().find(path), std::string::npos);
  EXPECT_NE(result.error().remedy().find("--raw-pt"), std::string::npos);
}

TEST(OpenRecording, EmptyFile) {
  TemporaryFolder folder;
  ExpectError(OpenFile(folder.Write("perf.data", "")), ErrorCode::kUnreadable, "is empty");
}

TEST(OpenRecording, DirectoryWithoutData) {
  TemporaryFolder folder;
  ExpectError(OpenFile(folder.path().string()), ErrorCode::kUnreadable, "is a directory");
}

TEST(OpenRecording, MissingFile) {
  ExpectError(OpenFile("/nonexistent/perf.data"), ErrorCode::kUnreadable,
              "/nonexistent/perf.data: No such file");
}

// Root may read everything, so the opening runs in a child process that has given up its rights.
TEST(OpenRecording, UnreadableFile) {
  TemporaryFolder folder;
  const std::string path = folder.Write("perf.data", PerfDataBuilder::WithIntelPt().Build());
  ASSERT_TRUE(OpenFile(path));
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(path, std::filesystem::perms(0));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(2);
    const auto result = OpenFile(path);
    const bool right = !result && result.error().code() == ErrorCode::kPermission &&
                       result.error().message().find(path) != std::string::npos &&
                       !result.error().remedy().empty();
    _exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(OpenRecording, OtherByteOrderVersionAndContainers) {
  const auto bytes = [](std::string_view text) {
    return std::vector<uint8_t>(text.begin(), text.end());
  };
  ExpectError(ReadBytes(bytes("2ELIFREP....")), ErrorCode::kUnreadable, "cut inside the header");
  ExpectError(ReadBytes(bytes("PERFFILE....")), ErrorCode::kUnsupported, "version 1");
  ExpectError(ReadBytes(bytes("\x28\xb5\x2f\xfd....")), ErrorCode::kUnsupported, "zstd");
  ExpectError(ReadBytes(bytes("\n {\n \"type\": \"intel-pt\",")), ErrorCode::kUnreadable,
              "no JSON");
  ExpectError(ReadBytes(bytes("{ \"type\": \"other\" }")), ErrorCode::kUnreadable, "{ ");
}

TEST(OpenRecording, RawTraceWithoutItsOptionSaysWhatItIs) {
  std::vector<uint8_t> bytes(20, 0);
  for (int i = 0; i < 8; ++i) bytes.insert(bytes.end(), {2, 0x82});
  const auto result = ReadBytes(bytes);
  ExpectError(result, ErrorCode::kUnreadable, "raw Intel PT");
  EXPECT_NE(result.error().remedy().find("--raw-pt"), std::string::npos);
}

TEST(OpenRecording, OneKindOfInputIsNeeded) {
  OpenOptions options;
  ExpectError(OpenRecording(options), ErrorCode::kUsage, "no input");
  options.input = "a";
  options.raw_pt = {"b"};
  ExpectError(OpenRecording(options), ErrorCode::kUsage, "both");
}

TEST(OpenRecording, RawFilesAreOneStreamEach) {
  TemporaryFolder folder;
  OpenOptions options;
  options.raw_pt = {folder.Write("0.bin", "abc"), folder.Write("1.bin", "defgh")};
  options.cpu = CpuId{true, 6, 85, 4};
  options.mtc_shift = 3;
  options.tsc_ctc_numerator = 200;
  options.tsc_ctc_denominator = 2;
  options.nominal_ratio = 24;
  options.filter = TraceFilter{.ranges = {{.begin = 0x10, .end = 0x20}}};
  options.sections = {{"code", 0, 16, 0x400000}};
  options.images = {{"a.out", std::nullopt}};
  const auto recording = OpenRecording(options);
  ASSERT_TRUE(recording) << recording.error().message();
  ASSERT_EQ(recording->streams.size(), 2u);
  const Stream& second = recording->streams[1];
  EXPECT_EQ(std::string(second.bytes.begin(), second.bytes.end()), "defgh");
  EXPECT_EQ(second.index, 1u);
  EXPECT_EQ(second.file, options.raw_pt[1]);
  EXPECT_EQ(second.cpu, -1);
  EXPECT_EQ(recording->file_size, 8u);
  EXPECT_EQ(PtConfigOf(recording->config).cpu, (CpuId{true, 6, 85, 4}));
  EXPECT_EQ(PtConfigOf(recording->config).mtc_shift, 3);
  EXPECT_EQ(PtConfigOf(recording->config).tsc_ctc_numerator, 200u);
  EXPECT_EQ(PtConfigOf(recording->config).tsc_ctc_denominator, 2u);
  EXPECT_EQ(PtConfigOf(recording->config).nominal_ratio, 24u);
  EXPECT_EQ(PtConfigOf(recording->config).address_filter, true);
  ASSERT_EQ(PtConfigOf(recording->config).filter_ranges.size(), 1u);
  EXPECT_EQ(PtConfigOf(recording->config).filter_ranges[0].end, 0x20u);
  EXPECT_EQ(recording->sections.size(), 1u);
  EXPECT_EQ(recording->images.size(), 1u);
}

TEST(OpenRecording, RawFilesThatCannotBe) {
  TemporaryFolder folder;
  const auto open = [](const std::string& path) {
    OpenOptions options;
    options.raw_pt = {path};
    return OpenRecording(options);
  };
  ExpectError(open("/nonexistent/pt.bin"), ErrorCode::kUnreadable, "No such file");
  ExpectError(open(folder.path().string()), ErrorCode::kUnreadable, "directory");
  ExpectError(open(folder.Write("pt.bin", "")), ErrorCode::kUnreadable, "is empty");
}

TEST(OpenRecording, TheUsersWordGoesBeforeTheFiles) {
  TemporaryFolder folder;
  OpenOptions options;
  options.input = folder.Write("perf.data", PerfDataBuilder::WithIntelPt().Build());
  const auto as_recorded = OpenRecording(options);
  ASSERT_TRUE(as_recorded);
  EXPECT_EQ(PtConfigOf(as_recorded->config).nominal_ratio, 24u);
  EXPECT_FALSE(PtConfigOf(as_recorded->config).cpu.known());
  options.cpu = CpuId{true, 6, 79, 1};
  options.nominal_ratio = 30;
  options.sections.resize(500);
  const auto overridden = OpenRecording(options);
  ASSERT_TRUE(overridden);
  EXPECT_EQ(PtConfigOf(overridden->config).cpu.model, 79);
  EXPECT_EQ(PtConfigOf(overridden->config).nominal_ratio, 30u);
  EXPECT_EQ(PtConfigOf(overridden->config).mtc_shift, PtConfigOf(as_recorded->config).mtc_shift);
  EXPECT_EQ(overridden->sections.size(), 500u);
}

TEST(Formats, TableNamesEachFormatOnce) {
  std::vector<std::string_view> names;
  for (const Format& format : Formats()) names.push_back(format.name);
  EXPECT_GE(names.size(), 7u);
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

}  // namespace
}  // namespace flowback
