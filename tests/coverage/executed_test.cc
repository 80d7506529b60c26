// SPDX-License-Identifier: MIT
// What the programs of the shared recordings executed is code that was found without running it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "flowback/replay/static_code.h"
#include "tests/golden/shared_traces.h"

namespace flowback::golden {
namespace {

struct ClosePipe {
  void operator()(FILE* pipe) const { pclose(pipe); }
};

std::vector<uint64_t> Executed(const std::filesystem::path& recording) {
  const std::string command = "zcat '" + (recording / "coverage.txt.gz").string() + "'";
  const std::unique_ptr<FILE, ClosePipe> text(popen(command.c_str(), "r"));
  std::vector<uint64_t> addresses;
  unsigned long address = 0;
  while (text != nullptr && fscanf(text.get(), "%lx %*[^\n]", &address) == 1)
    addresses.push_back(address);
  return addresses;
}

struct Mapped {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  std::string image;
};

// maps.txt: start, length, file offset, image. Several may have been at one place over time.
std::vector<Mapped> Mappings(const std::filesystem::path& recording) {
  std::ifstream text(recording / "maps.txt");
  std::vector<Mapped> all;
  for (std::string line; std::getline(text, line);) {
    unsigned long begin = 0;
    unsigned long size = 0;
    unsigned long offset = 0;
    char image[512] = "";
    if (std::sscanf(line.c_str(), "%lx %lx %lx %511s", &begin, &size, &offset, image) == 4)
      all.push_back({begin, begin + size, offset, image});
  }
  return all;
}

struct Found {
  uint64_t all = 0;
  uint64_t instructions = 0;
  uint64_t elsewhere = 0;  // known to be no code, although it was executed
};

struct Known {
  std::unique_ptr<ObjectImage> image;
  std::unique_ptr<StaticCode> code;
};

Known Read(const std::string& file) {
  Known known;
  auto image = ObjectImage::Open({.path = file, .build_id = {}}, file);
  if (!image) return known;
  auto code = StaticCode::Of(*image, {});
  if (!code) return known;
  known.image = std::make_unique<ObjectImage>(std::move(*image));
  known.code = std::make_unique<StaticCode>(std::move(*code));
  return known;
}

// Whether the bytes that no flow was seen to reach, of the function there, may be what executed.
bool IsUncertain(const StaticCode& code, uint64_t address) {
  const StaticFunction* function = code.FunctionAt(address);
  return function != nullptr && function->uncertain_bytes != 0;
}

Found Look(const std::filesystem::path& recording, std::map<std::string, Known>& files) {
  Found found;
  const std::vector<Mapped> mappings = Mappings(recording);
  for (const uint64_t address : Executed(recording)) {
    const Mapped* only = nullptr;
    unsigned mapped = 0;
    for (const Mapped& each : mappings)
      if (address >= each.begin && address < each.end) {
        only = &each;
        ++mapped;
      }
    if (mapped != 1) continue;
    const std::filesystem::path shared = TracesFolder() / "generated" / only->image;
    const std::string file =
        (std::filesystem::exists(shared) ? shared : recording / only->image).string();
    const auto [entry, is_new] = files.try_emplace(file);
    if (is_new) entry->second = Read(file);
    if (entry->second.code == nullptr) continue;
    const auto linked = entry->second.image->AddressOf(address - only->begin + only->offset);
    ++found.all;
    if (linked && entry->second.code->InstructionAt(*linked) != nullptr) {
      ++found.instructions;
    } else if (!linked || !IsUncertain(*entry->second.code, *linked)) {
      if (++found.elsewhere < 5)
        std::printf("%s: %lx\n", file.c_str(), static_cast<unsigned long>(linked.value_or(0)));
    }
  }
  return found;
}

TEST(ExecutedTest, IsAmongTheInstructions) {
  if (!std::filesystem::exists(TracesFolder() / "generated"))
    GTEST_SKIP() << "no shared recordings";
  std::map<std::string, Known> files;
  Found sum;
  for (const auto& folder : std::filesystem::directory_iterator(TracesFolder() / "generated")) {
    if (!std::filesystem::exists(folder.path() / "coverage.txt.gz")) continue;
    const Found found = Look(folder.path(), files);
    sum.all += found.all;
    sum.instructions += found.instructions;
    sum.elsewhere += found.elsewhere;
  }
  std::printf("%lu of %lu executed instructions are known, %lu of the others are in no doubt\n",
              static_cast<unsigned long>(sum.instructions), static_cast<unsigned long>(sum.all),
              static_cast<unsigned long>(sum.elsewhere));
  EXPECT_GT(sum.all, 100'000U);
  EXPECT_EQ(sum.elsewhere, 0U);
  // The others are behind jumps that only the C library's authors understand: its memcpy's for
  // SSSE3, and a table of printf.
  EXPECT_GE(sum.instructions * 1000, sum.all * 999);
}

}  // namespace
}  // namespace flowback::golden
