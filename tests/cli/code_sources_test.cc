// SPDX-License-Identifier: MIT
// --core, --kcore and --kallsyms on the command line.
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

}  // namespace
}  // namespace flowback::test
