// SPDX-License-Identifier: MIT
// What commands keep of a recording for later ones: it changes how fast they are, and nothing else.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;

double ChildrenSeconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A recorded stream many times over is a stream, long enough to be worth an index.
class Index : public ::testing::Test {
 protected:
  static constexpr size_t kWorth = size_t{4} << 20;

  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    from_ = golden::TracesFolder() / "intel-pt/dynamorio-v3_static_820k_sb";
    once_ = ReadFile(from_ / "pt.bin");
    ASSERT_FALSE(once_.empty());
    Repeat("long", 2 * kWorth);
  }
  void Repeat(const std::string& name, size_t bytes, const std::string& head = "") const {
    std::string all = head;
    while (all.size() < bytes) all += once_;
    folder_.Write(name, all);
  }
  std::string Words(const std::string& kind, const std::string& name = "long") const {
    return "decode --as " + kind + " --raw-pt " + name + " --cpu 6/85/4 --image " +
           (from_ / "hello").string();
  }
  ProgramResult Run(const std::string& words) const {
    return RunShell(folder_, "FLOWBACK_CACHE=c $F " + words);
  }
  // The kept files whose names begin so, by name.
  std::vector<fs::path> Kept(std::string_view of = "sums-") const {
    std::vector<fs::path> kept;
    if (!fs::exists(folder_.File("c"))) return kept;
    for (const auto& entry : fs::directory_iterator(folder_.File("c")))
      if (entry.path().filename().string().starts_with(of)) kept.push_back(entry.path());
    std::ranges::sort(kept);
    return kept;
  }
  static void ExpectSame(const ProgramResult& got, const ProgramResult& expected) {
    EXPECT_EQ(got.out, expected.out);
    EXPECT_EQ(got.err, expected.err);
    EXPECT_EQ(got.status, expected.status);
  }

  const ScratchFolder folder_;
  fs::path from_;
  std::string once_;
};

TEST_F(Index, ChangesNoOutput) {
  folder_.Write("noise", once_.substr(0, 3000) + "\x02\x77" + once_.substr(2000));
  Repeat("damaged", kWorth, once_.substr(0, 3000) + "\x02\x77" + once_.substr(2000));
  for (const char* recording : {"long", "damaged"})
    for (const char* kind : {"summary", "digest", "summary --json", "digest --by-cpu --strict",
                             "summary --by function", "summary --time 10%,20%"}) {
      const std::string words = Words(kind, recording);
      SCOPED_TRACE(words);
      const ProgramResult without = Run(words + " --no-index");
      for (int run = 0; run < 2; ++run) ExpectSame(Run(words), without);
    }
  EXPECT_EQ(Kept().size(), 2u);
}

// The recording is so long that decoding it takes some forty times as long as all else that the
// command does: a busy machine does not make that less than two.
TEST_F(Index, SavesDecoding) {
  Repeat("long", 8 * kWorth);
  const ProgramResult first = Run(Words("summary"));
  ASSERT_EQ(Kept().size(), 1u);
  double decoded = 1e9;
  double kept = 1e9;
  for (int run = 0; run < 3; ++run) {
    const double begin = ChildrenSeconds();
    ExpectSame(Run(Words("summary") + " --no-index"), first);
    const double middle = ChildrenSeconds();
    ExpectSame(Run(Words("summary")), first);
    decoded = std::min(decoded, middle - begin);
    kept = std::min(kept, ChildrenSeconds() - middle);
  }
  EXPECT_LT(kept, decoded / 2);
}

TEST_F(Index, IsKeptOnlyWhereItPaysAndMay) {
  Repeat("short", kWorth / 2);
  Run(Words("summary", "short"));
  Run(Words("summary") + " --no-index");
  Run(Words("summary") + " --no-cache");
  Run(Words("summary --time 10%,20%"));
  Run(Words("blocks") + " | head -n 1");
  EXPECT_TRUE(Kept().empty());
  Run(Words("digest"));
  EXPECT_EQ(Kept().size(), 1u);
}

TEST_F(Index, CutOrDamagedIsMadeAnew) {
  const ProgramResult first = Run(Words("digest"));
  ASSERT_EQ(Kept().size(), 1u);
  const std::string path = Kept().front();
  const std::string whole = ReadFile(path);
  for (size_t at = 0; at < whole.size(); at += 13) {
    std::string bad = at % 2 == 0 ? whole.substr(0, at) : whole;
    if (at % 2 != 0) bad[at] = static_cast<char>(bad[at] ^ 1);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bad;
    ExpectSame(Run(Words("digest")), first);
    EXPECT_EQ(ReadFile(path), whole);
  }
}

TEST_F(Index, OfAnotherRecordingIsNotTaken) {
  Repeat("other", 3 * kWorth);
  const ProgramResult first = Run(Words("digest"));
  const fs::path of_first = Kept().front();
  const ProgramResult other = Run(Words("digest", "other"));
  ASSERT_EQ(Kept().size(), 2u);
  EXPECT_NE(first.out, other.out);
  for (const fs::path& path : Kept())
    if (path != of_first) fs::copy_file(path, of_first, fs::copy_options::overwrite_existing);
  ExpectSame(Run(Words("digest")), first);
}

// The recording has the same name, but is another one.
TEST_F(Index, StaleIsNotTaken) {
  const ProgramResult first = Run(Words("digest"));
  Repeat("long", 3 * kWorth);
  const ProgramResult changed = Run(Words("digest"));
  EXPECT_NE(changed.out, first.out);
  ExpectSame(changed, Run(Words("digest") + " --no-index"));
}

// Whole, cut, or damaged: a stack is the one from playing the recording.
TEST_F(Index, GivesTheSameStacks) {
  Repeat("longer", 5 * kWorth);
  const auto words = [&](const std::string& at) {
    return "stack --at '" + at + "'" + Words("", "longer").substr(Words("", "").find(" --raw-pt"));
  };
  for (const char* at : {"end", "#1000", "#20000000"}) {
    SCOPED_TRACE(at);
    const ProgramResult played = Run(words(at) + " --no-index");
    for (int run = 0; run < 2; ++run) ExpectSame(Run(words(at)), played);
  }
  const std::vector<fs::path> kept = Kept("stacks-");
  ASSERT_EQ(kept.size(), 1U);
  const fs::path& path = kept.front();
  const std::string whole = ReadFile(path);
  const ProgramResult first = Run(words("#20000000"));
  for (const size_t at : {size_t{0}, whole.size() / 2, whole.size() - 1}) {
    const std::string cut = whole.substr(0, at);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << cut;
    ExpectSame(Run(words("#20000000")), first);
    // It is made anew, without what the pass of the index alone finds out.
    const std::string anew = ReadFile(path);
    EXPECT_NE(anew, cut);
    ExpectSame(Run(words("#20000000")), first);
    EXPECT_EQ(ReadFile(path), anew);
  }
}

// What an overview is made of: the index, and the account of times beside it. Whole, cut, damaged
// or the other one's, the overview is the same, and the file is made anew.
TEST_F(Index, GivesTheSameOverview) {
  Repeat("longer", 5 * kWorth);
  Repeat("other", 6 * kWorth);
  const auto words = [&](const std::string& name) {
    return "timeline --overview" + Words("", name).substr(Words("", "").find(" --raw-pt"));
  };
  const auto files = [&] {
    std::vector<fs::path> paths = Kept("flow-");
    std::ranges::copy(Kept("times-"), std::back_inserter(paths));
    return paths;
  };
  const ProgramResult first = Run(words("longer"));
  ASSERT_EQ(first.status, 0) << first.err;
  const std::vector<fs::path> kept = files();
  ASSERT_GE(kept.size(), 1U);
  ExpectSame(Run(words("longer")), first);
  EXPECT_NE(Run(words("other")).out, first.out);
  for (const fs::path& path : kept) {
    SCOPED_TRACE(path);
    const std::string whole = ReadFile(path);
    std::string damaged = whole;
    damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 1);
    std::vector<std::string> bad = {damaged, whole.substr(0, whole.size() / 2), ""};
    for (const fs::path& foreign : files())
      if (std::ranges::find(kept, foreign) == kept.end()) bad.push_back(ReadFile(foreign));
    for (const std::string& each : bad) {
      std::ofstream(path, std::ios::binary | std::ios::trunc) << each;
      ExpectSame(Run(words("longer")), first);
      EXPECT_TRUE(ReadFile(path) == whole) << each.size();
    }
  }
}

TEST_F(Index, NeedsNoFolderThatCanBeWritten) {
  const ProgramResult first = Run(Words("digest") + " --no-cache");
  folder_.Write("file", "");
  for (const char* cache : {"file", "file/below", "/proc/none", ""})
    for (int run = 0; run < 2; ++run)
      ExpectSame(
          RunShell(folder_, std::string("FLOWBACK_CACHE=") + cache + " $F " + Words("digest")),
          first);
}

TEST_F(Index, MayBeKeptByManyAtOnce) {
  const ProgramResult first = Run(Words("digest") + " --no-index");
  for (int round = 0; round < 5; ++round) {
    for (const fs::path& path : Kept()) fs::remove(path);
    const std::string one = "FLOWBACK_CACHE=c $F " + Words("digest");
    const ProgramResult all =
        RunShell(folder_, one + " >1 & " + one + " >2 & " + one + " >3; wait");
    EXPECT_EQ(all.err, "");
    for (const char* name : {"1", "2", "3"}) EXPECT_EQ(ReadFile(folder_.File(name)), first.out);
    EXPECT_EQ(Kept().size(), 1u);
    ExpectSame(Run(Words("digest")), first);
  }
}

}  // namespace
}  // namespace flowback::test
