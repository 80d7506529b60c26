// SPDX-License-Identifier: MIT
// Bundles that are cut, damaged, or made to harm: an error or what is before it, and never a file
// outside of the folder.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "capture/bundle/bundle_json.h"
#include "capture/bundle/bundle_writer.h"
#include "capture/bundle/unpacked_bundle.h"
#include "tests/bundle/packed_archive.h"
#include "tests/bundle/read_members.h"

namespace flowback::bundle {
namespace {

using test::ArchivedFile;
using test::ReadMembers;

constexpr unsigned kLink = 0120000, kDevice = 0020000, kFifo = 0010000;

// The error of a bundle that nobody may unpack.
std::string Refusal(const std::vector<uint8_t>& packed) {
  ReadMembers read;
  const auto damage = ReadBundle(packed, "it", read);
  if (damage) return "not refused";
  EXPECT_EQ(damage.error().code(), ErrorCode::kUnreadable);
  EXPECT_FALSE(damage.error().remedy().empty());
  EXPECT_TRUE(damage.error().message().starts_with("it: ")) << damage.error().message();
  return damage.error().message();
}

bool Says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

TEST(HostileBundle, LeadsNowhereElse) {
  for (const char* name :
       {"../x", "/etc/passwd", "recording/../../x", "recording/./x", "recording//x", "recording/..",
        "recording", "elsewhere/x", "x", "root/a/../../../b", "flowback-bundle.json/x",
        "recording/\xc0\xae\xc0\xae/../x"})
    EXPECT_TRUE(Says(Refusal(test::Packed({{name, "content"}})), "has a member named")) << name;
  const std::string deep = "root/" + std::string(300, 'x');
  EXPECT_TRUE(Says(Refusal(test::Packed({{deep, "content"}})), "has a member named"));
}

TEST(HostileBundle, HasFilesOnly) {
  for (const unsigned type : {kLink, kDevice, kFifo})
    EXPECT_TRUE(Says(Refusal(test::Packed(
                         {{.name = "recording/x", .content = "", .type = type, .link = "/etc"}})),
                     "not a file"))
        << type;
  EXPECT_TRUE(Says(
      Refusal(test::Packed({{"recording/a", "content"},
                            {.name = "recording/b", .content = "", .hardlink = "recording/a"}})),
      "not a file"));
}

TEST(HostileBundle, HasEachMemberOnce) {
  EXPECT_TRUE(Says(Refusal(test::Packed({{"recording/a", "one"}, {"recording/a", "two"}})),
                   "two members named 'recording/a'"));
  EXPECT_TRUE(Says(Refusal(test::Packed({{"recording/a", "one"}, {"./recording/a", "two"}})),
                   "two members named 'recording/a'"));
}

TEST(HostileBundle, HasNoFileThatIsAFolder) {
  EXPECT_TRUE(
      Says(Refusal(test::Packed({{"root/a", "one"}, {"root/a/b", "two"}})), "file and a folder"));
  EXPECT_TRUE(
      Says(Refusal(test::Packed({{"root/a/b", "two"}, {"root/a", "one"}})), "file and a folder"));
}

TEST(HostileBundle, HasNoEndOfNamesAndFolders) {
  std::string deep = "root";
  for (int i = 0; i < 70; ++i) deep += "/d";
  EXPECT_TRUE(Says(Refusal(test::Packed({{deep, "content"}})), "has a member named"));
  std::vector<ArchivedFile> files;
  for (int i = 0; i < 5000; ++i)
    files.push_back(
        {"root/" + std::to_string(i) + std::string(200, 'x') + "/" + std::string(250, 'y') + "/" +
             std::string(250, 'z') + "/" + std::string(250, 'z') + "/" + std::string(250, 'z') +
             "/" + std::string(250, 'z') + "/" + std::string(250, 'z') + "/" +
             std::string(250, 'z') + "/" + std::string(250, 'z') + "/" + std::string(250, 'z') +
             "/" + std::string(250, 'z') + "/" + std::string(250, 'z') + "/" +
             std::string(250, 'z') + "/" + std::string(250, 'z') + "/x",
         ""});
  EXPECT_TRUE(Says(Refusal(test::Packed(files)), "has names of more than"));
}

// A megabyte that would unpack to many gigabytes is read no further than to one.
TEST(HostileBundle, DoesNotFillTheDisk) {
  std::vector<uint8_t> header = test::Archived({{"recording/x", std::string(10, '\0')}});
  header.resize(512);
  // The size says 1.3 GB, and the checksum of the header follows.
  const std::string size = "12000000000";
  std::copy_n(size.begin(), 11, header.begin() + 124);
  std::fill_n(header.begin() + 148, 8, ' ');
  unsigned sum = 0;
  for (const uint8_t byte : header) sum += byte;
  char text[8];
  std::snprintf(text, sizeof text, "%06o", sum);
  std::copy_n(text, 7, header.begin() + 148);
  std::vector<uint8_t> packed = test::Compressed(header);
  const std::vector<uint8_t> zeros = test::Compressed(std::vector<uint8_t>(64 << 20));
  for (int i = 0; i < 20; ++i) packed.insert(packed.end(), zeros.begin(), zeros.end());
  struct Counting final : MemberVisitor {
    Status OnMember(const Member&, int64_t) override { return {}; }
    Status OnContent(uint64_t offset, Bytes content) override {
      most = std::max(most, offset + content.size());
      return {};
    }
    uint64_t most = 0;
  } counting;
  const auto read = ReadBundle(packed, "it", counting);
  ASSERT_FALSE(read);
  EXPECT_TRUE(Says(read.error().message(), "more than")) << read.error().message();
  EXPECT_LE(counting.most, kAlwaysAllowed);
}

std::vector<uint8_t> SmallBundle() {
  std::vector<uint8_t> out;
  BundleWriter writer([&out](Bytes bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return Status();
  });
  EXPECT_TRUE(writer.AddManifest({.made_by = "a test",
                                  .input = "x",
                                  .recording = "recording/x",
                                  .cores = {},
                                  .kallsyms = {},
                                  .kcore = {}}));
  for (const char* name : {"recording/x", "root/a", "root/b"}) {
    const std::string content(700, name[5]);
    const Bytes piece{reinterpret_cast<const uint8_t*>(content.data()), content.size()};
    EXPECT_TRUE(writer.Add(name, {&piece, 1}, 0));
  }
  EXPECT_TRUE(writer.Finish());
  return out;
}

// The read part is a beginning of the whole.
void ExpectABeginning(const ReadMembers& part, const ReadMembers& whole, size_t at) {
  ASSERT_LE(part.order.size(), whole.order.size()) << at;
  for (size_t i = 0; i < part.order.size(); ++i) {
    ASSERT_EQ(part.order[i], whole.order[i]) << at;
    const std::string& content = whole.contents.at(part.order[i]);
    const std::string& read = part.contents.at(part.order[i]);
    if (i + 1 < part.order.size())
      EXPECT_TRUE(read == content) << at;
    else
      EXPECT_TRUE(content.starts_with(read)) << at;
  }
}

TEST(HostileBundle, IsReadUpToWhereItWasCut) {
  const std::vector<uint8_t> bundle = SmallBundle();
  ReadMembers whole;
  ASSERT_TRUE(ReadBundle(bundle, "it", whole));
  size_t told = 0;
  for (size_t size = 1; size < bundle.size(); ++size) {
    ReadMembers part;
    const auto damage = ReadBundle(Bytes(bundle).first(size), "it", part);
    ASSERT_TRUE(damage) << size << damage.error().message();
    told += damage->has_value() ? 1 : 0;
    if (*damage) EXPECT_FALSE((*damage)->remedy().empty());
    ExpectABeginning(part, whole, size);
    // Without a message, only the seek table may be missing.
    if (!*damage) EXPECT_TRUE(part.order == whole.order) << size;
  }
  EXPECT_GT(told, bundle.size() / 2);
}

TEST(HostileBundle, IsReadUpToWhereItIsDamaged) {
  const std::vector<uint8_t> bundle = SmallBundle();
  ReadMembers whole;
  ASSERT_TRUE(ReadBundle(bundle, "it", whole));
  for (size_t at = 0; at < bundle.size(); ++at) {
    std::vector<uint8_t> damaged = bundle;
    damaged[at] ^= 0x41;
    ReadMembers part;
    const auto damage = ReadBundle(damaged, "it", part);
    // The checksum of a frame comes at its end, and its content has been delivered by then: so only
    // the last member's content may be wrong, and only with a report of damage.
    if (!damage) continue;
    if (*damage) part.order.resize(part.order.empty() ? 0 : part.order.size() - 1);
    ExpectABeginning(part, whole, at);
  }
}

TEST(HostileBundle, DoesNotNameWhatIsNotInIt) {
  for (const char* recording : {"../../etc/passwd", "/etc/passwd", "", "recording/../../x"}) {
    const std::string text = ManifestJson({.made_by = "",
                                           .input = "",
                                           .recording = recording,
                                           .cores = {},
                                           .kallsyms = {},
                                           .kcore = {}});
    EXPECT_FALSE(ParseManifest({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "it"))
        << recording;
  }
  const std::string text = ManifestJson({.made_by = "",
                                         .input = "",
                                         .recording = "recording/x",
                                         .cores = {"/etc/shadow"},
                                         .kallsyms = {},
                                         .kcore = {}});
  EXPECT_FALSE(ParseManifest({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "it"));
}

TEST(Manifest, GivesNoFileOutsideOfTheBundle) {
  for (const std::string file : {"../secret", "/etc/passwd", ""})
    for (int which = 0; which < 4; ++which) {
      OpenOptions given;
      if (which == 0) given.raw_pt = {file};
      if (which == 1) given.pevent = {file};
      if (which == 2) given.images = {{.file = file, .load_address = {}}};
      if (which == 3) given.sections = {{.file = file}};
      const std::string text =
          ManifestJson({.recording = "recording/x", .cores = {}, .given = given});
      EXPECT_FALSE(
          ParseManifest({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, "it"))
          << text;
    }
}

}  // namespace
}  // namespace flowback::bundle
