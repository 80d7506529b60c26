// SPDX-License-Identifier: MIT
// Writes a generated stream, its image and its truth to files, for benchmarks of any size:
//   generate_stream PREFIX [--NAME VALUE]...
// PREFIX.pt is the stream, PREFIX.image the code, PREFIX.args the arguments with which flowback
// decodes it, PREFIX.truth what it must find.
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/support/generator/stream_generator.h"

namespace flowback::testing {
namespace {

using Setter = std::function<void(GeneratorOptions&, uint64_t)>;

template <class T>
Setter Set(T GeneratorOptions::* member) {
  return [member](GeneratorOptions& options, uint64_t value) {
    options.*member = static_cast<T>(value);
  };
}

const std::map<std::string, Setter>& Setters() {
  using O = GeneratorOptions;
  static const std::map<std::string, Setter> setters = {
      {"seed", Set(&O::seed)},
      {"instructions", Set(&O::instructions)},
      {"shape", Set(&O::shape)},
      {"mode", Set(&O::mode)},
      {"functions", Set(&O::functions)},
      {"sections", Set(&O::sections)},
      {"odd-returns", Set(&O::odd_returns)},
      {"deep-recursion", Set(&O::deep_recursion)},
      {"transactions", Set(&O::transactions)},
      {"ptwrite", Set(&O::ptwrite)},
      {"compat", Set(&O::compat)},
      {"system-calls", Set(&O::system_calls)},
      {"threads", Set(&O::threads)},
      {"kernel", Set(&O::kernel)},
      {"filter", Set(&O::filter)},
      {"return-compression", Set(&O::return_compression)},
      {"on-mismatch", Set(&O::on_mismatch)},
      {"long-tnt", Set(&O::long_tnt)},
      {"deferred-tips", Set(&O::deferred_tips)},
      {"padding", Set(&O::padding)},
      {"ptwrite-fup", Set(&O::ptwrite_fup)},
      {"psb-period", Set(&O::psb_period)},
      {"tsc", Set(&O::tsc)},
      {"mtc", Set(&O::mtc)},
      {"cyc", Set(&O::cyc)},
      {"event-trace", Set(&O::event_trace)},
      {"pebs", Set(&O::pebs)},
      {"power", Set(&O::power)},
      {"maintenance", Set(&O::maintenance)},
      {"interrupt-every", Set(&O::interrupt_every)},
      {"handler-every", Set(&O::handler_every)},
      {"overflow-every", Set(&O::overflow_every)},
      {"overflow-into-psb", Set(&O::overflow_into_psb)},
      {"end-by-stop", Set(&O::end_by_stop)},
  };
  return setters;
}

int Usage() {
  std::fprintf(stderr,
               "usage: generate_stream PREFIX [--mixed SEED] [--NAME VALUE]...\n"
               "--mixed takes a test's mix of options, which later ones change. NAMEs (values are "
               "numbers; 0 and 1 are no and yes):\n");
  for (const auto& [name, setter] : Setters()) std::fprintf(stderr, "  --%s\n", name.c_str());
  return 2;
}

bool Parse(int argc, char** argv, GeneratorOptions& options) {
  for (int i = 2; i < argc; i += 2) {
    const std::string name = argv[i];
    if (name.rfind("--", 0) != 0 || i + 1 == argc) return false;
    char* end = nullptr;
    const uint64_t value = std::strtoull(argv[i + 1], &end, 0);
    if (*end != '\0') return false;
    if (name == "--mixed") {
      options = MixedOptions(value);
      continue;
    }
    const auto setter = Setters().find(name.substr(2));
    if (setter == Setters().end()) return false;
    setter->second(options, value);
  }
  return true;
}

bool WriteFile(const std::string& path, const void* data, size_t size) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  const bool written = file != nullptr && std::fwrite(data, 1, size, file) == size;
  if (file == nullptr || std::fclose(file) != 0 || !written) {
    std::fprintf(stderr, "generate_stream: can't write %s\n", path.c_str());
    return false;
  }
  return true;
}

bool WriteText(const std::string& path, const std::string& text) {
  return WriteFile(path, text.data(), text.size());
}

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%#llx", static_cast<unsigned long long>(value));
  return text;
}

// The sections one after the other, and how to map them.
bool WriteImage(const std::string& prefix, const GeneratedStream& stream) {
  std::vector<uint8_t> image;
  std::string args = "--raw-pt " + prefix + ".pt";
  for (const GeneratedSection& section : stream.sections) {
    args += " --section " + prefix + ".image:" + Hex(image.size()) + ":" +
            Hex(section.bytes.size()) + ":" + Hex(section.address);
    image.insert(image.end(), section.bytes.begin(), section.bytes.end());
  }
  if (stream.config.tsc_ctc_numerator != 0)
    args += " --tsc-ctc " + std::to_string(stream.config.tsc_ctc_numerator) + "/" +
            std::to_string(stream.config.tsc_ctc_denominator) + " --mtc-freq " +
            std::to_string(*stream.config.mtc_shift);
  if (stream.config.nominal_ratio != 0)
    args += " --nominal-freq " + std::to_string(stream.config.nominal_ratio);
  return WriteFile(prefix + ".image", image.data(), image.size()) &&
         WriteText(prefix + ".args", args + "\n");
}

std::string TruthText(const GeneratedStream& stream) {
  const GeneratedTruth& t = stream.truth;
  char digest[64];
  std::snprintf(digest, sizeof(digest), "0 %llu %016llx\n",
                static_cast<unsigned long long>(t.digest.count),
                static_cast<unsigned long long>(t.digest.hash));
  std::string text = "# " + Describe(stream.options) + "\n";
  text += std::string("digest ") + digest;
  const auto line = [&text](const char* name, uint64_t value) {
    text += std::string(name) + " " + std::to_string(value) + "\n";
  };
  line("taken", t.taken);
  line("not-taken", t.not_taken);
  line("jumps", t.jumps);
  line("indirect-jumps", t.indirect_jumps);
  line("calls", t.calls);
  line("indirect-calls", t.indirect_calls);
  line("returns", t.returns);
  line("far", t.far);
  for (const GeneratedPsb& psb : t.psbs)
    text += "psb " + std::to_string(psb.offset) + " " + std::to_string(psb.instructions) + " " +
            Hex(psb.ip) + "\n";
  for (const GeneratedLoss& loss : t.losses)
    text += "loss " + std::to_string(loss.offset) + " after " + std::to_string(loss.told) +
            " lost " + std::to_string(loss.lost) + " resume " + Hex(loss.resume_ip) + "\n";
  return text;
}

int Main(int argc, char** argv) {
  GeneratorOptions options;
  if (argc < 2 || argv[1][0] == '-' || !Parse(argc, argv, options)) return Usage();
  const std::string prefix = argv[1];
  const GeneratedStream stream = GenerateStream(options);
  return WriteFile(prefix + ".pt", stream.bytes.data(), stream.bytes.size()) &&
                 WriteImage(prefix, stream) && WriteText(prefix + ".truth", TruthText(stream))
             ? 0
             : 1;
}

}  // namespace
}  // namespace flowback::testing

int main(int argc, char** argv) { return flowback::testing::Main(argc, argv); }
