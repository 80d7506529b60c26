// SPDX-License-Identifier: MIT
// Sessions of bundles, by the library alone.
#include <gtest/gtest.h>

#include <fstream>

#include "capture/bundle/bundle_writer.h"
#include "flowback/session.h"
#include "replay/session/bundle_files.h"
#include "tests/code/temporary_folder.h"
#include "tests/support/places.h"

namespace flowback {
namespace {

std::string RecordingAt(const std::string& name) {
  return SourceFolder() + "/tests/recordings/" + name;
}

void Pack(const Session& session, const std::string& path) {
  const auto files = FilesForBundle(session, {});
  ASSERT_TRUE(files) << files.error().message();
  std::ofstream out(path, std::ios::binary);
  bundle::BundleWriter writer([&out](Bytes bytes) {
    out.write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    return Status();
  });
  ASSERT_TRUE(writer.AddManifest(files->manifest));
  for (const PackedFile& file : files->files) {
    const Bytes content = file.content;
    ASSERT_TRUE(file.path.empty() ? writer.Add(file.member, {&content, 1}, 0)
                                  : writer.AddFile(file.member, file.path))
        << file.member;
  }
  ASSERT_TRUE(writer.Finish());
}

class SessionOfBundle : public testing::TestWithParam<const char*> {};

TEST_P(SessionOfBundle, HasTheSameFlow) {
  const TemporaryFolder folder;
  const std::string bundle = folder / "it";
  SessionOptions options;
  options.open.input = RecordingAt(GetParam());
  auto session = Session::Open(options);
  ASSERT_TRUE(session) << session.error().message();
  Pack(*session, bundle);
  auto unpacked = Session::Open(bundle);
  ASSERT_TRUE(unpacked) << unpacked.error().message();
  EXPECT_EQ(unpacked->options().InputName(), bundle);
  EXPECT_EQ(unpacked->recording().path, bundle);
  const auto before = session->Sum();
  const auto after = unpacked->Sum();
  ASSERT_TRUE(before && after);
  ASSERT_EQ(before->size(), after->size());
  for (size_t i = 0; i < before->size(); ++i) {
    EXPECT_NE((*before)[i].totals.digest.count, 0u);
    EXPECT_EQ((*before)[i].totals.digest.hash, (*after)[i].totals.digest.hash);
  }
  for (const ImageStatus& image : unpacked->code().images())
    if (image.usable) EXPECT_EQ(image.source, CodeSource::kKept) << image.path;
}

INSTANTIATE_TEST_SUITE_P(Recordings, SessionOfBundle,
                         testing::Values("branches.data", "changes.data", "interruptions.data"));

}  // namespace
}  // namespace flowback
