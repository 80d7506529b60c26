// SPDX-License-Identifier: MIT
// Names of functions: this test program looks its own up, and those of shared images.
#include "flowback/replay/symbolizer.h"

#include <cxxabi.h>
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/mapped_file.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/places.h"

namespace flowback::test {

// Functions whose names are known; kept from being inlined and from being folded into one.
[[gnu::noinline]] int NamedFunction(int value) {
  asm volatile("" ::: "memory");
  return value ^ 3;
}

namespace {

constexpr uint64_t kLoadAddress = 0x10000000;

// The whole file as one section at kLoadAddress.
class MappedElf {
 public:
  explicit MappedElf(const std::string& path) : file_(*MappedFile::Open(path)) {
    const auto section =
        std::make_shared<CodeSection>(path, 0, file_->bytes(), file_, Verification::kGiven);
    space_.Map({.address = kLoadAddress,
                .size = file_->bytes().size(),
                .section_offset = 0,
                .section = section});
  }

  const AddressSpace& space() const { return space_; }
  // Where the file's byte for the linked address is, by a reading of the headers of its own.
  uint64_t AddressOf(uint64_t linked) const {
    Elf64_Ehdr header;
    std::memcpy(&header, file_->bytes().data(), sizeof header);
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, file_->bytes().data() + header.e_phoff + i * sizeof segment,
                  sizeof segment);
      if (segment.p_type == PT_LOAD && linked - segment.p_vaddr < segment.p_filesz)
        return kLoadAddress + linked - segment.p_vaddr + segment.p_offset;
    }
    return 0;
  }

 private:
  std::shared_ptr<const MappedFile> file_;
  AddressSpace space_;
};

extern "C" const char __executable_start;  // the linker's: where this program's file begins

TEST(Symbolizer, FindsThisProgramsFunctions) {
  const MappedElf self("/proc/self/exe");
  Symbolizer symbolizer;
  const uint64_t linked =
      reinterpret_cast<uint64_t>(&NamedFunction) - reinterpret_cast<uint64_t>(&__executable_start);
  const auto symbol = symbolizer.Find(self.space(), self.AddressOf(linked));
  ASSERT_TRUE(symbol);
  EXPECT_EQ(symbol->name, "flowback::test::NamedFunction(int)");
  EXPECT_EQ(symbol->offset, 0u);
  const auto inside = symbolizer.Find(self.space(), self.AddressOf(linked + 2));
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->name, symbol->name);
  EXPECT_EQ(inside->offset, 2u);
  EXPECT_GE(NamedFunction(std::rand()), 0);
}

TEST(Symbolizer, NothingMappedHasNoName) {
  const MappedElf self("/proc/self/exe");
  Symbolizer symbolizer;
  EXPECT_FALSE(symbolizer.Find(self.space(), 0x42));
  EXPECT_FALSE(symbolizer.Find(self.space(), kLoadAddress));  // the ELF header
}

TEST(Symbolizer, AFileThatIsNoElfFileHasNoNames) {
  const MappedElf text(SourceFolder() + "/CMakeLists.txt");
  Symbolizer symbolizer;
  EXPECT_FALSE(symbolizer.Find(text.space(), kLoadAddress + 10));
}

// The names that start somewhere in the first `size` bytes, in order.
std::vector<std::string> NamesIn(const MappedElf& file, Symbolizer& symbolizer, uint64_t size) {
  std::vector<std::string> names;
  for (uint64_t address = kLoadAddress; address < kLoadAddress + size; ++address) {
    const auto symbol = symbolizer.Find(file.space(), address);
    if (symbol && symbol->offset == 0) names.emplace_back(symbol->name);
  }
  return names;
}

bool Has(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// objdump -d names these stubs in the shared program.
TEST(Symbolizer, NamesLinkageTableStubs) {
  FLOWBACK_NEEDS_TRACES();
  const MappedElf hello(golden::TracesFolder() / "generated/images/recorded/hello");
  Symbolizer symbolizer;
  std::vector<std::string> stubs = NamesIn(hello, symbolizer, 0x4000);
  std::erase_if(stubs, [](const std::string& name) { return !name.ends_with("@plt"); });
  EXPECT_EQ(stubs, (std::vector<std::string>{"printf@plt", "strtol@plt", "__cxa_finalize@plt"}));
}

// "_Z3foov@plt" as "foo()@plt".
std::string ReadableStub(std::string_view stub) {
  const std::string name(stub.substr(0, stub.find('@')));
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return (status == 0 ? readable.get() : name) + std::string(stub.substr(name.size()));
}

// llvm-objdump names them in Debian's libraries for arm64, from the same relocations. Its results
// are compared by address.
TEST(Symbolizer, NamesLinkageTableStubsOfAArch64) {
  for (const char* library : {"libc.so.6", "libstdc++.so.6", "ld-linux-aarch64.so.1"}) {
    const std::string path = std::string("/usr/aarch64-linux-gnu/lib/") + library;
    if (access(path.c_str(), R_OK) != 0)
      GTEST_SKIP() << path << " is absent: install libc6-arm64-cross and libstdc++6-arm64-cross";
    const std::unique_ptr<FILE, int (*)(FILE*)> lines(
        popen(("llvm-objdump-19 -d -j .plt '" + path + "' 2>/dev/null").c_str(), "r"), pclose);
    const MappedElf file(path);
    Symbolizer symbolizer;
    char line[4096];
    size_t stubs = 0;
    while (std::fgets(line, sizeof line, lines.get()) != nullptr) {
      unsigned long long address = 0;
      char name[2048];
      // "0000000000027260 <realloc@plt>:"; a name may have angle brackets of its own.
      if (std::sscanf(line, "%llx <%2047[^\n]", &address, name) != 2) continue;
      std::string_view theirs = name;
      if (!theirs.ends_with("@plt>:")) continue;
      theirs.remove_suffix(2);
      const auto symbol = symbolizer.Find(file.space(), file.AddressOf(address));
      ASSERT_TRUE(symbol) << name;
      EXPECT_EQ(symbol->name, ReadableStub(theirs));
      EXPECT_EQ(symbol->offset, 0u) << name;
      ++stubs;
    }
    if (stubs == 0) GTEST_SKIP() << "llvm-objdump-19 is absent or names no stub in " << path;
  }
}

TEST(Symbolizer, ASeparateDebugFileNamesWhatWasStripped) {
  const MappedElf library(FIXTURE_FOLDER "/libstripped.so");
  Symbolizer alone;
  const std::vector<std::string> exported = NamesIn(library, alone, 0x2000);
  EXPECT_TRUE(Has(exported, "fixture::Exported(int)")) << testing::PrintToString(exported);
  EXPECT_FALSE(Has(exported, "fixture::(anonymous namespace)::Hidden(int)"));
  Symbolizer with_debug_file({.symfs = {}, .debug_dirs = {FIXTURE_FOLDER}, .build_id_cache = {}});
  const std::vector<std::string> all = NamesIn(library, with_debug_file, 0x2000);
  EXPECT_TRUE(Has(all, "fixture::Exported(int)")) << testing::PrintToString(all);
  EXPECT_TRUE(Has(all, "fixture::(anonymous namespace)::Hidden(int)"))
      << testing::PrintToString(all);
}

}  // namespace
}  // namespace flowback::test
