// SPDX-License-Identifier: MIT
// Writes seeds for fuzz_segment: make_segment_seeds FOLDER. Small generated streams with their
// code; run it again when the seeds' form or the generator changes.
#include <cstdio>
#include <string>

#include "tests/fuzz/segment_input.h"
#include "tests/support/stream_generator.h"

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

int Main(const std::string& folder) {
  uint64_t seed = 1;
  for (uint64_t i = 0; i < kSeeds; ++i, ++seed) {
    const std::vector<uint8_t> data = Seed(seed);
    const std::string path = folder + "/generated-" + std::to_string(seed);
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written =
        file != nullptr && std::fwrite(data.data(), 1, data.size(), file) == data.size();
    if (file == nullptr || std::fclose(file) != 0 || !written) {
      std::fprintf(stderr, "make_segment_seeds: can't write %s\n", path.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace flowback::testing

int main(int argc, char** argv) {
  if (argc == 2) return flowback::testing::Main(argv[1]);
  std::fprintf(stderr, "usage: make_segment_seeds FOLDER\n");
  return 2;
}
