// SPDX-License-Identifier: MIT
// Every generated perf.data file: with each image taken away or cut short, with its bytes damaged,
// and with trace data lost, marked in the file's records; each CPU's flow by itself, and each
// thread's over all CPUs.
//
// A thread's true flow is that of its stays on the undamaged CPUs, one after the other, whose
// digest is the generator's. In the damaged recording every instruction of a thread must be one
// that this thread executed, and come in the order in which it did.
#include "flowback/replay/threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/sanitized.h"
#include "decode/pt/native_decoder.h"
#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "flowback/decode/stream_input.h"
#include "tests/golden/perf_recordings.h"
#include "tests/golden/shared_traces.h"
#include "tests/judge/aux_losses.h"
#include "tests/judge/byte_damage.h"
#include "tests/judge/chosen.h"
#include "tests/judge/judge.h"
#include "tests/judge/raw_recordings.h"
#include "tests/support/flow_consumers.h"
#include "tests/support/full.h"

namespace flowback::judge {
namespace {

// Longer files have fewer judged changes, and none where a sanitizer makes each take minutes.
constexpr uint64_t kLongBytes = 1'500'000;

uint64_t FileSize(const golden::PerfRecording& one) {
  return std::filesystem::file_size(golden::TracesFolder() / "generated" / one.name / "perf.data");
}

bool IsOverflown(const golden::PerfRecording& one) { return one.name.ends_with("-ovf"); }

struct Opened {
  Recording recording;
  std::deque<std::vector<uint8_t>> changed;  // streams' bytes
  std::optional<RecordingCode> code;
  std::optional<StreamInputs> inputs;
};

// A change to a recording.
struct Change {
  std::function<void(Opened&)> done = {};
  std::filesystem::path file = {};   // in place of the recording's; empty: that
  std::filesystem::path symfs = {};  // in place of the shared images
};

// A folder that is removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string name = ::testing::TempDir() + "judgeXXXXXX";
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void Open(const golden::PerfRecording& name, Resync resync, const Change& change, Opened& opened) {
  const std::filesystem::path generated = golden::TracesFolder() / "generated";
  OpenOptions options;
  options.input = change.file.empty() ? generated / name.name / "perf.data" : change.file;
  options.sections = golden::OwnSections(generated / name.name);
  Result<Recording> recording = OpenRecording(options);
  ASSERT_TRUE(recording) << recording.error().message();
  opened.recording = std::move(*recording);
  if (change.done) change.done(opened);
  ImageSearch search;
  search.symfs = change.symfs.empty() ? generated / "images" : change.symfs;
  Result<RecordingCode> code = RecordingCode::Load(opened.recording, search);
  ASSERT_TRUE(code) << code.error().message();
  opened.code.emplace(std::move(*code));
  opened.inputs.emplace(opened.recording, *opened.code, resync);
}

// What each thread executed, as places in the streams' true flows.
class TrueThreads {
 public:
  TrueThreads(const Opened& opened, const std::vector<TrueFlow>& truths) {
    for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs))
      for (const FlowPiece& piece : flow.pieces) pieces_[piece.stay].tid = flow.tid;
    std::map<const ThreadStay*, FlowDigest> digests;
    for (const TrueFlow& truth : truths) {
      for (size_t i = 0; i < truth.stays.size(); ++i) {
        const bool last = i + 1 == truth.stays.size();
        const uint64_t end = last ? truth.ips.size() : truth.stays[i + 1].first;
        Piece& piece = pieces_[truth.stays[i].stay];
        piece.first = truth.stays[i].first;
        piece.count = end - piece.first;
        for (uint64_t at = piece.first; at < end; ++at)
          digests[truth.stays[i].stay].Append(truth.ips[at]);
      }
    }
    for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs)) {
      uint64_t position = 0;
      for (const FlowPiece& piece : flow.pieces) {
        pieces_[piece.stay].position = position;
        position += pieces_[piece.stay].count;
        if (flow.tid >= 0 && pieces_[piece.stay].count != 0)
          digests_[flow.tid].Append(digests[piece.stay]);
      }
    }
  }

  const std::map<int32_t, FlowDigest>& digests() const { return digests_; }
  int32_t TidOf(const ThreadStay* stay) const { return pieces_.at(stay).tid; }
  // Where an instruction of its thread lies in all that it executed.
  uint64_t PositionOf(const ThreadStay* stay, uint64_t place) const {
    const Piece& piece = pieces_.at(stay);
    return piece.position + (place - piece.first);
  }

 private:
  struct Piece {
    int32_t tid = -1;
    uint64_t position = 0;  // in the thread's flow
    uint64_t first = 0;     // in the stream's
    uint64_t count = 0;
  };
  std::map<const ThreadStay*, Piece> pieces_;
  std::map<int32_t, FlowDigest> digests_;
};

template <class Run>
const Run& RunAt(const std::vector<Run>& runs, uint64_t index) {
  return *std::prev(std::ranges::upper_bound(runs, index, {}, &Run::first));
}

template <class Run>
uint64_t EndOfRun(const std::vector<Run>& runs, uint64_t index) {
  const auto next = std::ranges::upper_bound(runs, index, {}, &Run::first);
  return next == runs.end() ? ~uint64_t{0} : next->first;
}

// What the generator says that each thread executed, as far as no overflow lost it.
std::map<int32_t, FlowDigest> ToldDigests(const golden::PerfRecording& one) {
  if (!IsOverflown(one)) return golden::DigestsOf(one);
  // Its only thread is all that ran on the only CPU.
  EXPECT_EQ(one.threads.size(), 1u);
  const RawName stream{.recording = one.name, .cpu = 1};
  return {{static_cast<int32_t>(one.threads.front().Number()), DigestWithoutGaps(stream)}};
}

class PerfRecording : public ::testing::TestWithParam<golden::PerfRecording> {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    ASSERT_NO_FATAL_FAILURE(Open(GetParam(), Resync::kEarliest, {}, whole_));
    for (const Stream& stream : whole_.recording.streams)
      truths_.push_back(TrueFlowOf(*decoder_, whole_.inputs->For(stream)));
    threads_.emplace(whole_, truths_);
    ASSERT_EQ(threads_->digests(), ToldDigests(GetParam()));
  }

  Chosen ChosenOf(size_t changes) const {
    return {GetParam().name, whole_.recording.streams[0].bytes.size(), changes};
  }

  void TearDown() override {
    std::printf("%s\n", findings_.Text().c_str());
    EXPECT_TRUE(findings_.AllTrue());
    EXPECT_TRUE(findings_.FewExcused());
  }

  // `damages`: by stream; null where only code was taken away.
  void JudgeChange(const Change& change, const std::vector<Damage>* damages,
                   const std::string& what) {
    for (const Resync resync : {Resync::kSyncPoint, Resync::kEarliest}) {
      SCOPED_TRACE(what);
      Opened opened;
      ASSERT_NO_FATAL_FAILURE(Open(GetParam(), resync, change, opened));
      const std::string words =
          GetParam().name + what + (resync == Resync::kSyncPoint ? ", psb" : ", earliest");
      std::map<const ThreadStay*, std::vector<Ordered>> ordered;
      std::map<const ThreadStay*, FlowDigest> digests;
      for (const Stream& stream : opened.recording.streams) {
        const Damage* damage = damages == nullptr ? nullptr : &(*damages)[stream.index];
        const TrueFlow& truth = truths_[stream.index];
        ToldFlow told;
        const Findings found = JudgeInput(*decoder_, truth, opened.inputs->For(stream), damage,
                                          words + ", CPU " + std::to_string(stream.cpu), &told);
        Attribute(truth, told, found.placed, words, ordered);
        for (size_t i = 0; i < told.stays.size(); ++i) {
          const uint64_t end =
              i + 1 < told.stays.size() ? told.stays[i + 1].first : told.ips.size();
          for (uint64_t at = told.stays[i].first; at < end; ++at)
            digests[told.stays[i].stay].Append(told.ips[at]);
        }
        findings_.Add(found);
      }
      ExpectOrder(opened, ordered, digests, words);
    }
  }

  struct Ordered {
    uint64_t position = 0;  // in the thread's true flow
    uint64_t count = 0;
  };

  // Finds each instruction's thread, and its place in that thread's flow.
  void Attribute(const TrueFlow& truth, const ToldFlow& told, const std::vector<Placed>& placed,
                 const std::string& what,
                 std::map<const ThreadStay*, std::vector<Ordered>>& ordered) {
    for (const Placed& part : placed) {
      for (uint64_t at = part.first; at < part.end;) {
        const uint64_t place = part.place + (at - part.first);
        const ThreadStay* ours = RunAt(told.stays, at).stay;
        const ThreadStay* theirs = RunAt(truth.stays, place).stay;
        const uint64_t their_end = EndOfRun(truth.stays, place);
        uint64_t end = std::min(part.end, EndOfRun(told.stays, at));
        if (their_end != ~uint64_t{0}) end = std::min(end, at + (their_end - place));
        if (ours != nullptr && ours->tid >= 0) {
          ++attributed_;
          if (ours->tid != threads_->TidOf(theirs) && ++findings_.wrong_threads <= 3)
            findings_.wrong.push_back(what + ": instructions [" + std::to_string(at) + ", " +
                                      std::to_string(end) + ") are thread " +
                                      std::to_string(threads_->TidOf(theirs)) + "'s, told as " +
                                      std::to_string(ours->tid) + "'s");
          ordered[ours].push_back({threads_->PositionOf(theirs, place), end - at});
        }
        at = end;
      }
    }
  }

  // Thread by thread, as a listing does: the same flow, in the order in which it executed.
  void ExpectOrder(const Opened& opened,
                   const std::map<const ThreadStay*, std::vector<Ordered>>& ordered,
                   const std::map<const ThreadStay*, FlowDigest>& digests,
                   const std::string& what) {
    for (const ThreadFlow& flow : ThreadFlows(opened.recording, *opened.inputs)) {
      uint64_t position = 0;
      FlowDigest expected;
      FlowDigester listed;
      for (const FlowPiece& piece : flow.pieces) {
        if (const auto found = digests.find(piece.stay); found != digests.end())
          expected.Append(found->second);
        EXPECT_TRUE(DecodePiece(piece, *opened.inputs, *decoder_, listed));
        const auto found = ordered.find(piece.stay);
        if (found == ordered.end() || flow.tid < 0) continue;
        for (const Ordered& part : found->second) {
          if (part.position < position && ++findings_.wrong_threads <= 3)
            findings_.wrong.push_back(what + ": thread " + std::to_string(flow.tid) +
                                      " goes back from " + std::to_string(position) + " to " +
                                      std::to_string(part.position));
          position = part.position + part.count;
        }
      }
      EXPECT_EQ(listed.digest(), expected) << what << ", thread " << flow.tid << " listed";
    }
  }

  const std::unique_ptr<Decoder> decoder_ = pt::MakeNativeDecoder();
  Opened whole_;
  std::vector<TrueFlow> truths_;
  std::optional<TrueThreads> threads_;
  Findings findings_;
  uint64_t attributed_ = 0;
};

void Forget(Recording& recording, const std::string& path) {
  for (SidebandRecord& record : recording.sideband)
    if (auto* map = std::get_if<MmapRecord>(&record); map != nullptr && map->path == path) {
      map->path = "/taken/away";
      map->build_id = {};
    }
}

// All that have code; of the two longest recordings every second one, of one the first, of the
// other the second.
std::vector<std::string> ImagesToChange(const Recording& recording, const std::string& name) {
  std::set<std::string> all;
  for (const SidebandRecord& record : recording.sideband)
    if (const auto* map = std::get_if<MmapRecord>(&record); map != nullptr && map->executable)
      all.insert(map->path);
  std::vector<std::string> paths;
  size_t number = name == "big-sqlite3" ? 1 : 0;
  for (const std::string& path : all)
    if (recording.streams[0].bytes.size() <= 1'000'000 || number++ % 2 == 0) paths.push_back(path);
  return paths;
}

TEST_P(PerfRecording, WithoutAnImage) {
  const std::vector<std::string> paths = ImagesToChange(whole_.recording, GetParam().name);
  const Chosen chosen = ChosenOf(paths.size() + whole_.recording.sections.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    if (!chosen.Has(i)) continue;
    JudgeChange({.done = [&](Opened& opened) { Forget(opened.recording, paths[i]); }}, nullptr,
                " without " + paths[i]);
  }
  for (size_t i = 0; i < whole_.recording.sections.size(); ++i) {
    if (!chosen.Has(paths.size() + i)) continue;
    JudgeChange({.done =
                     [i](Opened& opened) {
                       opened.recording.sections.erase(opened.recording.sections.begin() +
                                                       static_cast<ptrdiff_t>(i));
                     }},
                nullptr, " without section " + std::to_string(i));
  }
}

TEST_P(PerfRecording, WithDamagedBytes) {
  testing::Random random(whole_.recording.streams[0].bytes.size());
  for (unsigned kind = 0; kind < kByteDamages; ++kind) {
    std::vector<DamagedBytes> damaged;
    std::vector<Damage> damages;
    std::string what;
    for (size_t i = 0; i < truths_.size(); ++i) {
      damaged.push_back(DamageBytes(truths_[i], whole_.recording.streams[i].bytes, kind, random));
      damages.push_back(damaged.back().damage);
      what += ", " + damaged.back().what;
    }
    if (!ChosenOf(kByteDamages).Has(kind)) continue;
    JudgeChange({.done =
                     [&damaged](Opened& opened) {
                       for (Stream& stream : opened.recording.streams) {
                         stream.bytes = damaged[stream.index].bytes;
                         stream.gaps = damaged[stream.index].gaps;
                       }
                     }},
                &damages, what);
  }
}

// The code of a mapping's end is missing: the file ends inside it.
void CutImage(const std::filesystem::path& images, const MmapRecord& map, uint64_t size,
              const std::filesystem::path& symfs) {
  const std::string cut = map.path.substr(1);
  for (const auto& entry : std::filesystem::recursive_directory_iterator(images)) {
    const std::filesystem::path name = std::filesystem::relative(entry.path(), images);
    if (entry.is_directory() && !entry.is_symlink()) {
      std::filesystem::create_directories(symfs / name);
    } else if (name == cut) {
      std::filesystem::copy_file(entry.path(), symfs / name);
      std::filesystem::permissions(symfs / name, std::filesystem::perms::owner_all);
      std::filesystem::resize_file(symfs / name, size);
    } else {
      std::filesystem::create_symlink(entry.path(), symfs / name);
    }
  }
}

TEST_P(PerfRecording, WithImagesCutShort) {
  const std::filesystem::path images = golden::TracesFolder() / "generated" / "images";
  testing::Random random(whole_.recording.streams[0].bytes.size() + 1);
  const std::vector<std::string> paths = ImagesToChange(whole_.recording, GetParam().name);
  std::set<std::string> left(paths.begin(), paths.end());
  std::erase_if(left, [&](const auto& path) { return !exists(images / path.substr(1)); });
  const Chosen chosen = ChosenOf(left.size());
  for (size_t number = 0; const SidebandRecord& record : whole_.recording.sideband) {
    const auto* map = std::get_if<MmapRecord>(&record);
    if (map == nullptr || !map->executable || left.erase(map->path) == 0) continue;
    const uint64_t size = map->file_offset + random.Below(map->size);
    if (!chosen.Has(number++)) continue;
    const Scratch scratch;
    ASSERT_NO_FATAL_FAILURE(CutImage(images, *map, size, scratch.path()));
    JudgeChange({.symfs = scratch.path()}, nullptr,
                ", " + map->path + " of " + std::to_string(size) + " bytes");
  }
}

TEST_P(PerfRecording, WithLostTraceData) {
  testing::Random random(whole_.recording.streams[0].bytes.size() + 2);
  const support::PerfDataParts whole =
      ReadPerfData(golden::TracesFolder() / "generated" / GetParam().name / "perf.data");
  for (const AuxLoss loss : {AuxLoss::kTruncated, AuxLoss::kHole}) {
    support::PerfDataParts parts = whole;
    const std::vector<Damage> damages = LoseAuxData(parts, loss, whole_.recording.streams, random);
    std::string what = loss == AuxLoss::kHole ? ", hole" : ", truncated";
    ASSERT_TRUE(std::ranges::any_of(damages, [](const Damage& one) { return one.removed != 0; }));
    for (const Damage& damage : damages) {
      what += " " + std::to_string(damage.removed) + " at " + std::to_string(damage.begin);
    }
    const Scratch scratch;
    const std::filesystem::path file = scratch.path() / "perf.data";
    const support::FileBytes bytes = support::ToFile(parts);
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    Opened opened;
    ASSERT_NO_FATAL_FAILURE(Open(GetParam(), Resync::kEarliest, {.file = file}, opened));
    for (const Stream& stream : opened.recording.streams) {
      const Damage& damage = damages[stream.index];
      // The file is damaged as intended, with its mark.
      ASSERT_EQ(stream.bytes.size() + damage.removed,
                whole_.recording.streams[stream.index].bytes.size());
      ASSERT_EQ(stream.gaps.size(), damage.removed == 0 ? 0 : 1);
      if (!stream.gaps.empty()) {
        ASSERT_EQ(stream.gaps[0].offset, damage.begin);
      }
    }
    JudgeChange({.file = file}, &damages, what);
  }
}

const SidebandBase& BaseOf(const SidebandRecord& record) {
  return std::visit([](const auto& one) -> const SidebandBase& { return one; }, record);
}

// The kernel had no room for some records of a CPU, one behind the other, and says so in front of
// the next one that it wrote.
// False: there were too few from a random one on, and all are left.
bool LoseRecords(Recording& recording, testing::Random& random) {
  std::vector<SidebandRecord>& records = recording.sideband;
  const auto may_go = [](const SidebandRecord& record) {
    return std::holds_alternative<MmapRecord>(record) ||
           std::holds_alternative<CommRecord>(record) ||
           std::holds_alternative<ForkRecord>(record) ||
           std::holds_alternative<ExitRecord>(record) ||
           std::holds_alternative<SwitchRecord>(record);
  };
  const size_t first = random.Below(records.size());
  const int32_t cpu = BaseOf(records[first]).cpu;
  const uint64_t most = 1 + random.Below(6);
  LostRecord lost;
  std::vector<SidebandRecord> left(records.begin(),
                                   records.begin() + static_cast<ptrdiff_t>(first));
  bool told = false;
  for (size_t i = first; i < records.size(); ++i) {
    const SidebandBase& base = BaseOf(records[i]);
    if (base.cpu == cpu && base.time != 0 && lost.count < most && may_go(records[i])) {
      ++lost.count;
      continue;
    }
    if (!told && lost.count == most && base.cpu == cpu && base.time != 0) {
      static_cast<SidebandBase&>(lost) = base;
      left.push_back(lost);
      told = true;
    }
    left.push_back(records[i]);
  }
  if (told) records = std::move(left);
  return told;
}

// Facts of lost records are not guessed: neither the flow's thread nor its code.
TEST_P(PerfRecording, WithLostRecords) {
  const unsigned times = FileSize(GetParam()) > kLongBytes ? 4 : 12;
  const bool is_short = whole_.recording.streams[0].bytes.size() <= 50'000;
  const unsigned enough = testing::IsFullRun() ? times : is_short ? 4 : 1;
  testing::Random random(whole_.recording.streams[0].bytes.size() + 3);
  unsigned done = 0;
  for (unsigned i = 0; i < times && done < 2 * enough; ++i) {  // twice: see JudgeChange
    const uint64_t seed = random.Next();
    const auto lose = [&](Opened& opened) {
      testing::Random same(seed);
      done += LoseRecords(opened.recording, same) ? 1 : 0;
    };
    JudgeChange({.done = lose}, nullptr, ", records lost, " + std::to_string(i));
  }
  EXPECT_NE(done, 0u);
}

std::vector<golden::PerfRecording> Recordings() {
  std::vector<golden::PerfRecording> recordings = golden::PerfRecordings();
  std::ranges::move(golden::OverflownPerfRecordings(), std::back_inserter(recordings));
  if (FLOWBACK_SANITIZED != 0)
    std::erase_if(recordings, [](const auto& one) { return FileSize(one) > kLongBytes; });
  return recordings;
}

std::string TestNameOf(const ::testing::TestParamInfo<golden::PerfRecording>& info) {
  return golden::TestName(info.param.name);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PerfRecording);
INSTANTIATE_TEST_SUITE_P(Shared, PerfRecording, ::testing::ValuesIn(Recordings()), TestNameOf);

}  // namespace
}  // namespace flowback::judge
