// SPDX-License-Identifier: MIT
// The options that name code, its folders and its symbols.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

// What is wrong with the words of an option is wrong usage, told before anything is read.
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
