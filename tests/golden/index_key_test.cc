// SPDX-License-Identifier: MIT
// The key of an index: equal for what is decoded in the same way from the same bytes, another one
// for everything that decides what an index says.
#include "replay/flow/index_key.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/recorded/pt_config.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "tests/code/temporary_folder.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

namespace fs = std::filesystem;

// How the recording is opened and decoded.
struct Way {
  OpenOptions open;
  ImageSearch search;
  Resync resync = Resync::kEarliest;
  FlowIndex::Options options;
  std::function<void(Recording&)> change;
  std::function<void(const Recording&, StreamInputs&)> change_inputs;
};

// A copy of a recording and of its images, which tests may change.
class IndexKeyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    const fs::path generated = TracesFolder() / "generated";
    fs::copy(generated / "hello" / "perf.data", recording());
    fs::copy(generated / "images", folder_ / "images", fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
    way_.open.input = recording();
    way_.open.sections = OwnSections(generated / "hello");
    way_.search.symfs = folder_ / "images";
  }
  std::string recording() const { return folder_ / "perf.data"; }
  std::string KeyOf(const Way& way) const {
    Result<Recording> recording = OpenRecording(way.open);
    EXPECT_TRUE(recording) << recording.error().message();
    if (!recording) return {};
    if (way.change) way.change(*recording);
    const Result<RecordingCode> code = RecordingCode::Load(*recording, way.search);
    EXPECT_TRUE(code) << code.error().message();
    if (!code) return {};
    StreamInputs inputs(*recording, *code, way.resync);
    if (way.change_inputs) way.change_inputs(*recording, inputs);
    return IndexKey(*recording, *code, inputs, way.options);
  }
  // The first file of code that was used, and that may be changed here.
  std::string Image() const {
    const Result<Recording> recording = OpenRecording(way_.open);
    const Result<RecordingCode> code = RecordingCode::Load(*recording, way_.search);
    for (const auto& file : code->files())
      if (file->path().starts_with(folder_.path())) return file->path();
    return {};
  }
  static void MakeNewer(const std::string& path) {
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::nanoseconds(1000));
  }
  // Changes a byte, and nothing that `ls` shows.
  static void ChangeByte(const std::string& path, std::streamoff at) {
    const auto time = fs::last_write_time(path);
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(at);
    const int byte = file.get();
    file.seekp(at);
    file.put(static_cast<char>(byte ^ 1));
    file.close();
    fs::last_write_time(path, time);
  }

  const TemporaryFolder folder_;
  Way way_;
};

TEST_F(IndexKeyTest, IsTheSameForTheSame) {
  const std::string key = KeyOf(way_);
  EXPECT_FALSE(key.empty());
  EXPECT_EQ(key.find('/'), std::string::npos);
  EXPECT_EQ(KeyOf(way_), key);
}

TEST_F(IndexKeyTest, IsOfTheBytesAndTimesOfAllFiles) {
  const std::string image = Image();
  ASSERT_FALSE(image.empty());
  std::vector<std::string> keys = {KeyOf(way_)};
  for (const std::string& path : {recording(), image}) {
    MakeNewer(path);
    keys.push_back(KeyOf(way_));
  }
  // Behind what the build-id says: the last byte of its file.
  ChangeByte(image, static_cast<std::streamoff>(fs::file_size(image)) - 1);
  keys.push_back(KeyOf(way_));
  for (size_t i = 0; i < keys.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_NE(keys[i], keys[j]) << i << " and " << j;
}

TEST_F(IndexKeyTest, IsOfAllThatDecidesAboutDecoding) {
  const auto configured = [](auto set) {
    return [set](Way& way) {
      way.change = [set](Recording& recording) { set(recording.config.Make<PtConfig>()); };
    };
  };
  const std::vector<std::pair<const char*, std::function<void(Way&)>>> changes = {
      {"times", [](Way& way) { way.options.times = false; }},
      {"segment_bytes", [](Way& way) { way.options.segment_bytes *= 2; }},
      {"resync", [](Way& way) { way.resync = Resync::kSyncPoint; }},
      {"sections", [](Way& way) { way.open.sections.pop_back(); }},
      {"a section's address", [](Way& way) { way.open.sections.back().address += 4096; }},
      {"images that are not there", [](Way& way) { way.search.symfs.clear(); }},
      {"where decoding begins",
       [](Way& way) {
         way.change_inputs = [](const Recording& recording, StreamInputs& inputs) {
           inputs.set_from(recording.streams.front(), 16);
         };
       }},
      {"another stream",
       [](Way& way) {
         way.change = [](Recording& recording) {
           Stream& stream = recording.streams.front();
           stream.bytes = stream.bytes.first(stream.bytes.size() - 1);
         };
       }},
      {"a gap",
       [](Way& way) {
         way.change = [](Recording& recording) {
           recording.streams.front().gaps.emplace_back().offset = 100;
         };
       }},
      {"model", configured([](PtConfig& pt) { pt.cpu.model ^= 1; })},
      {"family", configured([](PtConfig& pt) { pt.cpu.family ^= 1; })},
      {"return compression", configured([](PtConfig& pt) {
         pt.return_compression = !pt.return_compression.value_or(true);
       })},
      {"kernel",
       [](Way& way) {
         way.change = [](Recording& recording) {
           recording.levels.kernel = !recording.levels.kernel.value_or(false);
         };
       }},
      {"filter", configured([](PtConfig& pt) { pt.address_filter = true; })},
      {"filter not recorded", configured([](PtConfig& pt) { pt.address_filter.reset(); })},
      {"MTC", configured([](PtConfig& pt) { pt.mtc_shift = pt.mtc_shift.value_or(0) + 1; })},
      {"crystal", configured([](PtConfig& pt) { ++pt.tsc_ctc_numerator; })},
      {"ratio", configured([](PtConfig& pt) { ++pt.nominal_ratio; })},
      {"conversion",
       [](Way& way) { way.change = [](Recording& recording) { ++recording.time.zero; }; }},
      {"reference", configured([](PtConfig& pt) { pt.tsc_reference += uint64_t{1} << 56; })},
  };
  const std::string key = KeyOf(way_);
  std::vector<std::string> seen = {key};
  for (const auto& [what, change] : changes) {
    Way changed = way_;
    change(changed);
    const std::string other = KeyOf(changed);
    EXPECT_FALSE(other.empty()) << what;
    EXPECT_EQ(std::ranges::count(seen, other), 0) << what;
    seen.push_back(other);
  }
}

// Who can say that the same comes through it again?
TEST_F(IndexKeyTest, IsNoneOfAPipe) {
  way_.change = [](Recording& recording) { recording.files.clear(); };
  EXPECT_EQ(KeyOf(way_), "");
}

TEST_F(IndexKeyTest, IsNoneOfAFileThatIsGone) {
  way_.change = [this](Recording&) { fs::remove(recording()); };
  EXPECT_EQ(KeyOf(way_), "");
}

}  // namespace
}  // namespace flowback::golden
