// SPDX-License-Identifier: MIT
#include "tests/symbols/source_fixture.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace flowback::test {
namespace {

constexpr uint64_t kMapAddress = 0x7f0000000000;

constexpr char kHeader[] = R"(#pragma once
static inline __attribute__((always_inline)) int Square(int x) {
  return x * x;
}

template <class T>
inline __attribute__((always_inline)) T SumOfSquares(T a, T b) {
  T sum = Square(a);
  sum += Square(b);
  return sum;
}

namespace shapes {
struct Box {
  int width, height;
  __attribute__((always_inline)) int Diagonal() const { return SumOfSquares(width, height); }
  int Area() const;
};
}  // namespace shapes
)";

constexpr char kFirst[] = R"(#include "inlined.h"
extern volatile int sink;
int Loop(int count) {
  int total = 0;
  for (int i = 0; i < count; ++i) {
    total += Square(i);
    if (total % 3 == 0) total += SumOfSquares(i, count);
    sink = total;
  }
  return total;
}
namespace {
__attribute__((noinline)) int Hidden(const shapes::Box& box) {
  auto twice = [&](int x) { return x * 2 + box.Diagonal(); };
  return twice(box.width) + box.Area();
}
}  // namespace
int main(int argc, char**) {
  shapes::Box box{argc, argc + 1};
  sink = Loop(argc) + Hidden(box);
  return sink == 42 ? Hidden({1, 2}) : 0;
}
)";

constexpr char kSecond[] = R"(#include "inlined.h"
volatile int sink;
int shapes::Box::Area() const {
  if (width > 1000) __builtin_trap();
  return width *
         height;
}
)";

}  // namespace

SourceFixture::SourceFixture() {
  std::string name = testing::TempDir() + "flowback-lines-XXXXXX";
  folder_ = mkdtemp(name.data()) == nullptr ? "" : name;
}

SourceFixture::~SourceFixture() {
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

void SourceFixture::WriteSources() const {
  std::ofstream(File("inlined.h")) << kHeader;
  std::ofstream(File("first.cc")) << kFirst;
  std::ofstream(File("second.cc")) << kSecond;
}

bool SourceFixture::Run(const std::string& command) const {
  const int status =
      std::system(("cd '" + folder_ + "' && { " + command + "; } >log 2>&1").c_str());
  if (status == 0) return true;
  std::ostringstream log;
  log << std::ifstream(File("log")).rdbuf();
  ADD_FAILURE() << command << "\n" << log.str();
  return false;
}

std::string SourceFixture::Output(const std::string& command) const {
  std::string text;
  FILE* pipe = popen(("cd '" + folder_ + "' && " + command).c_str(), "r");
  std::array<char, 65536> buffer;
  for (size_t size; pipe != nullptr && (size = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    text.append(buffer.data(), size);
  if (pipe == nullptr || pclose(pipe) != 0) ADD_FAILURE() << command;
  return text;
}

bool SourceFixture::Build(const std::string& compiler_and_options,
                          const std::string& program) const {
  WriteSources();
  return Run(compiler_and_options + " -c first.cc -o first.o && " + compiler_and_options +
             " -c second.cc -o second.o && " + compiler_and_options + " first.o second.o -o " +
             program);
}

void PrintTo(const Frame& frame, std::ostream* out) {
  *out << frame.function << " " << frame.file << ":" << frame.line << ":" << frame.column;
}

MappedProgram::MappedProgram(const std::string& path) : file_(*MappedFile::Open(path)) {
  const uint8_t* bytes = file_->bytes().data();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  const auto section = [&](unsigned i) {
    Elf64_Shdr result;
    std::memcpy(&result, bytes + header.e_shoff + i * sizeof result, sizeof result);
    return result;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  for (unsigned i = 1; i < header.e_shnum; ++i) {
    const Elf64_Shdr each = section(i);
    const auto* name = reinterpret_cast<const char*>(bytes + names.sh_offset + each.sh_name);
    if (std::strncmp(name, ".debug_", 7) == 0) {
      debug_begin_ = std::min(debug_begin_, each.sh_offset);
      debug_end_ = std::max(debug_end_, each.sh_offset + each.sh_size);
    }
    if (std::strcmp(name, ".text") != 0) continue;
    text_begin_ = each.sh_addr;
    text_end_ = each.sh_addr + each.sh_size;
    slide_ = kMapAddress + each.sh_offset - each.sh_addr;
  }
  const auto code =
      std::make_shared<CodeSection>(path, 0, file_->bytes(), file_, Verification::kGiven);
  space_.Map({.address = kMapAddress,
              .size = file_->bytes().size(),
              .section_offset = 0,
              .section = code});
}

std::vector<std::vector<Frame>> LlvmFrames(const SourceFixture& folder, const std::string& program,
                                           uint64_t begin, uint64_t end) {
  {
    std::ofstream addresses(folder.File("addresses"));
    for (uint64_t address = begin; address < end; ++address)
      addresses << std::hex << "0x" << address << '\n';
  }
  std::istringstream output(folder.Output(SOURCE_SYMBOLIZER " --output-style=JSON --obj='" +
                                          program + "' --no-demangle <addresses"));
  std::vector<std::vector<Frame>> all;
  for (std::string line; std::getline(output, line);) {
    std::vector<Frame>& frames = all.emplace_back();
    const nlohmann::json answer = nlohmann::json::parse(line);
    for (const auto& symbol : answer["Symbol"])
      frames.push_back(
          {symbol["FunctionName"], symbol["FileName"], symbol["Line"], symbol["Column"]});
  }
  return all;
}

}  // namespace flowback::test
