// SPDX-License-Identifier: MIT
// An index that was kept is the index that is made anew; one that is cut, damaged, stale, of
// another program or out of reach is as none.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/own_build.h"
#include "decode/code/cache/disk_cache.h"
#include "flowback/replay/thread_cursor.h"
#include "replay/flow/index_content.h"
#include "tests/code/temporary_folder.h"
#include "tests/differential/harness.h"
#include "tests/support/random.h"
#include "tests/threads/cursor_elements.h"
#include "tests/threads/divided_stream.h"

namespace flowback::testing {
namespace {

using namespace cursor_elements;
using FileBytes = std::vector<uint8_t>;

constexpr char kKey[] = "flow-test";

GeneratorOptions Options(uint64_t seed, uint64_t instructions) {
  GeneratorOptions options = MixedOptions(seed);
  options.instructions = instructions;
  return options;
}

// A stream that stays divide, and the indexes that a folder keeps of it.
class KeptIndex {
 public:
  explicit KeptIndex(uint64_t seed, uint64_t instructions = 20'000, Change change = Change::kNone)
      : subject_(GenerateStream(Options(seed, instructions))),
        divided_(subject_, change),
        input_(divided_.Input(Resync::kEarliest)) {
    for (const FlowPiece& piece : divided_.Pieces())
      flows_.push_back({.tid = piece.stay->tid, .pieces = {piece}});
  }

  // By a decoder that has seen nothing: as in a process of its own.
  Result<FlowIndex> Open(const std::string& folder, Decoder& decoder,
                         const std::string& key = kKey) const {
    return FlowIndex::Open({{&divided_.stream(), &input_}}, flows_, decoder,
                           {.times = true, .segment_bytes = 500},
                           {.folder = folder, .worth_milliseconds = 0, .key = key});
  }
  // All elements of all threads, forward and backward.
  static std::vector<std::vector<Element>> Flow(FlowIndex& index) {
    std::vector<std::vector<Element>> flow;
    for (const IndexedThread& thread : index.threads()) {
      ThreadCursor cursor(index, thread);
      flow.push_back(Forward(cursor));
      EXPECT_EQ(Difference(Backward(cursor), flow.back()), "");
    }
    return flow;
  }

 private:
  Subject subject_;
  DividedStream divided_;
  DecodeInput input_;
  std::vector<ThreadFlow> flows_;
};

FileBytes ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return FileBytes(std::istreambuf_iterator<char>(file), {});
}

void WriteAll(const std::string& path, const FileBytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

class IndexFile : public ::testing::Test {
 protected:
  std::string folder() const { return folder_.path(); }
  std::string file() const { return folder() + "/" + kKey + ".cache"; }
  // Whether the index was read, not made; its flow is the same in any case.
  bool IsRead(const KeptIndex& kept, const std::string& folder) {
    const std::unique_ptr<Decoder> decoder = Native();
    Result<FlowIndex> index = kept.Open(folder, *decoder);
    EXPECT_TRUE(index) << index.error().message();
    if (!index) return false;
    const auto flow = KeptIndex::Flow(*index);
    if (flow_.empty()) flow_ = flow;
    EXPECT_TRUE(flow == flow_);
    return index->from_cache();
  }

 private:
  const TemporaryFolder folder_;
  std::vector<std::vector<Element>> flow_;
};

TEST_F(IndexFile, IsTheIndexThatWasMade) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Change change = static_cast<Change>(seed % 4);
    const KeptIndex kept(seed, 20'000, change);
    const TemporaryFolder here;
    const std::unique_ptr<Decoder> maker = Native();
    const std::unique_ptr<Decoder> reader = Native();
    Result<FlowIndex> made = kept.Open(here.path(), *maker);
    Result<FlowIndex> read = kept.Open(here.path(), *reader);
    ASSERT_TRUE(made && read);
    EXPECT_FALSE(made->from_cache());
    ASSERT_TRUE(read->from_cache());
    EXPECT_EQ(made->segments(), read->segments());
    EXPECT_TRUE(KeptIndex::Flow(*made) == KeptIndex::Flow(*read));
    ASSERT_EQ(made->profile().size(), read->profile().size());
    for (size_t i = 0; i < made->profile().size(); ++i) {
      EXPECT_EQ(made->profile()[i].address, read->profile()[i].address);
      EXPECT_EQ(made->profile()[i].space, read->profile()[i].space);
      EXPECT_EQ(made->profile()[i].instructions, read->profile()[i].instructions);
    }
  }
}

TEST_F(IndexFile, CutAnywhereIsNone) {
  const KeptIndex kept(3, 1'000);
  EXPECT_FALSE(IsRead(kept, folder()));
  const FileBytes whole = ReadAll(file());
  ASSERT_GT(whole.size(), 100u);
  for (size_t size = 0; size < whole.size(); ++size) {
    WriteAll(file(), FileBytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(size)));
    ASSERT_FALSE(IsRead(kept, folder())) << size << " bytes of " << whole.size();
    ASSERT_EQ(ReadAll(file()).size(), whole.size());  // written again
  }
  EXPECT_TRUE(IsRead(kept, folder()));
}

TEST_F(IndexFile, WithAWrongByteIsNone) {
  const KeptIndex kept(3, 1'000);
  EXPECT_FALSE(IsRead(kept, folder()));
  const FileBytes whole = ReadAll(file());
  Random random(1);
  for (size_t at = 0; at < whole.size(); at += 1 + random.Below(5)) {
    FileBytes damaged = whole;
    damaged[at] = static_cast<uint8_t>(damaged[at] ^ (1 + random.Below(255)));
    WriteAll(file(), damaged);
    ASSERT_FALSE(IsRead(kept, folder())) << "byte " << at << " of " << whole.size();
  }
}

TEST_F(IndexFile, OfAnotherBuildIsNone) {
  const KeptIndex kept(3, 1'000);
  EXPECT_FALSE(IsRead(kept, folder()));
  ASSERT_NE(OwnBuild(), 0u);
  const auto kept_file = DiskCache({.folder = folder()}, OwnBuild()).Load(kKey);
  const FileBytes bytes(kept_file->content().begin(), kept_file->content().end());
  ASSERT_TRUE(DiskCache({.folder = folder()}, OwnBuild() + 1).Store(kKey, bytes));
  EXPECT_FALSE(IsRead(kept, folder()));
}

// Bytes that are whole but no index, or one of other streams.
TEST_F(IndexFile, OfOtherContentIsNone) {
  const KeptIndex kept(3, 1'000);
  const DiskCache disk({.folder = folder()}, OwnBuild());
  IndexContent of_two_streams;
  of_two_streams.streams.resize(2);
  for (const FileBytes& bytes : {FileBytes(), FileBytes(100, 0), FileBytes(100, 0xff),
                                 ToBytes(IndexContent()), ToBytes(of_two_streams)}) {
    ASSERT_TRUE(disk.Store(kKey, bytes));
    EXPECT_FALSE(IsRead(kept, folder())) << bytes.size() << " bytes";
  }
}

// A whole index of this build that has come under this one's name.
TEST_F(IndexFile, OfAnotherRecordingIsNone) {
  const KeptIndex other(4, 1'000);
  const std::unique_ptr<Decoder> decoder = Native();
  ASSERT_TRUE(other.Open(folder(), *decoder, "flow-other"));
  const std::string of_other = folder() + "/flow-other.cache";
  ASSERT_TRUE(std::filesystem::exists(of_other));
  std::filesystem::copy_file(of_other, file());
  const KeptIndex kept(3, 1'000);
  EXPECT_FALSE(IsRead(kept, folder()));
  EXPECT_TRUE(IsRead(kept, folder()));
  // Even where it says that it is this one's: its streams are not as long.
  const auto content = DiskCache({.folder = folder()}, OwnBuild()).Load("flow-other");
  ASSERT_NE(content, nullptr);
  ASSERT_TRUE(DiskCache({.folder = folder()}, OwnBuild()).Store(kKey, content->content()));
  EXPECT_FALSE(IsRead(kept, folder()));
}

TEST_F(IndexFile, NeedNotBeWritten) {
  const KeptIndex kept(3, 1'000);
  const std::string file_as_folder = folder() + "/file";
  WriteAll(file_as_folder, {1});
  for (const std::string& where : {std::string(), file_as_folder, file_as_folder + "/below"}) {
    EXPECT_FALSE(IsRead(kept, where)) << where;
    EXPECT_FALSE(IsRead(kept, where)) << where;
  }
  ASSERT_EQ(chmod(folder().c_str(), 0777), 0);  // others may write there
  EXPECT_FALSE(IsRead(kept, folder()));
  EXPECT_FALSE(IsRead(kept, folder()));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(IndexFile, IsWrittenOnlyWhereItPays) {
  const KeptIndex kept(3, 1'000);
  const std::unique_ptr<Decoder> decoder = Native();
  const Stream stream;
  DecodeInput input;
  const AddressSpaceHistory code{.epochs = {{.space = std::make_shared<AddressSpace>()}}};
  input.code = &code;
  ASSERT_TRUE(
      FlowIndex::Open({{&stream, &input}}, {}, *decoder, {}, {.folder = folder(), .key = kKey}));
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(IndexFile, MayBeWrittenByManyAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const KeptIndex kept(3, 5'000);
    unlink(file().c_str());
    std::vector<std::thread> writers;
    for (int i = 0; i < 4; ++i)
      writers.emplace_back([&kept, this] {
        const std::unique_ptr<Decoder> decoder = Native();
        EXPECT_TRUE(kept.Open(folder(), *decoder));
      });
    for (std::thread& writer : writers) writer.join();
    EXPECT_TRUE(IsRead(kept, folder()));
  }
}

// Each writes a file of its own, which then takes the place of the other's.
TEST_F(IndexFile, MayBeWrittenByManyProcesses) {
  const KeptIndex kept(3, 5'000);
  for (int round = 0; round < 5; ++round) {
    unlink(file().c_str());
    std::vector<pid_t> writers;
    for (int i = 0; i < 3; ++i) {
      writers.push_back(fork());
      ASSERT_GE(writers.back(), 0);
      if (writers.back() != 0) continue;
      const std::unique_ptr<Decoder> decoder = Native();
      _exit(kept.Open(folder(), *decoder) ? 0 : 1);
    }
    for (const pid_t writer : writers) {
      int status = 0;
      ASSERT_EQ(waitpid(writer, &status, 0), writer);
      EXPECT_EQ(status, 0);
    }
    EXPECT_TRUE(IsRead(kept, folder()));
    const auto entries = std::filesystem::directory_iterator(folder());
    EXPECT_EQ(std::distance(begin(entries), end(entries)), 1);  // nothing unfinished is left
  }
}

// The file is of the same name, but some of the code is not there any more: the cursor's output is
// not the flow, but it goes to its ends and to any place.
TEST_F(IndexFile, OutlivesItsCode) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const TemporaryFolder here;
    const std::unique_ptr<Decoder> decoder = Native();
    ASSERT_TRUE(KeptIndex(seed, 20'000, Change::kNone).Open(here.path(), *decoder));
    const KeptIndex changed(seed, 20'000, Change::kCode);
    const std::unique_ptr<Decoder> other = Native();
    Result<FlowIndex> index = changed.Open(here.path(), *other);
    ASSERT_TRUE(index);
    ASSERT_TRUE(index->from_cache());
    for (const IndexedThread& thread : index->threads()) {
      ThreadCursor cursor(*index, thread);
      Forward(cursor);
      Backward(cursor);
      for (uint64_t i = 0; i < thread.instructions; i += 1 + thread.instructions / 10) {
        cursor.ToInstruction(i);
        cursor.ToTime(cursor.tsc() + 1);
        cursor.NextAt(1);
        cursor.PreviousBranch();
      }
    }
  }
}

// Bytes that are not trusted may be anything.
TEST(IndexBytes, MakeNoHarm) {
  const KeptIndex kept(5, 5'000);
  const TemporaryFolder folder;
  const std::unique_ptr<Decoder> decoder = Native();
  ASSERT_TRUE(kept.Open(folder.path(), *decoder));
  const auto file = DiskCache({.folder = folder.path()}, OwnBuild()).Load(kKey);
  ASSERT_NE(file, nullptr);
  const FileBytes whole(file->content().begin(), file->content().end());
  ASSERT_TRUE(IndexFromBytes(whole));
  EXPECT_EQ(ToBytes(*IndexFromBytes(whole)), whole);
  Random random(7);
  int taken = 0;
  for (int i = 0; i < 5'000; ++i) {
    FileBytes bytes = whole;
    for (uint64_t changes = 1 + random.Below(3); changes != 0; --changes)
      bytes[random.Below(bytes.size())] = static_cast<uint8_t>(random.Below(256));
    if (random.Below(4) == 0) bytes.resize(random.Below(bytes.size()));
    taken += IndexFromBytes(bytes) ? 1 : 0;
  }
  EXPECT_GT(taken, 0);
}

TEST(CursorGroup, SetsAllThreadsToOneMoment) {
  const KeptIndex kept(2);
  const std::unique_ptr<Decoder> decoder = Native();
  Result<FlowIndex> index = kept.Open("", *decoder);
  ASSERT_TRUE(index);
  CursorGroup group(*index);
  ASSERT_EQ(group.size(), index->threads().size());
  ASSERT_GT(group.size(), CursorGroup::kLive);
  ThreadCursor any(*index, index->threads()[group.size() / 2]);
  any.ToInstruction(index->threads()[group.size() / 2].instructions / 2);
  for (const uint64_t tsc : {any.tsc(), uint64_t{1}, ~uint64_t{0}}) {
    group.ToTime(tsc);
    for (int round = 0; round < 2; ++round)
      for (size_t i = 0; i < group.size(); ++i) {
        ThreadCursor alone(*index, index->threads()[i]);
        alone.ToTime(tsc);
        // The second time it stands where it was moved to.
        if (round == 1) alone.Next();
        EXPECT_TRUE(At(group[i]) == At(alone)) << "thread " << i;
        EXPECT_EQ(group[i].number(), alone.number());
        if (round == 0) group[i].Next();
      }
  }
}

}  // namespace
}  // namespace flowback::testing
