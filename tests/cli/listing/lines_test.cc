// SPDX-License-Identifier: MIT
// `decode --as lines` and -F srcline.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

using nlohmann::json;

ProgramResult Decode(const std::string& recording, std::vector<std::string> words) {
  const std::filesystem::path folder = golden::TracesFolder() / "generated";
  words.insert(words.begin(),
               {"decode", folder / recording / "perf.data", "--symfs", folder / "images"});
  return RunFlowback(words);
}

std::vector<std::string> With(const std::string& part, const std::string& text) {
  std::vector<std::string> lines = Lines(text);
  std::erase_if(lines,
                [&](const std::string& line) { return line.find(part) == std::string::npos; });
  return lines;
}

// The program's source is hello.c; `work` was inlined.
TEST(Lines, AreThoseOfTheSourceInTheOrderTheyRan) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = Decode("hello", {"--as", "lines", "-F", "sym,srcline"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(With("hello.c", result.out),
            (std::vector<std::string>{"main hello.c:4", "main hello.c:5",
                                      "work hello.c:3 (inlined by main at hello.c:6)",
                                      "main hello.c:6", "main hello.c:8"}));
}

TEST(Lines, DefaultColumns) {
  FLOWBACK_NEEDS_TRACES();
  const auto lines = With("hello.c:4", Decode("hello", {"--as", "lines"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("hello 4661 [001] 9339.999478628: main hello.c:4")) << lines[0];
}

TEST(Lines, JsonKeys) {
  FLOWBACK_NEEDS_TRACES();
  const auto lines = With("hello.c", Decode("hello", {"--as", "lines", "--json"}).out);
  ASSERT_EQ(lines.size(), 5u);
  const json inlined = json::parse(lines[2]);
  EXPECT_EQ(inlined["type"], "line");
  EXPECT_EQ(inlined["sym"], "work");
  EXPECT_EQ(inlined["line"], 3);
  EXPECT_TRUE(inlined["file"].get<std::string>().ends_with("/hello.c"));
  ASSERT_EQ(inlined["inlined"].size(), 1u);
  EXPECT_EQ(inlined["inlined"][0]["function"], "work");
  EXPECT_EQ(inlined["inlined"][0]["call_line"], 6);
  EXPECT_TRUE(inlined.contains("source"));
  EXPECT_EQ(json::parse(lines[0])["inlined"], json::array());
}

// Where the recorded source lies under --symfs its text is shown.
TEST(Lines, ShowTheSourceText) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const std::filesystem::path generated = golden::TracesFolder() / "generated";
  const auto first = With("hello.c:4", Decode("hello", {"--as", "lines", "--json"}).out);
  const json any =
      json::parse(With("hello.c", Decode("hello", {"--as", "lines", "--json"}).out)[0]);
  folder.Write("root" + any["file"].get<std::string>(), "1\n2\n3\n  int main() {\n5\n");
  for (const char* name : {"recorded", "usr"})
    std::filesystem::create_directory_symlink(generated / "images" / name,
                                              folder.File("root/") + name);
  const ProgramResult result =
      RunFlowback({"decode", generated / "hello/perf.data", "--symfs", folder.File("root"), "--as",
                   "lines", "-F", "srcline,source"});
  const auto lines = With("hello.c:4", result.out);
  ASSERT_EQ(lines.size(), 1u) << result.err;
  EXPECT_EQ(lines[0], "hello.c:4 int main() {");
}

TEST(Srcline, OfInstructions) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = Decode("hello", {"-F", "ip,srcline"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(With("555555555060 ", result.out), std::vector<std::string>{"555555555060 hello.c:4"});
  EXPECT_EQ(With("555555555070 ", result.out), std::vector<std::string>{"555555555070 hello.c:3"});
  // The linkage stub of printf has no line.
  EXPECT_EQ(With("555555555030 ", result.out), std::vector<std::string>{"555555555030 -"});
  const auto lines = With("555555555070\"", Decode("hello", {"-F", "ip,srcline", "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  const json line = json::parse(lines[0]);
  EXPECT_EQ(line["line"], 3);
  EXPECT_EQ(line["inlined"][0]["function"], "work");
  EXPECT_EQ(line["inlined"][0]["call_line"], 6);
}

TEST(Srcline, OfBlocks) {
  FLOWBACK_NEEDS_TRACES();
  const ProgramResult result = Decode("hello", {"--as", "blocks", "-F", "srcline"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto lines = With("555555555060 5 555555555070 ", result.out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0], "555555555060 5 555555555070 not-taken jcc hello.c:4");
  const auto objects = With("\"ip\":\"555555555060\"",
                            Decode("hello", {"--as", "blocks", "-F", "srcline", "--json"}).out);
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(json::parse(objects[0])["line"], 4);
}

// A program without the reader that belongs to it says where it looked, and goes on.
TEST(Srcline, AMissingReaderIsNamed) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const std::filesystem::path generated = golden::TracesFolder() / "generated";
  std::filesystem::create_directory(folder.File("bin"));
  std::filesystem::copy_file(ProgramFile(), folder.File("bin/flowback"));
  const std::string command = "'" + folder.File("bin/flowback") + "' decode '" +
                              (generated / "hello/perf.data").string() + "' --symfs '" +
                              (generated / "images").string() + "' -F ip,srcline >'" +
                              folder.File("out") + "' 2>'" + folder.File("err") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
  const std::string complaints = ReadFile(folder.File("err"));
  if (complaints.empty()) GTEST_SKIP() << "another flowback is installed";
  EXPECT_NE(complaints.find("flowback-dwarf is neither in " + folder.File("bin")),
            std::string::npos)
      << complaints;
  EXPECT_EQ(With("555555555060 ", ReadFile(folder.File("out"))),
            std::vector<std::string>{"555555555060 -"});
}

// Damaged DWARF costs the lines, and one sentence says so.
TEST(Srcline, DamagedDebugInformationIsOneWarning) {
  FLOWBACK_NEEDS_TRACES();
  const ScratchFolder folder;
  const std::filesystem::path generated = golden::TracesFolder() / "generated";
  std::string program = ReadFile(generated / "images/recorded/hello");
  // .debug_abbrev, by readelf -S.
  for (size_t i = 0x32f6; i < 0x349b; ++i) program[i] = static_cast<char>(0xff);
  folder.Write("root/recorded/hello", program);
  std::filesystem::create_directory_symlink(generated / "images/usr", folder.File("root/usr"));
  const ProgramResult result = RunFlowback({"decode", generated / "hello/perf.data", "--symfs",
                                            folder.File("root"), "-F", "ip,srcline"});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(With("555555555060 ", result.out).size(), 1u);
  const auto complaints = Lines(result.err);
  ASSERT_EQ(complaints.size(), 1u) << result.err;
  EXPECT_NE(complaints[0].find("recorded/hello: "), std::string::npos) << complaints[0];
  EXPECT_NE(complaints[0].find("debug information"), std::string::npos) << complaints[0];
}

}  // namespace
}  // namespace flowback::test
