// SPDX-License-Identifier: MIT
// Names that a recorded program wrote down, and their index: neither is ours.
#include "replay/symbols/jit_names.h"

#include <gtest/gtest.h>

#include <string>

#include "decode/code/images/kept_images.h"
#include "tests/cli/run_program.h"

namespace flowback::test {
namespace {

using symbols::JitSymbol;
using symbols::ReadJitDump;
using symbols::ReadPerfMap;

Bytes AsBytes(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

template <class Number>
void Put(std::string& out, Number number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// A recording without trace whose process made one page of code, at kPage, so many times.
constexpr uint64_t kPage = 0x10000;
Recording WithPages(const ScratchFolder& folder, uint64_t versions) {
  Recording recording;
  recording.path = folder.File("r.data");
  for (uint64_t i = 0; i < versions; ++i) {
    MmapRecord page;
    page.time = 1000 + i;
    page.pid = 7;
    page.address = kPage;
    page.size = 4096;
    page.file_offset = 4096 * (i + 1);
    page.path = recording.path + ".code";
    recording.sideband.emplace_back(page);
  }
  return recording;
}

void Keep(const ScratchFolder& folder, const std::string& names) {
  folder.Write("r.data.images/1-names", names);
  folder.Write("r.data.images/index", "flowback-images 1\nnames 1-names 7 0\n");
}

TEST(JitNames, LinesThatSayNothing) {
  EXPECT_TRUE(ReadPerfMap(AsBytes("\n \n1\n1 \n1 2\n1 2 \n-1 2 a\n1 -2 a\n1 0 a\nx y z\n"
                                  "ffffffffffffffff 2 a\n10000000000000000 2 a\n"
                                  "1 ffffffffffffffff a\n"))
                  .empty());
  const std::string two = "0x10 0x8 a b\n8 8 c";
  const auto symbols = ReadPerfMap(AsBytes(two));
  ASSERT_EQ(symbols.size(), 2u);
  EXPECT_EQ(symbols[0].name, "a b");
  EXPECT_EQ(symbols[1].end, 16u);
  EXPECT_EQ(ReadPerfMap(AsBytes("10 8 " + std::string(1 << 20, 'n')))[0].name.size(), 16u << 10);
}

// Records that claim to be longer than the file, shorter than their headers, or have no name's end.
TEST(JitNames, DumpsCutAnywhere) {
  std::string dump;
  for (const uint32_t word : {0x4a695444u, 1u, 40u, 62u, 0u, 7u, 0u, 0u, 0u, 0u}) Put(dump, word);
  for (const uint64_t time : {5, 6}) {
    Put(dump, uint32_t{0});
    Put(dump, uint32_t{16 + 40 + 5 + 2});
    Put(dump, time);
    Put(dump, uint64_t{7});
    for (const uint64_t word : {kPage, kPage, uint64_t{64}, uint64_t{1}}) Put(dump, word);
    dump += std::string("name", 5) + "\x90\x90";
  }
  EXPECT_EQ(ReadJitDump(AsBytes(dump), 0).size(), 2u);
  for (size_t size = 0; size < dump.size(); ++size)
    EXPECT_EQ(ReadJitDump(AsBytes(dump.substr(0, size)), 0).size(), size < 103 ? 0u : 1u) << size;
  for (size_t at = 0; at < dump.size(); ++at) {
    std::string changed = dump;
    changed[at] = '\xff';
    EXPECT_LE(ReadJitDump(AsBytes(changed), 0).size(), 2u);
  }
}

// Lines of two files, the second one's name given by reference; then the function.
TEST(JitNames, LinesCutAndChangedAnywhere) {
  std::string dump;
  for (const uint32_t word : {0x4a695444u, 1u, 40u, 62u, 0u, 7u, 0u, 0u, 0u, 0u}) Put(dump, word);
  std::string lines;
  Put(lines, uint64_t{5});
  for (const uint64_t word : {kPage, uint64_t{3}}) Put(lines, word);
  for (const uint64_t offset : {0, 8, 16}) {
    Put(lines, kPage + offset);
    Put(lines, uint32_t{10} + static_cast<uint32_t>(offset));
    Put(lines, uint32_t{1});
    lines += offset == 8 ? std::string("\xff", 2) : std::string("f.js", 5);
  }
  Put(dump, uint32_t{2});
  Put(dump, static_cast<uint32_t>(8 + lines.size()));
  dump += lines;
  Put(dump, uint32_t{0});
  Put(dump, uint32_t{16 + 40 + 5 + 2});
  Put(dump, uint64_t{6});
  Put(dump, uint64_t{7});
  for (const uint64_t word : {kPage, kPage, uint64_t{64}, uint64_t{1}}) Put(dump, word);
  dump += std::string("name", 5) + "\x90\x90";

  const auto whole = ReadJitDump(AsBytes(dump), 0);
  ASSERT_EQ(whole.size(), 1u);
  ASSERT_TRUE(whole[0].lines);
  ASSERT_EQ(whole[0].lines->size(), 3u);
  EXPECT_EQ((*whole[0].lines)[1].file, "f.js");
  EXPECT_EQ((*whole[0].lines)[1].offset, 8u);
  EXPECT_EQ((*whole[0].lines)[1].line, 18u);
  for (size_t size = 0; size < dump.size(); ++size)
    EXPECT_EQ(ReadJitDump(AsBytes(dump.substr(0, size)), 0).size(), 0u) << size;
  for (size_t at = 0; at < dump.size(); ++at)
    for (const char byte : {'\0', '\x7f', '\xff'}) {
      std::string changed = dump;
      changed[at] = byte;
      for (const JitSymbol& symbol : ReadJitDump(AsBytes(changed), 0)) {
        if (symbol.lines) {
          EXPECT_LE(symbol.lines->size(), 3u);
        }
      }
    }
}

// A name of each byte, each over all names before it, for a page that was recorded a hundred times.
TEST(JitNames, OfEachByteOfManyPages) {
  const ScratchFolder folder;
  std::string map;
  for (uint64_t at = 0; at < 4096; ++at) {
    char line[64];
    map.append(line,
               static_cast<size_t>(std::snprintf(line, sizeof line, "%llx 7fffffff0000 n%llu\n",
                                                 static_cast<unsigned long long>(kPage + 4095 - at),
                                                 static_cast<unsigned long long>(at))));
  }
  for (int i = 0; i < 4; ++i) map += map;
  Keep(folder, map);
  const auto names = symbols::JitNames::Read(WithPages(folder, 100));
  ASSERT_TRUE(names.Find(4096));
  EXPECT_EQ(names.Find(4096)->name, "n4095");
  EXPECT_TRUE(names.Find(4096 * 100));
}

TEST(JitNames, IndexesOfAnything) {
  const ScratchFolder folder;
  const std::string long_line(1 << 20, 'x');
  folder.Write("r.data.images/index",
               "flowback-images 1\nimage\nimage a\nimage ../x 1 2 - /x\nimage a x 2 - /x\n"
               "image a 1 2 zz /x\nnames 1 x -\nnames /etc/passwd 7 -\nnames .. 7 -\n" +
                   long_line + "\nmapped a 1 2 3 4 5\nmapped a 1 2\n" +
                   std::string("image \0 1 2 - x\n", 16) + "names ok 7 -");
  const KeptImages kept = KeptImages::Of(folder.File("r.data"));
  ASSERT_EQ(kept.names().size(), 1u);
  EXPECT_EQ(kept.names()[0].name, "ok");
  EXPECT_FALSE(kept.names()[0].clock_offset);
  folder.Write("r.data.images/index", "flowback-images 2\nnames ok 7 -\n");
  EXPECT_TRUE(KeptImages::Of(folder.File("r.data")).names().empty());
}

}  // namespace
}  // namespace flowback::test
