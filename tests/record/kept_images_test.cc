// SPDX-License-Identifier: MIT
// A recording is decoded by the files that ran, whatever has become of them since.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/run_program.h"
#include "tests/support/host.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

std::string RecordProgram(const std::string& name) { return RecordedProgramsFolder() + "/" + name; }

// In a folder of its own, which is the cache's, too: $P is a program's copy, recorded into r.data.
class KeptImages : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_HOST(host::Trait::kTemporaryPrograms);
    if (GetParam() == std::string("step")) FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
    const ProgramResult trial =
        RunShell(folder_, "$F record --no-images --engine " + std::string(GetParam()) +
                              " -o trial -- " + RecordProgram("known"));
    if (trial.err.find("no emulator: ") != std::string::npos) GTEST_SKIP() << trial.err;
    Sh("cp " + RecordProgram("recursion") + " prog; chmod +w prog");
  }

  // The line has to end with 0.
  ProgramResult Sh(const std::string& line) {
    const ProgramResult result =
        RunShell(folder_, "export FLOWBACK_CACHE=$PWD/cache; R=\"$F record --engine " +
                              std::string(GetParam()) + " -o r.data\"; " + line);
    EXPECT_EQ(result.status, 0) << line << "\n" << result.out << result.err;
    return result;
  }

  // Does `change` to the program: what is decoded stays.
  void ExpectKept(const std::string& change, const std::string& program = "./prog") {
    const std::string said = Sh("$R -- " + program + " >/dev/null || test $? -lt 100").err;
    EXPECT_NE(said.find("0 % lost"), std::string::npos) << said;
    EXPECT_NE(said.find("record: images: "), std::string::npos) << said;
    const std::string truth = Sh("$F decode --as digest r.data").out;
    Sh(change);
    const ProgramResult after = Sh("$F decode --strict --no-cache --as digest r.data");
    EXPECT_EQ(after.out, truth);
    EXPECT_EQ(after.err, "");
    EXPECT_NE(Sh("$F info r.data").out.find("(kept image)"), std::string::npos);
  }

  ScratchFolder folder_;
};

TEST_P(KeptImages, AfterItWasDeleted) { ExpectKept("rm prog"); }

TEST_P(KeptImages, AfterItWasRebuilt) {
  ExpectKept("cp " + RecordProgram("known") + " new; mv -f new prog");
}

TEST_P(KeptImages, AfterItWasOverwrittenInPlace) {
  ExpectKept("cat " + RecordProgram("known") + " >prog");
}

TEST_P(KeptImages, WithoutABuildId) {
  Sh("cp " + RecordProgram("no_build_id") + " prog; chmod +w prog");
  ExpectKept("cat " + RecordProgram("known") + " >prog");
}

TEST_P(KeptImages, AndNotOneThatWasChangedThere) {
  Sh("cp " + RecordProgram("no_build_id") + " prog");
  Sh("$R -- ./prog >/dev/null; rm prog; chmod +w r.data.images/1-prog; "
     "printf X | dd of=r.data.images/1-prog bs=1 seek=20 conv=notrunc 2>/dev/null");
  const std::string said = Sh("$F info r.data").out;
  EXPECT_NE(said.find("is not as it was kept"), std::string::npos) << said;
}

TEST_P(KeptImages, OfAProgramThatDeletesItself) {
  Sh("cp " + RecordProgram("deletes_itself") + " prog; cp prog saved");
  Sh("$R -- ./prog; test ! -e prog; cmp saved r.data.images/1-prog");
  const ProgramResult decoded = Sh("$F decode --strict --as calls r.data");
  EXPECT_NE(decoded.out.find("AfterItIsGone"), std::string::npos) << decoded.out;
}

// No path leads to what runs: it is kept whole where the kernel lets us, else by the pages that
// ran.
TEST_P(KeptImages, OfAProgramInMemoryOnly) {
  Sh("$R -- " + RecordProgram("in_memory") + " ./prog >/dev/null; rm prog");
  const ProgramResult decoded = Sh("$F decode --strict --as digest r.data; ls r.data.images");
  const bool whole = decoded.out.find("memfd_copy") != std::string::npos;
  EXPECT_EQ(Sh("$F info r.data").out.find("memfd:copy") != std::string::npos,
            whole || GetParam() == std::string("step"))
      << decoded.out;
}

// One program after the other at the same path, in one recording.
TEST_P(KeptImages, OfTwoProgramsOfOnePath) {
  if (GetParam() == std::string("step")) GTEST_SKIP() << "a shell takes a minute to step";
  Sh("printf '#!/bin/sh\\n./prog\\ncp " + RecordProgram("known") +
     " new; mv -f new prog; ./prog\\n:\\n' >both; chmod +x both; cp " +
     RecordProgram("no_build_id") + " prog");
  ExpectKept("rm prog", "./both");
  const std::string script = Sh("cat r.data.images/1-both").out;
  EXPECT_EQ(script.substr(0, 9), "#!/bin/sh");
}

TEST_P(KeptImages, AreSharedByRecordings) {
  Sh("$R -- ./prog >/dev/null; mv r.data a.data; mv r.data.images a.data.images");
  const std::string said = Sh("$R -- ./prog >/dev/null").err;
  EXPECT_NE(said.find("of it shared with earlier recordings"), std::string::npos) << said;
  Sh("test a.data.images/1-prog -ef r.data.images/1-prog; "
     "test $(stat -c %i prog) != $(stat -c %i r.data.images/1-prog)");
  Sh("rm -r a.data.images; $F decode --strict --as digest r.data");
}

TEST_P(KeptImages, AreRenamedWithAnOlderRecording) {
  Sh("$R -- ./prog >/dev/null; $F decode --as digest r.data >truth; $R -- " +
     RecordProgram("known") + " >/dev/null; rm prog");
  Sh("test -d r.data.old.images; $F decode --strict --as digest r.data.old | cmp - truth");
  Sh("$R -- " + RecordProgram("known") + "; test \"$(ls r.data.old.images | grep known)\"");
}

TEST_P(KeptImages, OnlyIfTheyAreWanted) {
  const std::string said = Sh("$R --no-images -- ./prog >/dev/null; test ! -e r.data.images").err;
  EXPECT_EQ(said.find("images"), std::string::npos) << said;
  Sh("rm prog; $F decode --as digest r.data >/dev/null; ! $F decode --strict --as digest r.data");
}

TEST_P(KeptImages, NotBesideAPipe) {
  const std::string said =
      Sh("${R% -o*} -o - -- ./prog 2>said | $F info - >/dev/null; cat said >&2").err;
  EXPECT_NE(said.find("images: none, for nothing stands beside a pipe"), std::string::npos) << said;
  Sh("test ! -e r.data.images; test ! -e ./-.images");
}

TEST_P(KeptImages, AFolderThatOthersMayWriteToIsNotShared) {
  const std::string said =
      Sh("mkdir -p cache/images; chmod 777 cache/images; $R -- ./prog >/dev/null").err;
  EXPECT_NE(said.find("images are not shared with other recordings: others than its owner"),
            std::string::npos)
      << said;
  Sh("test -z \"$(ls cache/images)\"; rm prog; $F decode --strict --as digest r.data");
}

// Nor is a copy there that somebody has changed.
TEST_P(KeptImages, ACopyOfOtherBytesIsNotShared) {
  Sh("$R -- ./prog >/dev/null; rm -r r.data*; chmod +w cache/images/*; "
     "for f in cache/images/*; do printf X | dd of=$f bs=1 seek=300 conv=notrunc 2>/dev/null; "
     "done");
  Sh("$R -- ./prog >/dev/null; cmp prog r.data.images/1-prog");
}

// The system's limit on files stands for a full disk.
TEST_P(KeptImages, WhatDoesNotFitIsSaid) {
  if (GetParam() != std::string("step")) GTEST_SKIP() << "QEMU needs shared memory, a large file";
  const ProgramResult result =
      Sh("truncate -s 900K prog; (ulimit -f 256; $R -- ./prog >/dev/null)");
  EXPECT_NE(result.err.find("prog' is not kept with the recording: File too large"),
            std::string::npos)
      << result.err;
  Sh("test -z \"$(ls r.data.images | grep prog)\"; ls cache/images | grep -c new- && exit 1; "
     "$F decode --strict --as digest r.data");
}

TEST_P(KeptImages, ADeviceHasNothingBesideIt) {
  const std::string said =
      Sh("$F record --engine step -o /dev/null -- ./prog >/dev/null; test ! -e /dev/null.images")
          .err;
  EXPECT_NE(said.find("no regular file"), std::string::npos) << said;
}

INSTANTIATE_TEST_SUITE_P(Engines, KeptImages, testing::Values("emulate", "step"),
                         [](const auto& engine) { return std::string(engine.param); });

}  // namespace
}  // namespace flowback::test
