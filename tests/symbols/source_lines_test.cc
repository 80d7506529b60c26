// SPDX-License-Identifier: MIT
// Source lines and inlined calls, compared with LLVM's symbolizer over every byte of .text.
#include "flowback/replay/source_lines.h"

#include <cxxabi.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "tests/golden/shared_traces.h"
#include "tests/symbols/source_fixture.h"

namespace flowback::test {
namespace {

std::string Demangle(std::string name) {
  // The symbol table separates the parts of a function, DWARF does not.
  name = name.substr(0, name.find('.'));
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  if (status == 0 && name.starts_with("_Z")) name = text;
  std::free(text);
  return name;
}

std::vector<Frame> FramesAt(SourceLines& lines, const MappedProgram& program, uint64_t linked) {
  std::vector<Frame> frames;
  for (const SourceFrame& frame : lines.Find(program.space(), program.Mapped(linked)).frames)
    frames.push_back(
        {std::string(frame.function), std::string(frame.file), frame.line, frame.column});
  return frames;
}

// Both sides' answers at every address of .text; returns how many addresses have an inlined call.
size_t ExpectLlvmsFrames(const SourceFixture& fixture, const std::string& path, SourceLines& lines,
                         const std::string& debug_path = "") {
  const MappedProgram program(path);
  const auto expected = LlvmFrames(fixture, debug_path.empty() ? path : debug_path,
                                   program.text_begin(), program.text_end());
  EXPECT_EQ(expected.size(), program.text_end() - program.text_begin());
  size_t inlined = 0;
  size_t differences = 0;
  for (size_t i = 0; i < expected.size() && differences < 5; ++i) {
    const std::vector<Frame> ours = FramesAt(lines, program, program.text_begin() + i);
    std::vector<Frame> theirs = expected[i];
    inlined += ours.size() > 1;
    // Without DWARF there LLVM prints the symbol table's names.
    if (ours.empty() && (theirs.empty() || (theirs.size() == 1 && theirs[0].line == 0))) continue;
    for (Frame& frame : theirs) frame.function = Demangle(frame.function);
    // Its name for what is not inlined is the symbol table's, which may know more of it.
    if (!ours.empty() && ours.size() == theirs.size() &&
        theirs.back().function.find(ours.back().function) != std::string::npos)
      theirs.back().function = ours.back().function;
    EXPECT_EQ(ours, theirs) << std::hex << "at 0x" << program.text_begin() + i;
    differences += ours != theirs;
  }
  return inlined;
}

struct Variant {
  const char* name;
  const char* compiler;
  const char* options;
  const char* afterwards;  // another command in the folder, on the file `program`
};

void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class LikeLlvm : public testing::TestWithParam<Variant> {};

TEST_P(LikeLlvm, AtEveryByteOfText) {
  const Variant& variant = GetParam();
  if (std::string(SOURCE_SYMBOLIZER).ends_with("NOTFOUND")) GTEST_SKIP() << "no llvm-symbolizer-19";
  if (std::string(variant.compiler).ends_with("NOTFOUND")) GTEST_SKIP() << "no clang++-19";
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(std::string(variant.compiler) + " -O2 " + variant.options, "program"));
  const std::string program = fixture.File("program");
  ASSERT_TRUE(fixture.Run(variant.afterwards));
  SourceLines lines;
  const size_t inlined = ExpectLlvmsFrames(fixture, program, lines);
  EXPECT_GT(inlined, std::string(variant.options) == "-gline-tables-only" ? 0u : 20u);
  EXPECT_EQ(lines.Problems(), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(
    Variants, LikeLlvm,
    testing::Values(Variant{"dwarf5", SOURCE_CXX, "-gdwarf-5", "true"},
                    Variant{"dwarf4", SOURCE_CXX, "-gdwarf-4", "true"},
                    Variant{"dwarf3", SOURCE_CXX, "-gdwarf-3", "true"},
                    Variant{"unoptimised", SOURCE_CXX, "-O0 -g", "true"},
                    Variant{"not_pie", SOURCE_CXX, "-g -no-pie -fno-pie", "true"},
                    Variant{"sections", SOURCE_CXX, "-g -ffunction-sections -Wl,--gc-sections",
                            "true"},
                    Variant{"link_time_optimised", SOURCE_CXX, "-g -flto", "true"},
                    Variant{"split5", SOURCE_CXX, "-gdwarf-5 -gsplit-dwarf", "true"},
                    Variant{"split4", SOURCE_CXX, "-gdwarf-4 -gsplit-dwarf", "true"},
                    Variant{"zlib", SOURCE_CXX, "-g -gz=zlib", "true"},
                    Variant{"clang_dwarf5", SOURCE_CLANG, "-gdwarf-5", "true"},
                    Variant{"clang_dwarf4", SOURCE_CLANG, "-gdwarf-4", "true"},
                    Variant{"clang_split5", SOURCE_CLANG, "-gdwarf-5 -gsplit-dwarf", "true"},
                    Variant{"clang_split4", SOURCE_CLANG, "-gdwarf-4 -gsplit-dwarf", "true"},
                    Variant{"clang_lines_only", SOURCE_CLANG, "-gline-tables-only", "true"},
                    Variant{"clang_zstd", SOURCE_CLANG, "-g -gz=zstd", "true"},
                    Variant{"package", SOURCE_CLANG, "-gdwarf-5 -gsplit-dwarf",
                            "llvm-dwp-19 -e program -o program.dwp && rm *.dwo"}),
    [](const auto& variant) { return std::string(variant.param.name); });

std::string Gcc(const std::string& options) {
  return std::string(SOURCE_CXX) + " -O2 -g " + options;
}

// The DWARF moves to another file; what LLVM says of the whole program stays the truth.
class Separate : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(fixture_.Build(Gcc("-Wl,--build-id"), "whole"));
    ASSERT_TRUE(fixture_.Run("cp whole program && " SOURCE_OBJCOPY
                             " --only-keep-debug whole program.debug && " SOURCE_STRIP
                             " --strip-all program"));
  }
  void AddLink() {
    ASSERT_TRUE(fixture_.Run(SOURCE_OBJCOPY " --add-gnu-debuglink=program.debug program"));
  }
  // Whether each byte of the stripped program has the frames of the whole one.
  bool HasLines(const ImageSearch& search = {}) {
    SourceLines whole;
    SourceLines stripped(search);
    const MappedProgram all(fixture_.File("whole"));
    const MappedProgram program(fixture_.File("program"));
    size_t with_lines = 0;
    for (uint64_t at = all.text_begin(); at < all.text_end(); ++at) {
      const std::vector<Frame> frames = FramesAt(stripped, program, at);
      if (frames.empty()) continue;
      ++with_lines;
      EXPECT_EQ(frames, FramesAt(whole, all, at));
    }
    return with_lines > 100;
  }
  SourceFixture fixture_;
};

TEST_F(Separate, NothingWithoutIt) { EXPECT_FALSE(HasLines()); }

TEST_F(Separate, BesideTheProgramByItsLink) {
  AddLink();
  EXPECT_TRUE(HasLines());
}

TEST_F(Separate, InTheDotDebugFolder) {
  AddLink();
  ASSERT_TRUE(fixture_.Run("mkdir .debug && mv program.debug .debug"));
  EXPECT_TRUE(HasLines());
}

TEST_F(Separate, InADebugFolderUnderTheProgramsPath) {
  AddLink();
  ASSERT_TRUE(fixture_.Run("mkdir -p dbg'" + fixture_.folder() + "' && mv program.debug dbg'" +
                           fixture_.folder() + "'"));
  EXPECT_FALSE(HasLines());
  EXPECT_TRUE(HasLines({.symfs = {}, .debug_dirs = {fixture_.File("dbg")}, .build_id_cache = {}}));
}

TEST_F(Separate, ByBuildId) {
  const std::string id =
      fixture_.Output("readelf -n whole | sed -n 's/.*Build ID: //p' | tr -d '\\n'");
  ASSERT_GT(id.size(), 10u);
  ASSERT_TRUE(fixture_.Run("mkdir -p dbg/.build-id/" + id.substr(0, 2) +
                           " && mv program.debug dbg/.build-id/" + id.substr(0, 2) + "/" +
                           id.substr(2) + ".debug"));
  EXPECT_TRUE(HasLines({.symfs = {}, .debug_dirs = {fixture_.File("dbg")}, .build_id_cache = {}}));
}

TEST_F(Separate, AWrongChecksumIsNotTaken) {
  AddLink();
  ASSERT_TRUE(fixture_.Run("printf x >>program.debug"));
  EXPECT_FALSE(HasLines());
}

TEST_F(Separate, AnotherBuildUnderThatBuildIdIsNotTaken) {
  const std::string id =
      fixture_.Output("readelf -n whole | sed -n 's/.*Build ID: //p' | tr -d '\\n'");
  ASSERT_TRUE(fixture_.Build(Gcc("-O1 -Wl,--build-id"), "other"));
  ASSERT_TRUE(fixture_.Run("mkdir -p dbg/.build-id/" + id.substr(0, 2) +
                           " && cp other dbg/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) +
                           ".debug"));
  EXPECT_FALSE(HasLines({.symfs = {}, .debug_dirs = {fixture_.File("dbg")}, .build_id_cache = {}}));
}

TEST(SplitFiles, AreFoundBesideTheProgramThatMoved) {
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(Gcc("-gsplit-dwarf"), "program"));
  ASSERT_TRUE(fixture.Run("mkdir moved && cp program moved/whole"));
  SourceLines before;
  const MappedProgram whole(fixture.File("program"));
  std::vector<std::vector<Frame>> expected;
  for (uint64_t at = whole.text_begin(); at < whole.text_end(); ++at)
    expected.push_back(FramesAt(before, whole, at));
  ASSERT_TRUE(fixture.Run("mv program *.dwo moved"));
  SourceLines after;
  const MappedProgram program(fixture.File("moved/program"));
  for (uint64_t at = program.text_begin(); at < program.text_end(); ++at)
    ASSERT_EQ(FramesAt(after, program, at), expected[at - program.text_begin()]);
  EXPECT_EQ(after.Problems(), std::vector<std::string>());
}

// Lines are in the program, inlined calls in the lost file.
TEST(SplitFiles, MissingOnesLeaveTheLinesAndAreReported) {
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(Gcc("-gsplit-dwarf"), "program"));
  ASSERT_TRUE(fixture.Run("rm *.dwo"));
  SourceLines lines;
  const MappedProgram program(fixture.File("program"));
  size_t with_lines = 0;
  for (uint64_t at = program.text_begin(); at < program.text_end(); ++at) {
    const std::vector<Frame> frames = FramesAt(lines, program, at);
    EXPECT_LE(frames.size(), 1u);
    with_lines += !frames.empty() && frames[0].line != 0;
  }
  EXPECT_GT(with_lines, 100u);
  ASSERT_EQ(lines.Problems().size(), 1u);
  EXPECT_NE(lines.Problems()[0].find("split debug file"), std::string::npos) << lines.Problems()[0];
}

// Neither unpacked, however much it claims to be, nor passed over in silence. Only binutils writes
// such sections still.
TEST(OldCompression, IsRead) {
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(Gcc(""), "program"));
  ASSERT_TRUE(fixture.Run("cp program old"));
  ASSERT_TRUE(fixture.Run("objcopy --compress-debug-sections=zlib-gnu old"));
  SourceLines lines;
  SourceLines of_old;
  const MappedProgram program(fixture.File("program"));
  const MappedProgram old(fixture.File("old"));
  for (uint64_t at = program.text_begin(); at < program.text_end(); ++at)
    EXPECT_EQ(FramesAt(of_old, old, at), FramesAt(lines, program, at)) << at;
  EXPECT_FALSE(FramesAt(of_old, old, old.text_begin()).empty());
  EXPECT_EQ(of_old.Problems(), std::vector<std::string>());
}

TEST(OldCompression, DamageIsReported) {
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(Gcc(""), "program"));
  ASSERT_TRUE(fixture.Run("objcopy --compress-debug-sections=zlib-gnu program"));
  std::ifstream file(fixture.File("program"), std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(file)), {});
  const size_t header = whole.find("ZLIB");
  ASSERT_NE(header, std::string::npos);
  for (const auto& [at, problem] : {std::pair<size_t, const char*>{0, "header is damaged"},
                                    {5, "unpack to more than 16 times"},
                                    {20, "cannot be unpacked"}}) {
    std::string damaged = whole;
    damaged[header + at] = static_cast<char>(damaged[header + at] ^ 0x7f);
    std::ofstream(fixture.File("damaged"), std::ios::binary) << damaged;
    SourceLines lines;
    const MappedProgram program(fixture.File("damaged"));
    EXPECT_TRUE(FramesAt(lines, program, program.text_begin()).empty());
    ASSERT_EQ(lines.Problems().size(), 1u);
    EXPECT_TRUE(lines.Problems()[0].contains(problem)) << lines.Problems()[0];
  }
}

TEST(SourceText, IsTheLineWithoutIndentation) {
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(Gcc(""), "program"));
  SourceLines lines;
  EXPECT_EQ(lines.Text(fixture.File("first.cc"), 6), "total += Square(i);");
  EXPECT_EQ(lines.Text(fixture.File("first.cc"), 0), "");
  EXPECT_EQ(lines.Text(fixture.File("first.cc"), 1000), "");
  EXPECT_EQ(lines.Text(fixture.File("none.cc"), 1), "");
}

// clang records the sources' checksums.
TEST(SourceText, OfAnotherVersionIsNotShown) {
  if (std::string(SOURCE_CLANG).ends_with("NOTFOUND")) GTEST_SKIP() << "no clang++-19";
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(SOURCE_CLANG " -gdwarf-5 -O1", "program"));
  const MappedProgram program(fixture.File("program"));
  const auto text_of_loop = [&] {
    SourceLines lines;
    for (uint64_t at = program.text_begin(); at < program.text_end(); ++at)
      if (const SourcePlace place = lines.Find(program.space(), program.Mapped(at));
          place.known() && place.frames[0].function == "Loop(int)" && place.frames[0].line == 8)
        return std::string(lines.Text(place.frames[0].file, 8));
    return std::string("not found");
  };
  EXPECT_EQ(text_of_loop(), "sink = total;");
  ASSERT_TRUE(fixture.Run("sed -i 's/total = 0/total = 1/' first.cc"));
  EXPECT_EQ(text_of_loop(), "");
}

TEST(Places, AreTheRangesInWhichNothingChanges) {
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(Gcc(""), "program"));
  const MappedProgram program(fixture.File("program"));
  SourceLines lines;
  for (uint64_t at = program.text_begin(); at < program.text_end();) {
    const uint64_t ip = program.Mapped(at);
    const SourcePlace place = lines.Find(program.space(), ip);
    ASSERT_LE(place.begin, ip);
    ASSERT_GT(place.end, ip);
    for (uint64_t inside = place.begin; inside < place.end; ++inside)
      ASSERT_EQ(lines.Find(program.space(), inside).frames.data(), place.frames.data());
    at += place.end - ip;
  }
  EXPECT_TRUE(lines.Find(program.space(), 0x42).frames.empty());
}

// Lines that an earlier SourceLines has read are in the cache.
class Kept : public testing::Test {
 protected:
  struct Answers {
    std::vector<std::vector<Frame>> frames;  // at every byte of .text
    std::vector<std::string> problems;
    bool by_reader = false;  // its program was started

    bool operator==(const Answers&) const = default;
  };

  ImageSearch Search() const {
    ImageSearch search;
    search.cache = fixture_.File("cache");
    return search;
  }
  Answers Read(const ImageSearch& search) const {
    SourceLines lines(search);
    const MappedProgram program(fixture_.File("program"));
    Answers answers;
    for (uint64_t at = program.text_begin(); at < program.text_end(); ++at)
      answers.frames.push_back(FramesAt(lines, program, at));
    answers.problems = lines.Problems();
    answers.by_reader = waitpid(-1, nullptr, WNOHANG) == 0;
    lines.Keep();
    return answers;
  }
  // A second time without the program, with the same answers.
  void ExpectKept() const {
    Answers first = Read(Search());
    EXPECT_TRUE(first.by_reader);
    EXPECT_EQ(first, Read({}));
    first.by_reader = false;
    EXPECT_EQ(Read(Search()), first);
  }
  const SourceFixture fixture_;
};

TEST_F(Kept, UnitsNeedNoReader) {
  ASSERT_TRUE(fixture_.Build(Gcc("-gz=zlib"), "program"));
  ExpectKept();
}

TEST_F(Kept, WhatNobodyAskedIsReadLater) {
  ASSERT_TRUE(fixture_.Build(Gcc(""), "program"));
  const MappedProgram program(fixture_.File("program"));
  const auto frames_of_first = [&] {
    SourceLines lines(Search());
    const std::vector<Frame> frames = FramesAt(lines, program, program.text_begin());
    EXPECT_FALSE(frames.empty());
    lines.Keep();
    return std::pair(frames, waitpid(-1, nullptr, WNOHANG) == 0);
  };
  const auto first = frames_of_first();
  EXPECT_TRUE(first.second);
  EXPECT_EQ(frames_of_first(), std::pair(first.first, false));
  EXPECT_EQ(Read(Search()), Read({}));
  EXPECT_FALSE(Read(Search()).by_reader);
}

TEST_F(Kept, AnotherBuildIsReadAnew) {
  ASSERT_TRUE(fixture_.Build(Gcc(""), "program"));
  const Answers before = Read(Search());
  ASSERT_TRUE(fixture_.Build(Gcc("-O0"), "program"));
  EXPECT_NE(Read({}).frames, before.frames);
  ExpectKept();
}

TEST_F(Kept, DamageIsAsIfNothingWereThere) {
  ASSERT_TRUE(fixture_.Build(Gcc(""), "program"));
  Read(Search());
  ASSERT_TRUE(fixture_.Run("for f in cache/lines-*.cache; do truncate -s -1 $f; done"));
  ExpectKept();
  ASSERT_TRUE(fixture_.Run(
      "for f in cache/lines-*.cache; do printf x | dd of=$f bs=1 seek=1000 conv=notrunc; done"));
  ExpectKept();
}

// Their other files may come and go.
TEST_F(Kept, SplitUnitsAreNot) {
  ASSERT_TRUE(fixture_.Build(Gcc("-gsplit-dwarf"), "program"));
  const Answers first = Read(Search());
  EXPECT_EQ(Read(Search()), first);
  EXPECT_TRUE(first.by_reader);
  ASSERT_TRUE(fixture_.Run("rm *.dwo"));
  EXPECT_EQ(Read(Search()).problems.size(), 1u);
}

// Random damage to the DWARF: whatever comes out, the process lives and the ranges are sane.
TEST(Damage, CostsLinesButNeverTheRun) {
  const SourceFixture fixture;
  ASSERT_TRUE(fixture.Build(Gcc(""), "program"));
  std::ostringstream stream;
  stream << std::ifstream(fixture.File("program"), std::ios::binary).rdbuf();
  const std::string original = stream.str();
  const MappedProgram program(fixture.File("program"));
  ASSERT_LT(program.debug_begin(), program.debug_end());
  std::mt19937 random(1);
  size_t reported = 0;
  for (int round = 0; round < 300; ++round) {
    std::string damaged = original;
    for (size_t count = 1 + random() % 8; count > 0; --count)
      damaged[program.debug_begin() + random() % (program.debug_end() - program.debug_begin())] =
          static_cast<char>(random());
    const std::string path = fixture.File("damaged");
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    SourceLines lines;
    const MappedProgram broken(path);
    for (uint64_t at = program.text_begin(); at < program.text_end(); ++at) {
      const uint64_t ip = program.Mapped(at);
      const SourcePlace place = lines.Find(broken.space(), ip);
      ASSERT_LE(place.begin, ip);
      ASSERT_GT(place.end, ip);
    }
    reported += lines.Problems().size();
    ASSERT_LE(lines.Problems().size(), 1u);
  }
  EXPECT_GT(reported, 20u);
}

class SharedImages : public testing::TestWithParam<const char*> {};

TEST_P(SharedImages, LikeLlvm) {
  FLOWBACK_NEEDS_TRACES();
  if (std::string(SOURCE_SYMBOLIZER).ends_with("NOTFOUND")) GTEST_SKIP() << "no llvm-symbolizer-19";
  const SourceFixture fixture;
  SourceLines lines;
  ExpectLlvmsFrames(fixture, golden::TracesFolder() / "generated/images/recorded" / GetParam(),
                    lines);
  EXPECT_EQ(lines.Problems(), std::vector<std::string>());
}

INSTANTIATE_TEST_SUITE_P(Images, SharedImages,
                         testing::Values("hello", "pool", "spin", "latency", "strings", "switch"),
                         [](const auto& variant) { return std::string(variant.param); });

}  // namespace
}  // namespace flowback::test
