// SPDX-License-Identifier: MIT
// Writes seeds. make_segment_seeds FOLDER: for fuzz_segment, small generated streams with their
// code; run it again when the seeds' form or the generator changes. make_segment_seeds --runs
// FOLDER: into FOLDER/fuzz_segment and FOLDER/fuzz_packets, long runs of one packet each, which no
// fuzzer finds from small seeds and in which costs show that grow faster than the input. They are
// made anew for each run of CI.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "decode/pt/packets/packet_writer.h"
#include "tests/fuzz/segment_input.h"
#include "tests/support/generator/stream_generator.h"

namespace flowback::testing {
namespace {

constexpr uint64_t kSeeds = 12;
constexpr size_t kMostBytes = 4096;

// The first mix from `seed` on that gives a small stream with one section.
std::vector<uint8_t> Seed(uint64_t& seed) {
  for (;; ++seed) {
    GeneratorOptions options = MixedOptions(seed);
    options.instructions = 600;
    options.functions = 4;
    options.sections = 1;
    options.kernel = false;
    const GeneratedStream stream = GenerateStream(options);
    const GeneratedSection& section = stream.sections[0];
    SegmentInput input;
    input.options = SegmentInput::kBare;
    if (!options.return_compression) input.options |= SegmentInput::kNoReturnCompression;
    input.page = static_cast<uint32_t>(section.address >> 12);
    input.image = section.bytes;
    input.trace = stream.bytes;
    const std::vector<uint8_t> data = input.Format();
    if (input.address() == section.address && data.size() <= kMostBytes) return data;
  }
}

bool Write(const std::string& path, const std::vector<uint8_t>& data) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written =
      file != nullptr && std::fwrite(data.data(), 1, data.size(), file) == data.size();
  if (file != nullptr && std::fclose(file) == 0 && written) return true;
  std::fprintf(stderr, "make_segment_seeds: can't write %s\n", path.c_str());
  return false;
}

int WriteStreams(const std::string& folder) {
  uint64_t seed = 1;
  for (uint64_t i = 0; i < kSeeds; ++i, ++seed)
    if (!Write(folder + "/generated-" + std::to_string(seed), Seed(seed))) return 1;
  return 0;
}

struct Run {
  const char* name;
  void (*write)(pt::PacketWriter& writer);
};

constexpr uint64_t kCode = 0x401000;
constexpr Run kRuns[] = {
    {"pad", [](pt::PacketWriter& writer) { writer.Write(pt::Pad{}); }},
    {"tnt", [](pt::PacketWriter& writer) { writer.TntBit(true); }},
    {"psb", [](pt::PacketWriter& writer) { writer.Psb(); }},
    {"psbend", [](pt::PacketWriter& writer) { writer.Write(pt::PsbEnd{}); }},
    {"tsc", [](pt::PacketWriter& writer) { writer.Write(pt::Tsc{.tsc = 1}); }},
    {"cyc", [](pt::PacketWriter& writer) { writer.Write(pt::Cyc{.cycles = 1}); }},
    {"ovf", [](pt::PacketWriter& writer) { writer.Write(pt::Ovf{}); }},
    {"tip", [](pt::PacketWriter& writer) { writer.Tip(kCode); }},
    {"fup", [](pt::PacketWriter& writer) { writer.Fup(kCode); }},
    {"pge", [](pt::PacketWriter& writer) { writer.TipPge(kCode); }},
    {"pgd-pge",
     [](pt::PacketWriter& writer) {
       writer.TipPgd(std::nullopt);
       writer.TipPge(kCode);
     }},
    {"mode", [](pt::PacketWriter& writer) { writer.Write(pt::ModeExec{}); }},
    {"pip", [](pt::PacketWriter& writer) { writer.Write(pt::Pip{.cr3 = 0x1000}); }},
    {"vmcs", [](pt::PacketWriter& writer) { writer.Write(pt::Vmcs{.base = 0x1000}); }},
};

std::vector<uint8_t> Packets(const Run& run) {
  constexpr size_t kSize = size_t{64} << 10;
  pt::PacketWriter writer;
  while (writer.size() < kSize) run.write(writer);
  writer.FlushTnt();
  return writer.Take();
}

int WriteRuns(const std::string& folder) {
  const std::string segments = folder + "/fuzz_segment";
  const std::string packets = folder + "/fuzz_packets";
  std::error_code ignored;  // what can't be made can't be written to
  std::filesystem::create_directories(segments, ignored);
  std::filesystem::create_directories(packets, ignored);
  // jz to itself; jmp to it.
  const std::vector<uint8_t> code = {0x74, 0xfe, 0xeb, 0xfc};
  for (const Run& run : kRuns) {
    const std::vector<uint8_t> bytes = Packets(run);
    SegmentInput input;
    input.page = static_cast<uint32_t>(kCode >> 12);
    input.image = code;
    input.trace = bytes;
    const std::string name = std::string("/run-") + run.name;
    if (!Write(segments + name, input.Format()) || !Write(packets + name, bytes)) return 1;
  }
  return 0;
}

}  // namespace
}  // namespace flowback::testing

int main(int argc, char** argv) {
  if (argc == 2) return flowback::testing::WriteStreams(argv[1]);
  if (argc == 3 && std::strcmp(argv[1], "--runs") == 0)
    return flowback::testing::WriteRuns(argv[2]);
  std::fprintf(stderr, "usage: make_segment_seeds [--runs] FOLDER\n");
  return 2;
}
