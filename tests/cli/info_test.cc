// SPDX-License-Identifier: MIT
// `info`: the conservation table, the packets, the images.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/real_recordings.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using nlohmann::json;

json Info(std::vector<std::string> words) {
  words.insert(words.begin(), {"info", "--json"});
  const ProgramResult result = RunFlowback(words);
  EXPECT_EQ(result.status, 0) << result.err;
  return json::parse(result.out, nullptr, false);
}

TEST(InfoStats, CountsEveryPacketByHeartOrByWhyNot) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const std::vector<std::string> words = {folder / "big-gzip/perf.data", "--symfs",
                                          folder / "images"};
  EXPECT_FALSE(Info(words).contains("decoding"));
  std::vector<std::string> with = words;
  with.push_back("--stats");
  const json info = Info(with);
  uint64_t packets = 0;
  for (const auto& [name, packet] : info["packets"].items())
    if (name != "PAD" && name != "MTC" && name != "CYC") packets += packet["count"].get<uint64_t>();
  const json& decoding = info["decoding"];
  EXPECT_EQ(decoding["packets"], packets);
  uint64_t slow = 0;
  for (const json& count : decoding["slow"]) slow += count.get<uint64_t>();
  EXPECT_EQ(decoding["fast"].get<uint64_t>() + slow, packets);
  EXPECT_GT(decoding["fast"].get<uint64_t>(), packets / 10 * 9);
  EXPECT_GT(decoding["peak_memory"].get<uint64_t>(), 1u << 20);

  with.insert(with.begin(), "info");
  const ProgramResult text = RunFlowback(with);
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_NE(text.out.find("%  by heart\n"), std::string::npos) << text.out;
}

class InfoOfReal : public ::testing::TestWithParam<RealRecording> {};

TEST_P(InfoOfReal, EveryByteIsAccountedFor) {
  FLOWBACK_NEEDS_TRACES();
  const json info = Info(GetParam().words);
  EXPECT_EQ(info["schema"], "flowback.info/1");
  ASSERT_EQ(info["streams"].size(), 1u);
  const json& stream = info["streams"][0];
  EXPECT_EQ(stream["bytes_decoded"].get<uint64_t>() + stream["bytes_padding"].get<uint64_t>() +
                stream["bytes_lost"].get<uint64_t>(),
            stream["bytes"]);
  uint64_t packet_bytes = 0;
  for (const json& packet : info["packets"]) packet_bytes += packet["bytes"].get<uint64_t>();
  EXPECT_LE(packet_bytes, stream["bytes"]);
  if (GetParam().complete) {
    EXPECT_EQ(packet_bytes, stream["bytes"]);
    EXPECT_TRUE(info["losses"].empty()) << info["losses"];
  }
}

INSTANTIATE_TEST_SUITE_P(Real, InfoOfReal, ::testing::ValuesIn(RealRecordings()),
                         [](const auto& test) { return test.param.name; });

TEST(Info, TellsMachineRecorderAndThread) {
  FLOWBACK_NEEDS_TRACES();
  const json info = Info({Traces("hase-2018-04-04/control_flow-20180404T163033.perf"), "--image",
                          Traces("hase-2018-04-04/control_flow")});
  EXPECT_EQ(info["format"], "perf.data");
  EXPECT_EQ(info["branch_trace"], "Intel PT");
  EXPECT_NE(info["machine"]["cpu"].get<std::string>().find("i5-6500"), std::string::npos);
  EXPECT_EQ(info["options"]["cpu_model"], 94);
  EXPECT_EQ(info["emulated"], false);
  bool listed = false;
  for (const json& thread : info["threads"])
    listed = listed || (thread["tid"] == 19731 && thread["comm"] == "control_flow");
  EXPECT_TRUE(listed) << info["threads"];
}

TEST(Info, TextHasTheTable) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result =
      RunFlowback({"info", Traces("hase-2018-04-04/control_flow-20180404T163033.perf")});
  EXPECT_EQ(result.status, 0) << result.err;
  for (const char* words : {"decoded + padding + lost = size", "packets ", "images", "TIP.PGE",
                            "trace: ", "recorder:", "losses"})
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
}

// The machine that made the recording is not this one: its program is not at the recorded path.
TEST(Info, NamesMissingImagesAndTheRemedy) {
  FLOWBACK_NEEDS_TRACES();
  const json info = Info({Traces("hase-2018-04-04/control_flow-20180404T163033.perf")});
  bool missing = false;
  for (const json& image : info["images"]) {
    if (!image["path"].get<std::string>().ends_with("/control_flow")) continue;
    missing = true;
    EXPECT_EQ(image["usable"], false);
    EXPECT_EQ(image["verification"], "missing");
    EXPECT_NE(image["problem"].get<std::string>().find("--symfs"), std::string::npos) << image;
  }
  EXPECT_TRUE(missing) << info["images"];
  EXPECT_EQ(info["losses"][0]["cause"], "no code image");
}

TEST(Info, BuildIdsAreChecked) {
  FLOWBACK_NEEDS_TRACES();
  const auto folder = golden::TracesFolder() / "generated";
  const json info = Info({folder / "hello/perf.data", "--symfs", folder / "images"});
  size_t verified = 0;
  for (const json& image : info["images"]) verified += image["verification"] == "build-id" ? 1 : 0;
  EXPECT_GE(verified, 2u) << info["images"];
}

}  // namespace
}  // namespace flowback::test
