// SPDX-License-Identifier: MIT
// The options that name code, its folders and its symbols.
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

// The recording has no build-id of the program: only the trace shows that this is another one.
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
    EXPECT_TRUE(result.err.contains("contradictions between code and trace lie"));
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

// Bad words of an option are wrong usage, reported before anything is read.
void ExpectRefused(const std::vector<std::string>& option, const std::string& message) {
  const ScratchFolder scratch;
  std::vector<std::string> words = {"decode", "--raw-pt",
                                    scratch.Write("trace", std::string(64, '\0'))};
  words.insert(words.end(), option.begin(), option.end());
  for (const char* command : {"info", "decode"}) {
    words[0] = command;
    const ProgramResult result = RunFlowback(words);
    EXPECT_EQ(result.status, 2) << result.err;
    EXPECT_NE(result.err.find(message), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("\n  try: "), std::string::npos) << result.err;
  }
}

int StatusWith(const std::vector<std::string>& option) {
  const ScratchFolder scratch;
  std::vector<std::string> words = {"info", "--raw-pt",
                                    scratch.Write("trace", std::string(64, '\0'))};
  words.insert(words.end(), option.begin(), option.end());
  return RunFlowback(words).status;
}

// "image@zz" where "image" is there: the address is what is wrong, not the file's name.
TEST(CodeSources, ImageAtWhatIsNoAddress) {
  const ScratchFolder scratch;
  const std::string image = scratch.Write("image", std::string(4000, 'x'));
  ExpectRefused({"--image", image + "@zz"}, "--image " + image + "@zz: 'zz' is no address");
  const std::string whole = scratch.Write("image@zz", std::string(4000, 'x'));
  EXPECT_EQ(StatusWith({"--image", whole}), 8);  // it is found, and is no ELF file
}

TEST(CodeSources, FoldersThatDoNotExist) {
  const ScratchFolder scratch;
  const std::string nothing = scratch.File("nothing");
  const std::string file = scratch.Write("file", "x");
  for (const std::string option : {"--symfs", "--debug-dir", "--build-id-cache"}) {
    ExpectRefused({option, nothing}, option + " " + nothing + ": there is no such folder");
    ExpectRefused({option, file}, option + " " + file + ": is no folder");
    EXPECT_EQ(StatusWith({option, scratch.path()}), 0) << option;
  }
}

TEST(CodeSources, KernelSymbolsThatAreNone) {
  const ScratchFolder scratch;
  for (const std::string text : {"", "root:x:0:0:root:/root:/bin/sh\n"}) {
    const std::string list = scratch.Write("symbols", text);
    ExpectRefused({"--kallsyms", list}, "--kallsyms " + list + ": its first line is no symbol");
  }
  const std::string list = scratch.Write("symbols", "0000000000000000 A fixed_percpu_data\n");
  EXPECT_EQ(StatusWith({"--kallsyms", list}), 0);
}

}  // namespace
}  // namespace flowback::test
