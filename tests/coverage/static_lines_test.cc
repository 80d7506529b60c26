// SPDX-License-Identifier: MIT
// Lines of whole objects, held against what addr2line says of each instruction.
#include "replay/coverage/static_lines.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/code/temporary_folder.h"

namespace flowback {
namespace {

struct ClosePipe {
  void operator()(FILE* pipe) const { pclose(pipe); }
};

bool Shell(const std::string& command) {
  return std::system((command + " 2>/dev/null").c_str()) == 0;
}

struct Object {
  ObjectImage image;
  StaticCode code;
};

std::optional<Object> Open(const std::string& file) {
  auto image = ObjectImage::Open({.path = file, .build_id = {}}, file);
  if (!image) return std::nullopt;
  auto code = StaticCode::Of(*image, {});
  if (!code) return std::nullopt;
  return Object{std::move(*image), std::move(*code)};
}

class StaticLinesTest : public ::testing::TestWithParam<const char*> {
 protected:
  // A copy of the source in a folder of its own, compiled.
  std::string Compile(const std::string& options) {
    std::filesystem::copy_file(PROGRAMS "/lines.cc", source_);
    const std::string file = folder_ / "lines.so";
    const bool made =
        Shell(COVERAGE_CXX " -nostdlib -shared -fPIC " + options + " -o " + file + " " + source_);
    return made ? file : std::string();
  }

  TemporaryFolder folder_;
  const std::string source_ = folder_ / "lines.cc";
};

TEST_P(StaticLinesTest, AreThoseOfAddr2line) {
  const std::string file = Compile(GetParam());
  ASSERT_FALSE(file.empty());
  const auto object = Open(file);
  ASSERT_TRUE(object);
  SourceLines source;
  const StaticLines lines = StaticLines::Of(object->image, object->code, source);
  ASSERT_FALSE(lines.lines().empty());
  std::string command = "addr2line -e " + file;
  std::vector<uint64_t> addresses;
  for (const StaticInstruction& each : object->code.instructions()) {
    if (object->code.FunctionAt(each.address)->is_stub) continue;
    addresses.push_back(each.address);
    char text[32];
    std::snprintf(text, sizeof text, " %lx", static_cast<unsigned long>(each.address));
    command += text;
  }
  const std::unique_ptr<FILE, ClosePipe> answers(popen(command.c_str(), "r"));
  char answer[1024];
  unsigned known = 0;
  for (const uint64_t address : addresses) {
    if (std::fgets(answer, sizeof answer, answers.get()) == nullptr) GTEST_SKIP() << "no addr2line";
    const std::string text(answer);
    const unsigned long line = std::strtoul(text.c_str() + text.rfind(':') + 1, nullptr, 10);
    const StaticLine* ours = lines.At(address);
    EXPECT_EQ(ours == nullptr ? 0 : ours->line, line) << std::hex << address << " " << text;
    if (ours == nullptr) continue;
    ++known;
    EXPECT_EQ(lines.files()[ours->file], source_);
  }
  EXPECT_GT(known, 20U);
}

INSTANTIATE_TEST_SUITE_P(Options, StaticLinesTest,
                         ::testing::Values("-O0 -g", "-O2 -g", "-O2 -gdwarf-4", "-O2 -g -gz"));

TEST_F(StaticLinesTest, CopiesOfALineHaveScopesOfTheirOwn) {
  const auto object = Open(Compile("-O2 -g"));
  ASSERT_TRUE(object);
  SourceLines source;
  const StaticLines lines = StaticLines::Of(object->image, object->code, source);
  std::vector<uint64_t> scopes;
  uint64_t end = 0;
  for (const StaticLine& each : lines.lines()) {
    EXPECT_GE(each.begin, end);
    end = each.end;
    if (each.line == 6) scopes.push_back(each.scope);
    const bool of_twice = each.line >= 5 && each.line <= 8;
    EXPECT_TRUE(each.is_inlined || !of_twice) << each.line;
  }
  std::ranges::sort(scopes);
  EXPECT_GE(std::ranges::unique(scopes).begin() - scopes.begin(), 3);
}

TEST_F(StaticLinesTest, WithoutDebugInformationThereAreNone) {
  const auto object = Open(Compile("-O2 -s"));
  ASSERT_TRUE(object);
  SourceLines source;
  EXPECT_TRUE(StaticLines::Of(object->image, object->code, source).lines().empty());
  EXPECT_TRUE(source.Problems().empty());
}

}  // namespace
}  // namespace flowback
