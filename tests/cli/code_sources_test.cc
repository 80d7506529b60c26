// SPDX-License-Identifier: MIT
// --core, --kcore and --kallsyms on the command line.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flowback/decode/decoder.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/support/core_writer.h"
#include "tests/support/elf_writer.h"

namespace flowback::test {
namespace {

using nlohmann::json;

const std::string kRecording = "hase-2018-04-04/control_flow-20180404T163033.perf";
const std::string kCore = "hase-2018-04-04/control_flow-20180404T163033.coredump";
const std::string kOtherCore = "hase-2018-04-04/loopy-20180404T162955.coredump";

TEST(CodeSources, CoreDumpAloneGivesTheKnownFlow) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = RunFlowback(
      {"decode", "--as", "digest", Traces(kRecording), "--core", Traces(kCore), "--strict"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, "19731 1092 df52c17262245b01\n");
}

TEST(CodeSources, InfoTellsWhereEachImageWasReadFrom) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result =
      RunFlowback({"info", "--json", Traces(kRecording), "--core", Traces(kCore)});
  ASSERT_EQ(result.status, 0) << result.err;
  size_t seen = 0;
  const json info = json::parse(result.out);
  for (const json& image : info["images"]) {
    EXPECT_EQ(image["source"], "core dump") << image;
    EXPECT_EQ(image["rejected"], false) << image;
    const std::string path = image["path"];
    if (path != "[vdso]" && !path.ends_with("/control_flow")) continue;
    ++seen;
    EXPECT_EQ(image["verification"], path == "[vdso]" ? "build-id" : "unverified") << image;
  }
  EXPECT_EQ(seen, 2u);
  const ProgramResult text = RunFlowback({"info", Traces(kRecording), "--core", Traces(kCore)});
  EXPECT_NE(text.out.find("(core dump)"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("as it was when the core dump was written"), std::string::npos);
}

// The recording has no build-id of the program: only the trace can tell that this is another one.
TEST(CodeSources, ContradictionsNameTheLikelyWrongImage) {
  FLOWBACK_NEEDS_TRACES();
  const std::string wrong = Traces("hase-2018-04-04/loopy");
  for (const std::string_view name : DecoderNames()) {
    const std::string engine(name);
    const ProgramResult result = RunFlowback(
        {"decode", "--as", "branches", "--engine", engine, Traces(kRecording), "--image", wrong});
    EXPECT_EQ(result.status, 0);
    EXPECT_TRUE(result.err.contains("likely the wrong image: " + wrong + ", given for /home/"))
        << result.err;
    EXPECT_TRUE(result.err.contains("contradictions between code and trace lie in it"));
    EXPECT_FALSE(result.out.contains("file was not found")) << result.out;
    EXPECT_FALSE(result.err.contains("not used")) << "nothing ran in the vDSO: " << result.err;
  }
  const ProgramResult lines =
      RunFlowback({"decode", "--as", "branches", Traces(kRecording), "--image", wrong});
  EXPECT_TRUE(lines.out.contains("the instruction at 0x4006bf goes past the end of " + wrong))
      << lines.out;
  const ProgramResult info = RunFlowback({"info", Traces(kRecording), "--image", wrong});
  EXPECT_TRUE(info.out.contains("likely the wrong image: " + wrong)) << info.out;
}

TEST(CodeSources, TheRightImageIsNotBlamed) {
  FLOWBACK_NEEDS_TRACES();
  for (const std::string_view name : DecoderNames()) {
    const std::string engine(name);
    const ProgramResult result =
        RunFlowback({"decode", "--as", "digest", "--engine", engine, Traces(kRecording), "--image",
                     Traces("hase-2018-04-04/control_flow")});
    EXPECT_EQ(result.err, "");
  }
}

TEST(CodeSources, MissingImagesAreNamedWhereSomethingRan) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder empty;
  const ProgramResult result =
      RunFlowback({"decode", "--as", "digest", "--strict", "--build-id-cache", empty.File(""),
                   golden::TracesFolder() / "generated/hello/perf.data"});
  EXPECT_EQ(result.status, 7);
  EXPECT_TRUE(result.err.contains(
      "no code image of /recorded/hello (build-id 6a81eab040093625a17e226a3929bdc9cea4c408)"))
      << result.err;
  EXPECT_FALSE(result.err.contains("[vdso]")) << "nothing ran in it: " << result.err;
}

TEST(CodeSources, GivenImageOfNoUseIsTold) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const std::string other = folder / "images/recorded/jit";
  const std::vector<std::string> words = {folder / "hello/perf.data", "--symfs", folder / "images",
                                          "--image"};
  for (const auto& [image, why] :
       {std::pair(other, "no file of its name or build-id was mapped"),
        std::pair(other + "@0x1000", "nothing ran at its addresses"),
        std::pair(other + "@0x555555554000", "its addresses are taken")}) {
    std::vector<std::string> decode = {"decode", "--as", "digest"};
    std::vector<std::string> info = {"info"};
    for (std::vector<std::string>* command : {&decode, &info}) {
      command->insert(command->end(), words.begin(), words.end());
      command->push_back(image);
    }
    const std::string told = std::string("not used: ") + why;
    const ProgramResult decoded = RunFlowback(decode);
    EXPECT_TRUE(decoded.err.contains(other + ": " + told)) << decoded.err;
    EXPECT_TRUE(RunFlowback(info).out.contains(told));
  }
}

TEST(CodeSources, CoreDumpOfAnotherProcessIsWrongUsage) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result =
      RunFlowback({"decode", Traces(kRecording), "--core", Traces(kOtherCore)});
  EXPECT_EQ(result.status, 2) << result.err;
  EXPECT_NE(result.err.find("process 19233 (loopy)"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("the recording has 19731"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("try:"), std::string::npos) << result.err;
}

TEST(CodeSources, UnreadableFiles) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder scratch;
  const std::string packed = scratch.Write("core.zst", "\x28\xb5\x2f\xfd and so on");
  for (const std::string option : {"--core", "--kcore"}) {
    const ProgramResult result = RunFlowback({"decode", Traces(kRecording), option, packed});
    EXPECT_EQ(result.status, 8) << result.err;
    EXPECT_NE(result.err.find("zstd -d " + packed), std::string::npos) << result.err;
  }
  for (const std::string option : {"--core", "--kcore", "--kallsyms"}) {
    const ProgramResult result = RunFlowback({"decode", Traces(kRecording), option, "/nowhere"});
    EXPECT_EQ(result.status, 8) << result.err;
    EXPECT_NE(result.err.find("/nowhere"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace flowback::test
