// SPDX-License-Identifier: MIT
// A bundle's content is read back as written, by us and by archive readers.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "capture/bundle/bundle_json.h"
#include "capture/bundle/bundle_reader.h"
#include "capture/bundle/bundle_writer.h"
#include "capture/bundle/unpacked_bundle.h"
#include "tests/bundle/packed_archive.h"
#include "tests/bundle/read_members.h"
#include "tests/code/temporary_folder.h"

namespace flowback::bundle {
namespace {

using test::ReadMembers;

Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

std::string Long(size_t size) {
  std::string text(size, '\0');
  uint32_t state = 1;
  for (char& each : text) {
    state = state * 1664525 + 1013904223;
    each = static_cast<char>(state >> 24);
  }
  return text;
}

// Members of any size and name.
std::map<std::string, std::string> SomeMembers() {
  return {
      {"recording/perf.data", Long(3 * kFrame + 5)},
      {"recording/perf.data.images/index", ""},
      {"recording/perf.data.images/1-lib%20x.so", std::string(100'000, 'x')},
      {"root/usr/src/" + std::string(200, 'd') + "/" + std::string(200, 'f') + ".cc", "int x;\n"},
      {"root/home/j\xc3\xb6rg/\xff\xfe.c", "bytes that are no text in a name\n"},
      {"core/1-core", std::string(50'000, '\0') + "end"}};
}

std::vector<uint8_t> Bundled(const std::map<std::string, std::string>& members) {
  std::vector<uint8_t> out;
  BundleWriter writer([&out](Bytes bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return Status();
  });
  EXPECT_TRUE(writer.AddManifest({.made_by = "a test",
                                  .input = "perf.data",
                                  .recording = "recording/perf.data",
                                  .cores = {"core/1-core"},
                                  .kallsyms = {},
                                  .kcore = {}}));
  for (const auto& [name, content] : members) {
    // In two pieces, as what is put together has them.
    const size_t half = content.size() / 2;
    const Bytes pieces[] = {BytesOf(content).first(half), BytesOf(content).subspan(half)};
    EXPECT_TRUE(writer.Add(name, pieces, 1'000'000'000));
  }
  EXPECT_TRUE(writer.Finish());
  EXPECT_EQ(writer.packed(), out.size());
  return out;
}

TEST(Bundle, HasWhatWasWritten) {
  const auto members = SomeMembers();
  ReadMembers read;
  const auto damage = ReadBundle(Bundled(members), "it", read);
  ASSERT_TRUE(damage) << damage.error().message();
  EXPECT_FALSE(*damage);
  EXPECT_EQ(read.order.front(), kManifest);
  EXPECT_EQ(read.order.back(), kIndex);
  for (const auto& [name, content] : members) EXPECT_TRUE(read.contents[name] == content) << name;
  EXPECT_EQ(read.contents.size(), members.size() + 2);
  EXPECT_EQ(read.seconds["core/1-core"], 1'000'000'000);
}

// Each member can be unpacked alone, from where the index says.
TEST(Bundle, HasEachMemberInFramesOfItsOwn) {
  const auto members = SomeMembers();
  const std::vector<uint8_t> bundle = Bundled(members);
  ReadMembers all;
  ASSERT_TRUE(ReadBundle(bundle, "it", all));
  const std::string& text = all.contents[std::string(kIndex)];
  const auto index = ParseIndex(BytesOf(text), "it");
  ASSERT_TRUE(index) << index.error().message();
  size_t found = 0;
  for (const IndexedMember& member : *index) {
    ReadMembers some;
    ASSERT_TRUE(ReadBundle(Bytes(bundle).subspan(member.packed_offset), "it", some));
    ASSERT_FALSE(some.order.empty());
    EXPECT_EQ(some.contents[some.order.front()].size(), member.size);
    const auto written = members.find(member.name);
    if (written == members.end()) continue;
    ++found;
    EXPECT_TRUE(some.contents[member.name] == written->second) << member.name;
  }
  // JSON is text: the name that is not does not come back.
  EXPECT_EQ(found, members.size() - 1);
}

class UnpackedBundleTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::vector<uint8_t>& bytes) {
    const std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  static std::string ContentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t KeptBundles() const {
    size_t count = 0;
    for (const auto& each : std::filesystem::directory_iterator(folder_ / "cache/bundles"))
      count += each.is_directory() ? 1 : 0;
    return count;
  }

  TemporaryFolder folder_;
};

TEST_F(UnpackedBundleTest, IsTheFiles) {
  const auto members = SomeMembers();
  const std::string path = Write("it", Bundled(members));
  EXPECT_TRUE(IsBundle(path));
  std::string unpacked;
  {
    const auto bundle = UnpackedBundle::Open(path, {});
    ASSERT_TRUE(bundle) << bundle.error().message();
    EXPECT_FALSE((*bundle)->damage());
    EXPECT_EQ((*bundle)->manifest().cores, std::vector<std::string>{"core/1-core"});
    for (const auto& [name, content] : members)
      EXPECT_TRUE(ContentOf((*bundle)->FileOf(name)) == content) << name;
    unpacked = (*bundle)->FileOf("recording");
    EXPECT_TRUE(std::filesystem::exists(unpacked));
  }
  EXPECT_FALSE(std::filesystem::exists(unpacked));
}

TEST_F(UnpackedBundleTest, StaysInTheCacheUntilTheNextOnesNeedTheRoom) {
  const std::string path = Write("it", Bundled(SomeMembers()));
  const UnpackPlace place{.cache = folder_ / "cache", .cache_bytes = 1 << 20};
  std::string first;
  {
    const auto bundle = UnpackedBundle::Open(path, place);
    ASSERT_TRUE(bundle) << bundle.error().message();
    first = (*bundle)->FileOf("recording/perf.data");
  }
  EXPECT_TRUE(std::filesystem::exists(first));  // the newest one stays, however large
  const auto again = UnpackedBundle::Open(path, place);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->FileOf("recording/perf.data"), first);
  EXPECT_EQ((*again)->members().size(), SomeMembers().size() + 2);
  auto members = SomeMembers();
  members["recording/perf.data"] += "another one";
  const std::string other = Write("other", Bundled(members));
  ASSERT_TRUE(UnpackedBundle::Open(other, place));
  EXPECT_EQ(KeptBundles(), 2u);  // the first is in use
}

TEST_F(UnpackedBundleTest, GoesFromTheCacheWhenNobodyUsesIt) {
  const UnpackPlace place{.cache = folder_ / "cache", .cache_bytes = 1 << 20};
  auto members = SomeMembers();
  for (const char* name : {"one", "two", "three"}) {
    members["recording/perf.data"] += name;
    ASSERT_TRUE(UnpackedBundle::Open(Write(name, Bundled(members)), place));
    EXPECT_EQ(KeptBundles(), 1u);
  }
}

// A bundle that tar packed again may be in another order, has folders, and no frames.
TEST_F(UnpackedBundleTest, MayBePackedByAnotherProgram) {
  const std::string manifest = ManifestJson({.made_by = "a test",
                                             .input = "perf.data",
                                             .recording = "recording/perf.data",
                                             .cores = {},
                                             .kallsyms = {},
                                             .kcore = {}});
  const std::string path = Write("it", test::Packed({{"./", "", 0040000},
                                                     {"./recording/", "", 0040000},
                                                     {"./recording/perf.data", "trace"},
                                                     {"./flowback-bundle.json", manifest}}));
  EXPECT_TRUE(IsBundle(path));
  const auto bundle = UnpackedBundle::Open(path, {.cache = folder_ / "cache"});
  ASSERT_TRUE(bundle) << bundle.error().message();
  EXPECT_EQ(ContentOf((*bundle)->FileOf("recording/perf.data")), "trace");
}

// The first block of what tar packs may be as large as blocks are.
TEST_F(UnpackedBundleTest, IsKnownByALargeFirstBlock) {
  const std::string path = Write("it", test::Packed({{"recording/x", Long(300'000)}}));
  EXPECT_TRUE(IsBundle(path));
}

// A member that ends in a hole has all of its size.
TEST_F(UnpackedBundleTest, HasHoles) {
  const std::string manifest = ManifestJson({.recording = "recording/x", .cores = {}});
  const std::string path =
      Write("it", test::Packed({{"flowback-bundle.json", manifest},
                                {.name = "recording/x", .content = "begin", .hole = 1 << 20}}));
  const auto bundle = UnpackedBundle::Open(path, {});
  ASSERT_TRUE(bundle) << bundle.error().message();
  const std::string content = ContentOf((*bundle)->FileOf("recording/x"));
  EXPECT_EQ(content.size(), 5u + (1 << 20));
  EXPECT_TRUE(content.starts_with("begin"));
}

// A member removed from the cache by hand is unpacked again.
TEST_F(UnpackedBundleTest, IsWholeInTheCacheOrUnpackedAgain) {
  const std::string path = Write("it", Bundled(SomeMembers()));
  const UnpackPlace place{.cache = folder_ / "cache", .cache_bytes = 1 << 20};
  std::string file;
  {
    const auto bundle = UnpackedBundle::Open(path, place);
    ASSERT_TRUE(bundle);
    file = (*bundle)->FileOf("core/1-core");
  }
  std::filesystem::remove(file);
  const auto again = UnpackedBundle::Open(path, place);
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_TRUE((*again)->Has("core/1-core"));
}

TEST(Manifest, KeepsWhatTheCommandLineSaid) {
  OpenOptions given;
  given.raw_pt = {"recording/pt"};
  given.pevent = {"recording/g1-records"};
  given.sample_type = UINT64_MAX;
  given.images = {{.file = "recording/pt.images/p1-a", .load_address = 0x400000},
                  {.file = "recording/pt.images/p2-b", .load_address = {}}};
  given.sections = {
      {.file = "recording/pt.images/p3-c", .offset = 1, .size = 2, .address = UINT64_MAX - 5}};
  given.cpu = CpuId{.family = 6, .model = 158, .stepping = 9};
  given.tsc_ctc_numerator = 200;
  given.tsc_ctc_denominator = 2;
  given.mtc_shift = 3;
  given.nominal_ratio = 33;
  given.time_conversion = TimeConversion{.shift = 10, .mult = 1000, .zero = UINT64_MAX};
  given.filter = TraceFilter{.set = true, .ranges = {{.begin = 0x1000, .end = 0x2000}}};
  const std::string text = ManifestJson({.recording = "recording/pt", .cores = {}, .given = given});
  const auto manifest = ParseManifest(BytesOf(text), "it");
  ASSERT_TRUE(manifest) << manifest.error().message();
  EXPECT_EQ(ManifestJson(*manifest), text);
  EXPECT_EQ(manifest->given.sections.front().address, UINT64_MAX - 5);
  EXPECT_EQ(manifest->given.images.back().load_address, std::nullopt);
  EXPECT_EQ(manifest->given.cpu, given.cpu);
  EXPECT_EQ(manifest->given.time_conversion->zero, UINT64_MAX);
}

TEST_F(UnpackedBundleTest, IsNoOtherFile) {
  EXPECT_FALSE(IsBundle(Write("empty", {})));
  EXPECT_FALSE(IsBundle(Write("text", {'t', 'e', 'x', 't'})));
  EXPECT_FALSE(IsBundle(Write("compressed", test::Compressed(std::vector<uint8_t>(2000, 'x')))));
  EXPECT_FALSE(IsBundle(folder_ / "nothing"));
  EXPECT_FALSE(IsBundle(folder_.path()));
  const std::string archive = Write("archive", test::Packed({{"root/file", "content"}}));
  const auto opened = UnpackedBundle::Open(archive, {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message().find("no bundle"), std::string::npos);
  EXPECT_FALSE(opened.error().remedy().empty());
}

}  // namespace
}  // namespace flowback::bundle
