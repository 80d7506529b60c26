// SPDX-License-Identifier: MIT
// The kernel's symbols, by address.
#include "replay/symbols/kallsyms.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string_view>

#include "flowback/replay/symbolizer.h"

namespace flowback::symbols {
namespace {

constexpr std::string_view kList =
    "0000000000000000 A fixed_percpu_data\n"
    "ffffffff81000000 T startup_64\n"
    "ffffffff81000000 T _stext\n"
    "ffffffff81000100 t helper.cold\n"
    "ffffffff81000200 D data\n"
    "ffffffffc0100000 d first_data\t[nf_nat]\n"
    "ffffffffc0100000 t nf_nat_init\t[nf_nat]\n"
    "no line\n"
    "ffffffffffffffffff T too_long\n"
    "ffffffffc0300000 t bpf_prog_1234_test\t[bpf]";

Kallsyms Read(std::string_view text) {
  return Kallsyms::Read({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

std::string NameAt(const Kallsyms& list, uint64_t address) {
  const auto hit = list.Find(address);
  return hit ? std::string(hit->name) + "+" + std::to_string(hit->offset) : "";
}

TEST(Kallsyms, SymbolsReachToTheNext) {
  const Kallsyms list = Read(kList);
  EXPECT_EQ(NameAt(list, 0xffffffff81000000), "startup_64+0");
  EXPECT_EQ(NameAt(list, 0xffffffff810000ff), "startup_64+255");
  EXPECT_EQ(NameAt(list, 0xffffffff81000100), "helper.cold+0");
  EXPECT_EQ(NameAt(list, 0xffffffff81000200), "") << "data";
  EXPECT_EQ(NameAt(list, 0xffffffffc0100008), "nf_nat_init+8") << "code before data";
  EXPECT_EQ(NameAt(list, 0xffffffffc0300001), "bpf_prog_1234_test+1") << "the last one";
  EXPECT_EQ(NameAt(list, 0xffffffffc0300000 + (1 << 20)), "") << "too far away";
  EXPECT_EQ(NameAt(list, 0xffffffff80ffffff), "");
  EXPECT_EQ(NameAt(list, 0), "");
}

TEST(Kallsyms, WithoutPrivilegeThereAreNoAddresses) {
  EXPECT_TRUE(Read("0000000000000000 T startup_64\n0000000000000000 t helper\n").empty());
  EXPECT_TRUE(Read("").empty());
  EXPECT_TRUE(Kallsyms::ReadFile("/nowhere/kallsyms").empty());
}

// Each line cut everywhere: nothing is read past the end, and no half name is an error.
TEST(Kallsyms, CutAnywhere) {
  for (size_t size = 0; size < kList.size(); ++size) {
    const std::vector<uint8_t> exact(kList.begin(), kList.begin() + static_cast<long>(size));
    Kallsyms::Read(exact).Find(0xffffffff81000000);
  }
}

TEST(Kallsyms, NameKernelCode) {
  const std::string path = testing::TempDir() + "flowback-kallsyms";
  std::ofstream(path) << kList;
  const auto bytes = std::make_shared<std::vector<uint8_t>>(0x100, 0x90);
  AddressSpace space;
  space.Map(
      {.address = 0xffffffff81000000,
       .size = 0x100,
       .section_offset = 0,
       .section = std::make_shared<CodeSection>("[kernel.kallsyms]", 0, *bytes, bytes,
                                                Verification::kGiven, CodeMode::kX86_64, path)});
  Symbolizer symbolizer;
  const auto symbol = symbolizer.Find(space, 0xffffffff81000010);
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->name, "startup_64");
  EXPECT_EQ(symbol->offset, 0x10u);
  EXPECT_TRUE(symbol->is_function);
}

}  // namespace
}  // namespace flowback::symbols
