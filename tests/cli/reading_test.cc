// SPDX-License-Identifier: MIT
// What readers take for their input, write to, choose and sum up.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/name_pattern.h"
#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/host.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Reading : public ::testing::Test {
 protected:
  static fs::path Generated() { return golden::TracesFolder() / "generated"; }
  static fs::path Image() { return Generated() / "images/recorded/hello"; }
  // Copies may be destroyed.
  std::string Copy(const fs::path& from, const std::string& name) const {
    const std::string path = folder_.File(name);
    fs::create_directories(fs::path(path).parent_path());
    fs::copy_file(from, path);
    fs::permissions(path, fs::perms::owner_write, fs::perm_options::add);
    return path;
  }
  std::string Hello() const { return Copy(Generated() / "hello/perf.data", "perf.data"); }

  // The file is refused as output, for the reason, by both commands, and stays as it is.
  static void ExpectRefused(const std::vector<std::string>& words, const std::string& file,
                            const std::string& output, const std::string& why) {
    const std::string before = ReadFile(file);
    for (const std::string command : {"decode", "info"}) {
      std::vector<std::string> all = {command};
      all.insert(all.end(), words.begin(), words.end());
      all.insert(all.end(), {"-o", output});
      const ProgramResult result = RunFlowback(all);
      EXPECT_EQ(result.status, 2) << command << ' ' << output << ": " << result.err;
      EXPECT_TRUE(result.err.contains(why)) << command << ' ' << output << ": " << result.err;
      ASSERT_TRUE(before == ReadFile(file)) << command << " has destroyed " << file;
    }
  }

  ScratchFolder folder_;
};

constexpr char kIsRead[] = "is read here";

TEST_F(Reading, OutputThatIsTheInputByWhateverNameIsRefused) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = Hello();
  fs::create_hard_link(file, folder_.File("hard"));
  fs::create_symlink(file, folder_.File("soft"));
  for (const char* name : {"perf.data", "hard", "soft", "../"}) {
    const std::string output =
        std::string(name) == "../"
            ? folder_.path() + "/../" + fs::path(folder_.path()).filename().string() + "/perf.data"
            : folder_.File(name);
    ExpectRefused({file}, file, output, kIsRead);
    ExpectRefused({file, "--force"}, file, output, kIsRead);
  }
  const std::string before = ReadFile(file);
  EXPECT_EQ(RunShell(folder_, "$F decode - -o perf.data < perf.data 2> messages").status, 2);
  EXPECT_EQ(
      RunShell(folder_, "$F info perf.data -o /proc/self/fd/3 3<> perf.data 2>> messages").status,
      2);
  EXPECT_TRUE(before == ReadFile(file)) << ReadFile(folder_.File("messages"));
}

TEST_F(Reading, OutputThatIsAnotherFileInUseIsRefused) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = Hello();
  const std::string image = Copy(Image(), "hello");
  ExpectRefused({file, "--image", image + "@0x555555554000", "--force"}, image, image, kIsRead);
  ExpectRefused({file, "--section", image + ":0:0x1000:0x400000", "--force"}, image, image,
                kIsRead);
  const std::string raw = Copy(Generated() / "hello/pt-1.bin", "pt.bin");
  ExpectRefused({"--raw-pt", raw, "--image", image}, raw, raw, kIsRead);
  const std::string names = folder_.Write("kallsyms", "ffffffff81000000 T _stext\n");
  ExpectRefused({file, "--kallsyms", names}, names, names, kIsRead);
}

TEST_F(Reading, OutputThatIsACoreDumpOrSidebandIsRefused) {
  FLOWBACK_NEEDS_TRACES();
  const std::string hase = Traces("hase-2018-04-04/");
  const std::string file = Copy(hase + "control_flow-20180404T163033.perf", "perf.data");
  const std::string core = Copy(hase + "control_flow-20180404T163033.coredump", "core");
  ExpectRefused({file, "--core", core, "--force"}, core, core, kIsRead);
  const std::string dynamorio = Traces("dynamorio-v3_static_820k_sb/");
  const std::string raw = Copy(dynamorio + "pt.bin", "pt.bin");
  const std::string sideband = Copy(dynamorio + "sideband.pevent", "sideband.pevent");
  ExpectRefused(
      {"--raw-pt", raw, "--pevent", sideband, "--sample-type", "0x10086", "--cpu", "6/85/4"},
      sideband, sideband, kIsRead);
}

// A recording that is a folder, and what was kept beside one that is a file.
TEST_F(Reading, OutputThatBelongsToTheRecordingIsRefused) {
  FLOWBACK_NEEDS_TRACES();
  const fs::path bundle = folder_.File("bundle");
  fs::copy(Traces("lldb/intelpt-trace-multi-file"), bundle, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(bundle)) {
    if (!entry.is_regular_file()) continue;
    fs::permissions(entry.path(), fs::perms::owner_write, fs::perm_options::add);
  }
  for (const char* name : {"multi-file-no-ld.json"}) {
    const fs::path file = bundle / name;
    ASSERT_TRUE(fs::exists(file));
    ExpectRefused({file, "--force"}, file, file, kIsRead);
    for (const auto& entry : fs::recursive_directory_iterator(bundle))
      if (entry.path().extension() == ".trace")
        ExpectRefused({file, "--force"}, entry.path(), entry.path(), kIsRead);
  }
  const std::string file = Hello();
  const std::string code = folder_.Write("perf.data.code", "code that was made at run time");
  ExpectRefused({file}, code, code, kIsRead);
  const fs::path whole = folder_.File("folder");
  fs::create_directories(whole);
  const std::string data = Copy(Generated() / "hello/perf.data", "folder/data");
  ExpectRefused({whole, "--force"}, data, data, kIsRead);
}

TEST_F(Reading, RecordingsAndElfFilesAreOverwrittenOnlyByForce) {
  FLOWBACK_NEEDS_TRACES();
  const std::string file = Hello();
  for (const auto& [path, what] :
       {std::pair(Copy(Generated() / "retmix/perf.data", "other.data"), "a recording"),
        std::pair(Copy(Image(), "program"), "an ELF file")}) {
    ExpectRefused({file}, path, path, what);
    for (const char* command : {"decode", "info"})
      EXPECT_EQ(RunFlowback({command, file, "-o", path, "--force"}).status, 0);
    EXPECT_FALSE(ReadFile(path).empty());
    EXPECT_FALSE(ReadFile(path).starts_with("PERFILE2"));
  }
  // Its own output it may always overwrite, and nothing of a longer one stays.
  const std::string output = folder_.Write("output", std::string(1 << 20, 'x'));
  ASSERT_EQ(RunFlowback({"info", file, "-o", output}).status, 0);
  EXPECT_FALSE(ReadFile(output).contains('x' + std::string("xxx")));
}

TEST_F(Reading, TheInputIsPerfDataWhereNoneIsNamed) {
  FLOWBACK_NEEDS_TRACES();
  const RunOptions here{.folder = folder_.path()};
  for (const char* command : {"decode", "info"}) {
    const ProgramResult none = RunFlowback({command}, here);
    EXPECT_EQ(none.status, 2);
    EXPECT_TRUE(none.err.contains("no perf.data")) << none.err;
    EXPECT_TRUE(none.err.contains("flowback record")) << none.err;
  }
  const std::string file = Hello();
  const ProgramResult named = RunFlowback({"decode", "--as", "digest", "perf.data"}, here);
  const ProgramResult result = RunFlowback({"decode", "--as", "digest"}, here);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, named.out);
  const std::string raw = Copy(Generated() / "hello/pt-1.bin", "pt.bin");
  EXPECT_FALSE(RunFlowback({"info", "--raw-pt", raw}, here).out.contains("perf.data"));
}

TEST_F(Reading, RecordTakesThePlaceOfRecordingsOnly) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const std::string notes = folder_.Write("notes.txt", "mine\n");
  const std::vector<std::string> words = {"record", "-o", notes, "--", "true"};
  const ProgramResult refused = RunFlowback(words);
  EXPECT_EQ(refused.status, 125) << refused.err;
  EXPECT_TRUE(refused.err.contains("is no recording")) << refused.err;
  EXPECT_TRUE(refused.err.contains("--force")) << refused.err;
  EXPECT_EQ(ReadFile(notes), "mine\n");
  const ProgramResult forced = RunFlowback({"record", "--force", "-o", notes, "--", "true"});
  EXPECT_EQ(forced.status, 0) << forced.err;
  EXPECT_EQ(ReadFile(notes + ".old"), "mine\n");
  const std::string first = ReadFile(notes);
  EXPECT_EQ(RunFlowback(words).status, 0) << "a recording makes way";
  EXPECT_TRUE(ReadFile(notes + ".old") == first);
}

TEST_F(Reading, TheUsualEngineIsTakenSilently) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const auto record = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"record", "-o", folder_.File("perf.data")});
    words.insert(words.end(), {"--max-instructions", "100", "--", "/bin/true"});
    return RunFlowback(words).err;
  };
  EXPECT_TRUE(record({"--verbose"}).contains("--engine auto takes"));
  const std::string usual = record({});
  EXPECT_FALSE(usual.contains("takes 'emulate'")) << usual;
}

// The recordings' images are found there.
std::vector<std::string> Decode(const std::string& recording, std::vector<std::string> words) {
  const fs::path folder = golden::TracesFolder() / "generated";
  words.insert(words.begin(),
               {"decode", folder / recording / "perf.data", "--symfs", folder / "images"});
  const ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 0) << result.err;
  return Lines(result.out);
}

// How often each line comes.
std::map<std::string, uint64_t> Counts(const std::vector<std::string>& lines) {
  std::map<std::string, uint64_t> counts;
  for (const std::string& line : lines) ++counts[line];
  return counts;
}

TEST_F(Reading, FunctionChoosesWhatExecutedInIt) {
  FLOWBACK_NEEDS_TRACES();
  const std::vector<std::string> all =
      Decode("retmix", {"--as", "instructions", "-F", "sym,ip", "--no-pager"});
  std::vector<std::string> wanted;
  for (const std::string& line : all)
    if (line.ends_with(" main")) wanted.push_back(line);
  ASSERT_FALSE(wanted.empty());
  ASSERT_LT(wanted.size(), all.size());
  for (const char* name : {"main", "mai?", "/^main$/"})
    EXPECT_TRUE(wanted == Decode("retmix", {"-F", "sym,ip", "--function", name})) << name;
  for (const char* kind : {"lines", "blocks", "branches"}) {
    const size_t some = Decode("retmix", {"--as", kind, "--function", "main"}).size();
    EXPECT_GT(some, 0u) << kind;
    EXPECT_LT(some, Decode("retmix", {"--as", kind}).size()) << kind;
  }
}

TEST_F(Reading, FunctionIsKnownByAllItsNames) {
  FLOWBACK_NEEDS_TRACES();
  const auto calls = [](const char* name) {
    return Decode("hello", {"--as", "calls", "--function", name});
  };
  const std::vector<std::string> known = calls("main");
  EXPECT_FALSE(known.empty());
  EXPECT_EQ(calls("/^mai[n]$/"), known);
  // libc's tables have both names, at one place.
  const std::vector<std::string> exits = calls("_exit");
  EXPECT_FALSE(exits.empty());
  EXPECT_EQ(calls("_Exit"), exits);
  EXPECT_EQ(calls("_exit@GLIBC_2.2.5"), exits);
  EXPECT_TRUE(
      RunFlowback({"decode", Generated() / "hello/perf.data", "--symfs", Generated() / "images",
                   "--as", "calls", "--function", "_exit@GLIBC_9.9"})
          .out.find("->") == std::string::npos);
}

TEST_F(Reading, FunctionThatIsNotThereHasANearOne) {
  FLOWBACK_NEEDS_TRACES();
  const auto warning = [](const char* name) {
    return RunFlowback({"decode", Generated() / "hello/perf.data", "--symfs",
                        Generated() / "images", "--as", "calls", "--function", name})
        .err;
  };
  EXPECT_TRUE(warning("mian").contains("did you mean 'main'?")) << warning("mian");
  EXPECT_FALSE(warning("quite_another_name_of_nothing").contains("did you mean"));
  const ProgramResult broken =
      RunFlowback({"decode", Generated() / "hello/perf.data", "--function", "/(/"});
  EXPECT_EQ(broken.status, 2);
  EXPECT_TRUE(broken.err.contains("no regular expression")) << broken.err;
}

TEST_F(Reading, OwnRecordingsKnowTheTimeOfDay) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const std::string file = folder_.File("perf.data");
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const double before = now();
  ASSERT_EQ(RunFlowback({"record", "--engine", "step", "-o", file, "--", "/bin/true"}).status, 0);
  const double after = now();
  // Local time with its zone, as `date` reads it.
  const ProgramResult seconds = RunShell(
      folder_, "date -d \"$($F decode perf.data -F time --tod | grep -v '^#' | head -1)\" +%s.%N");
  ASSERT_EQ(seconds.status, 0) << seconds.err;
  const double shown = std::stod(seconds.out);
  EXPECT_GT(shown, before - 1);
  EXPECT_LT(shown, after + 1);
  ASSERT_EQ(RunFlowback({"record", "--engine", "step", "--clock", "instructions", "-o", file, "--",
                         "/bin/true"})
                .status,
            0);
  const ProgramResult unknown = RunFlowback({"decode", file, "--tod"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(unknown.err.contains("--tod: the recording does not say")) << unknown.err;
  EXPECT_TRUE(unknown.err.contains("leave --tod out")) << unknown.err;
}

TEST_F(Reading, RecordBeginsAtAnyFunctionOfAPattern) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const std::string file = folder_.File("perf.data");
  for (const char* from : {"_ex?t", "/^_exit$/", "_exit"}) {
    ASSERT_EQ(
        RunFlowback({"record", "--engine", "step", "--from", from, "-o", file, "--", "/bin/true"})
            .status,
        0)
        << from;
    const ProgramResult first =
        RunShell(folder_, "$F decode perf.data --as calls -F tid | grep -v '^#' | head -1");
    EXPECT_TRUE(first.out.contains("_exit")) << from << ": " << first.out;
  }
  EXPECT_EQ(RunFlowback({"record", "--from", "/(/", "-o", file, "--", "/bin/true"}).status, 125);
}

TEST_F(Reading, RecordTellsTheFunctionNearestToAMissingOne) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const ProgramResult result = RunFlowback({"record", "--engine", "step", "--from", "_exti", "-o",
                                            folder_.File("perf.data"), "--", "/bin/true"});
  EXPECT_EQ(result.status, 125);
  EXPECT_TRUE(result.err.contains("--from _exti (did you mean '_exit'?)")) << result.err;
}

TEST_F(Reading, SnapshotsThatOverlapAreARemark) {
  FLOWBACK_NEEDS_HOST(host::Trait::kPtrace);
  const std::string file = folder_.File("perf.data");
  // Signals that come together are one: the program waits between them, for what the pipe's other
  // end says half a second after it was opened.
  const ProgramResult recorded =
      RunShell(folder_,
               "mkfifo pipe; { sleep 0.5; echo; } >pipe & $F record --engine step -S 64K -o "
               "perf.data -- /bin/sh -c 'kill -USR2 $PPID; read x <pipe; kill -USR2 $PPID'");
  ASSERT_EQ(recorded.status, 0) << recorded.err;
  const ProgramResult info = RunFlowback({"info", "--strict", file});
  EXPECT_EQ(info.status, 0) << info.err;
  EXPECT_TRUE(info.out.contains("remark:       pieces of the trace overlap")) << info.out;
  EXPECT_FALSE(info.out.contains("damage:")) << info.out;
}

bool Fits(const std::string& pattern, std::string_view name) {
  const Result<NamePattern> parsed = NamePattern::Parse(pattern);
  return parsed && parsed->Matches(name);
}

TEST(NamePatternTest, PlainNamesGoWithoutParametersVersionsAndCopies) {
  for (const char* name : {"f", "f(int)", "f<int>(int)", "f@@V2", "f@V1", "f.cold", "f.isra.0",
                           "f(int) [clone .cold]", "f.constprop.0"})
    EXPECT_TRUE(Fits("f", name)) << name;
  for (const char* name : {"f@plt", "ff", "g(f)", "n::f", "f.g", ""})
    EXPECT_FALSE(Fits("f", name)) << name;
  EXPECT_TRUE(Fits("f@plt", "f@plt"));
  EXPECT_TRUE(Fits("f@V2", "f@@V2"));
  EXPECT_FALSE(Fits("f@V1", "f@@V2"));
  EXPECT_FALSE(Fits("f@V1", "f"));
  EXPECT_TRUE(Fits("(anonymous namespace)::f", "(anonymous namespace)::f(int)"));
  EXPECT_TRUE(Fits("f(int*)", "f(int*)"));
}

TEST(NamePatternTest, AnonymousNamespacesNeedNotBeWritten) {
  for (const char* name : {"(anonymous namespace)::f(int)", "(anonymous namespace)::f",
                           "(anonymous namespace)::(anonymous namespace)::f<n::g>(int)",
                           "(anonymous namespace)::f(int) [clone .cold]"})
    EXPECT_TRUE(Fits("f", name)) << name;
  EXPECT_TRUE(Fits("n::f", "n::(anonymous namespace)::f(int)"));
  EXPECT_TRUE(Fits("n::*", "n::(anonymous namespace)::f(int)"));
  EXPECT_TRUE(Fits("f((anonymous namespace)::T)", "f((anonymous namespace)::T)"));
  EXPECT_TRUE(Fits("f(T)", "f((anonymous namespace)::T)"));
  EXPECT_TRUE(Fits("(anonymous namespace)::f", "(anonymous namespace)::f(int)"));
  EXPECT_FALSE(Fits("f", "n::(anonymous namespace)::f(int)"));
  EXPECT_FALSE(Fits("g", "f((anonymous namespace)::g)"));
  EXPECT_FALSE(Fits("(anonymous namespace)::f", "f(int)"));
}

TEST(NamePatternTest, WildcardsFitTheWholeName) {
  EXPECT_TRUE(Fits("str*", "strlen"));
  EXPECT_TRUE(Fits("*str*cpy", "__strncpy"));
  EXPECT_TRUE(Fits("f?", "fg(int)"));
  EXPECT_FALSE(Fits("f?", "f"));
  EXPECT_FALSE(Fits("str*", "astr"));
  EXPECT_FALSE(Fits("*a*a*a*a*a*a*a*a*b", std::string(4000, 'a'))) << "and that soon";
}

TEST(NamePatternTest, ExpressionsFitWhereTheyAreFound) {
  EXPECT_TRUE(Fits("/len|cpy/", "strcpy"));
  EXPECT_FALSE(Fits("/^len/", "strlen"));
  EXPECT_FALSE(NamePattern::Parse("/(/"));
  EXPECT_TRUE(Fits("/", "/")) << "an odd name, but no expression";
}

class ReadingShares : public Reading, public ::testing::WithParamInterface<std::string> {};

// Counting the listing's lines gives the same.
TEST_P(ReadingShares, AreWhatTheListingCounts) {
  FLOWBACK_NEEDS_TRACES();
  const std::string recording = GetParam();
  struct Case {
    const char* by;
    const char* field;
    const char* key;
  };
  for (const Case& one : {Case{"function", "sym", "function"}, Case{"object", "dso", "object"}}) {
    const auto counts = Counts(Decode(recording, {"-F", one.field}));
    std::map<std::string, uint64_t> shares;
    uint64_t sum = 0;
    uint64_t calls = 0;
    uint64_t call_instructions = 0;
    uint64_t last = UINT64_MAX;
    double parts = 0;
    json total;
    for (const std::string& line :
         Decode(recording, {"--as", "summary", "--by", one.by, "--json"})) {
      const json object = json::parse(line);
      if (object.contains("schema")) continue;
      if (object["type"] == "total") {
        total = object;
        continue;
      }
      EXPECT_EQ(object["type"], one.by);
      const uint64_t count = object["instructions"];
      EXPECT_LE(count, last) << "most first";
      last = count;
      sum += count;
      calls += object["calls"].get<uint64_t>();
      call_instructions += object["call_instructions"].get<uint64_t>();
      parts += object["share"].get<double>();
      const std::string name =
          object[one.key].is_null() ? "[unknown]" : object[one.key].get<std::string>();
      if (count != 0) shares[name] += count;
    }
    EXPECT_EQ(shares, counts) << one.by;
    EXPECT_EQ(total["instructions"], sum);
    EXPECT_EQ(total["calls"], calls);
    EXPECT_EQ(total["call_instructions"], call_instructions);
    EXPECT_NEAR(parts, 1, 0.001);
    json summary;
    for (const std::string& line : Decode(recording, {"--as", "summary", "--json"}))
      summary = json::parse(line);
    EXPECT_EQ(summary["instructions"], sum);
    EXPECT_EQ(summary["calls"].get<uint64_t>() + summary["indirect_calls"].get<uint64_t>(),
              call_instructions);
  }
}

TEST_P(ReadingShares, AreTheSameForAnyNumberOfThreads) {
  FLOWBACK_NEEDS_TRACES();
  for (const char* by : {"function", "object", "line"}) {
    const std::vector<std::string> one =
        Decode(GetParam(), {"--as", "summary", "--by", by, "--threads", "1"});
    EXPECT_EQ(one, Decode(GetParam(), {"--as", "summary", "--by", by, "--threads", "3"})) << by;
    ASSERT_FALSE(one.empty());
    EXPECT_TRUE(one.back().ends_with("  all")) << one.back();
  }
}

INSTANTIATE_TEST_SUITE_P(All, ReadingShares, ::testing::Values("hello", "retmix", "pool-perthread"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace flowback::test
