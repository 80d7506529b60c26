// SPDX-License-Identifier: MIT
#include "cli/reading/reader_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>

#include "cli/options/arguments.h"
#include "cli/reading/bundle_input.h"
#include "cli/reading/cache_folder.h"
#include "replay/symbols/kallsyms.h"

namespace flowback::cli {
namespace {

// What record and perf write where no other name is given.
constexpr char kUsualInput[] = "perf.data";

void AddInputOptions(CLI::App& app, ReaderOptions& options, ReaderWords& words) {
  app.add_option(
      "INPUT", words.input,
      "Recording to read (default perf.data, unless --raw-pt is given); -: standard input");
  app.add_option("-i,--input", words.input_option, "Recording to read, as perf spells it");
  AddRepeatable(app, "--raw-pt", options.open.raw_pt,
                "Read raw Intel PT bytes; one stream per file");
  AddRepeatable(app, "--pevent", options.open.pevent,
                "Sideband for --raw-pt: a file of raw perf records");
  app.add_option("--sample-type", words.sample_type,
                 "perf_event_attr's sample_type of the --pevent records, e.g. 0x10086");
  app.add_option("--time-conv", words.time_conv,
                 "Convert TSC to perf's nanoseconds by SHIFT,MULT,ZERO (perf_event_mmap_page)");
  AddRepeatable(
      app, "--image", words.images,
      "Take code from an image, which is an executable or library file, loaded at an address: "
      "ELF[@ADDRESS]");
  AddRepeatable(app, "--section", words.sections,
                "Take code from a part of a file: FILE:OFFSET:SIZE:ADDRESS");
  app.add_option("--cpu", words.cpu,
                 "FAMILY/MODEL/STEPPING of the traced processor, for its errata");
  app.add_option("--tsc-ctc", words.tsc_ctc, "TSC ticks per crystal tick, as N/D (CPUID.15H)");
  app.add_option("--mtc-freq", words.mtc_freq, "Crystal ticks between MTC packets, as 2^N");
  app.add_option("--nominal-freq", words.nominal_freq, "Maximum non-turbo ratio");
  app.add_option("--filter", words.filter,
                 "Address filter of the recording: none, START/SIZE, or perf's words, e.g. 'filter "
                 "0x401000/0x200'");
}

void AddImageOptions(CLI::App& app, ReaderOptions& options, ReaderWords& words) {
  app.add_option("--symfs", options.search.symfs, "Look for the recorded paths under this folder");
  AddRepeatable(app, "--debug-dir", words.debug_dirs,
                "Look for debug files in this folder (.build-id/xx/...)");
  app.add_option(
      "--build-id-cache", options.search.build_id_cache,
      "Look for files by build-id in this folder, as perf keeps them (default ~/.debug)");
  AddRepeatable(app, "--core", options.search.cores, "Take code that no file has from a core dump");
  app.add_option("--kcore", options.search.kcore,
                 "Read the recorded kernel's memory from a copy of its /proc/kcore");
  app.add_option("--kallsyms", options.search.kallsyms,
                 "Read the recorded kernel's symbols from a copy of its /proc/kallsyms");
}

void AddCacheOptions(CLI::App& app, ReaderOptions& options, ReaderWords& words) {
  CLI::Option* const folder =
      app.add_option("--cache-dir", words.cache_dir,
                     "Keep decoded code and indexes in this folder (default $FLOWBACK_CACHE, else "
                     "~/.cache/flowback), at most $FLOWBACK_CACHE_SIZE (default 256M)");
  app.add_flag("--no-cache", words.no_cache, "Neither use nor keep decoded code on disk")
      ->excludes(folder);
  app.add_flag("!--no-index", options.index,
               "Neither use nor keep results of earlier commands on this recording");
}

void AddSelectionOptions(CLI::App& app, ReaderOptions& options, ReaderWords& words) {
  app.add_option("--tid", words.tid, "Select threads by number, e.g. 100,102-104");
  app.add_option("--comm", words.comm, "Select threads by name");
  app.add_option("--cpu-list", words.cpu_list, "Select what these CPUs wrote, e.g. 0,2-3");
  app.add_option("--time", options.time,
                 "Select the span from A to B, either of which may be empty: seconds of the "
                 "trace's clock (12.5), a unit (12500ms), tsc:N, after the begin or before the end "
                 "(+1ms,-5ms), or percent (10%,20%)");
}

Error UsageError(const std::string& option, const std::string& word, const std::string& remedy) {
  return Error(ErrorCode::kUsage, fmt::format("{}: can't understand '{}'", option, word))
      .Remedy(fmt::format("{} {}", option, remedy));
}

Status UnderstandRatio(const std::string& text, OpenOptions& open) {
  if (text.empty()) return {};
  const size_t slash = text.find('/');
  const auto numerator = ParseNumber(text.substr(0, slash));
  const auto denominator =
      slash == std::string::npos ? std::nullopt : ParseNumber(text.substr(slash + 1));
  if (!numerator || !denominator || *numerator == 0 || *denominator == 0 ||
      *numerator > UINT32_MAX || *denominator > UINT32_MAX)
    return Fail(UsageError("--tsc-ctc", text, "200/2"));
  open.tsc_ctc_numerator = static_cast<uint32_t>(*numerator);
  open.tsc_ctc_denominator = static_cast<uint32_t>(*denominator);
  return {};
}

Status UnderstandClock(const ReaderWords& words, OpenOptions& open) {
  if (Status status = UnderstandRatio(words.tsc_ctc, open); !status) return status;
  if (!words.mtc_freq.empty()) {
    const auto shift = ParseNumber(words.mtc_freq);
    if (!shift || *shift > 15) return Fail(UsageError("--mtc-freq", words.mtc_freq, "0 to 15"));
    open.mtc_shift = static_cast<uint8_t>(*shift);
  }
  if (!words.nominal_freq.empty()) {
    const auto ratio = ParseNumber(words.nominal_freq);
    if (!ratio || *ratio == 0 || *ratio > 255)
      return Fail(UsageError("--nominal-freq", words.nominal_freq, "1 to 255"));
    open.nominal_ratio = static_cast<uint32_t>(*ratio);
  }
  return {};
}

Status UnderstandSideband(const ReaderWords& words, OpenOptions& open) {
  if (!words.sample_type.empty()) {
    open.sample_type = ParseNumber(words.sample_type);
    if (!open.sample_type) return Fail(UsageError("--sample-type", words.sample_type, "0x10086"));
  }
  if (words.time_conv.empty()) return {};
  Result<TimeConversion> time = ParseTimeConversion(words.time_conv);
  if (!time) return Fail(time.error());
  open.time_conversion = *time;
  return {};
}

bool Exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// "hello@zz", if hello exists and hello@zz does not: the address is wrong.
Status CheckAddress(const std::string& text, const ImageSpec& image) {
  const size_t at = text.rfind('@');
  if (image.load_address || at == std::string::npos || Exists(text) || !Exists(text.substr(0, at)))
    return {};
  return Fail(Error(ErrorCode::kUsage, fmt::format("--image {}: '{}' is no address, and no file "
                                                   "has the whole name",
                                                   text, text.substr(at + 1)))
                  .Remedy(fmt::format("--image {}@0x400000; an address is decimal or "
                                      "0x-hexadecimal",
                                      text.substr(0, at))));
}

// A misspelt folder would only look like one without the files.
Status CheckFolder(const std::string& option, const std::string& path) {
  std::error_code ignored;
  if (path.empty() || std::filesystem::is_directory(path, ignored)) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("{} {}: {}", option, path,
                                Exists(path) ? "is no folder" : "there is no such folder"))
                  .Remedy(fmt::format("check DIR in {} DIR, or leave it out", option)));
}

// A file that cannot be opened is reported by its reader.
Status CheckKallsyms(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !std::filesystem::is_regular_file(path, ignored)) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) return {};
  char head[512] = "";
  file.read(head, sizeof(head) - 1);
  const std::string_view text(head);
  if (symbols::Kallsyms::IsLine(text.substr(0, text.find('\n')))) return {};
  return Fail(Error(ErrorCode::kUsage,
                    fmt::format("--kallsyms {}: its first line is no symbol of a kernel: "
                                "'ADDRESS TYPE NAME'",
                                path))
                  .Remedy("give a copy of /proc/kallsyms that root made where the recording was "
                          "made"));
}

Status CheckSearch(const ImageSearch& search) {
  if (Status status = CheckFolder("--symfs", search.symfs); !status) return status;
  for (const std::string& folder : search.debug_dirs)
    if (Status status = CheckFolder("--debug-dir", folder); !status) return status;
  if (Status status = CheckFolder("--build-id-cache", search.build_id_cache); !status)
    return status;
  return CheckKallsyms(search.kallsyms);
}

Status UnderstandCode(const ReaderWords& words, OpenOptions& open) {
  for (const std::string& text : words.sections) {
    Result<SectionSpec> section = ParseSectionSpec(text);
    if (!section) return Fail(section.error());
    open.sections.push_back(*section);
  }
  for (const std::string& text : words.images) {
    Result<ImageSpec> image = ParseImageSpec(text);
    if (!image) return Fail(image.error());
    if (Status status = CheckAddress(text, *image); !status) return status;
    open.images.push_back(*image);
  }
  if (!words.filter.empty()) {
    Result<TraceFilter> filter = ParseTraceFilter(words.filter);
    if (!filter) return Fail(filter.error());
    open.filter = *std::move(filter);
  }
  if (words.cpu.empty()) return {};
  Result<CpuId> cpu = ParseCpuId(words.cpu);
  if (!cpu) return Fail(cpu.error());
  open.cpu = *cpu;
  return {};
}

Status UnderstandResync(const std::string& word, ReaderOptions& options) {
  if (!word.empty() && word != "earliest" && word != "psb")
    return Fail(UsageError("--resync", word, "earliest, or psb"));
  const bool libipt = options.engine == "libipt";
  if (libipt && word == "earliest")
    return Fail(Error(ErrorCode::kUsage,
                      "--engine libipt can't --resync earliest: it goes on at a PSB only")
                    .Remedy("--resync psb"));
  options.resync = libipt || word == "psb" ? Resync::kSyncPoint : Resync::kEarliest;
  return {};
}

Status UnderstandInput(const ReaderWords& words, OpenOptions& open) {
  if (!words.input.empty() && !words.input_option.empty())
    return Fail(Error(ErrorCode::kUsage,
                      fmt::format("two inputs: '{}' and -i '{}'", words.input, words.input_option))
                    .Remedy("one recording at a time"));
  open.input = words.input.empty() ? words.input_option : words.input;
  if (open.input == "-") open.input = "/dev/stdin";
  if (!open.input.empty() || !open.raw_pt.empty()) return {};
  if (!Exists(kUsualInput))
    return Fail(
        Error(ErrorCode::kUsage,
              fmt::format("no input: none is named, and this folder has no {}", kUsualInput))
            .Remedy("make one with `flowback record -- CMD`, name a recording, or raw "
                    "bytes with --raw-pt FILE"));
  open.input = kUsualInput;
  return {};
}

// More than any machine makes use of: threads that wait for each other, and their memory.
Status CheckMost(const std::string& option, uint64_t number, uint64_t most) {
  if (number <= most) return {};
  return Fail(
      Error(ErrorCode::kUsage, fmt::format("{} {}: at most {}", option, number, most))
          .Remedy(fmt::format("leave {} out: the default is made for this machine", option)));
}

Status CheckParallelism(const ReaderOptions& options) {
  if (Status status = CheckMost("--threads", options.threads, 1024); !status) return status;
  return CheckMost("--window", options.in_flight, 4096);
}

Status UnderstandSelection(const ReaderWords& words, ReaderOptions& options) {
  Result<std::vector<int32_t>> tids = ParseNumberList(words.tid, "--tid");
  if (!tids) return Fail(tids.error());
  Result<std::vector<int32_t>> cpus = ParseNumberList(words.cpu_list, "--cpu-list");
  if (!cpus) return Fail(cpus.error());
  options.selection.tids = std::move(*tids);
  options.selection.cpus = std::move(*cpus);
  options.selection.names = SplitAtCommas(words.comm);
  return {};
}

}  // namespace

void AddReaderOptions(CLI::App& app, ReaderOptions& options, ReaderWords& words) {
  AddInputOptions(app, options, words);
  AddImageOptions(app, options, words);
  AddCacheOptions(app, options, words);
  AddSelectionOptions(app, options, words);
  app.add_option("--engine", options.engine,
                 "Decoder: native (default), or libipt, the slow reference");
  app.add_option(
      "--resync", words.resync,
      "After an error, resume at the 'earliest' packet with the full state (default of native) or "
      "at the next 'psb' (the only way of libipt)");
  app.add_option("--threads", options.threads,
                 "Threads to decode and print with (default: one per CPU)");
  app.add_option("--window", options.in_flight,
                 "Number of pieces of a stream, or of a listing, in work at one time");
  app.add_option("-o,--output", options.output, "Write to FILE (default: standard output)");
  app.add_flag("--force", options.force,
               "Let -o overwrite a recording or an ELF file (never one that is being read)");
  app.add_flag("--json", options.json, "Print JSON");
  app.add_flag("--strict", options.strict,
               "Exit with 6 if anything was lost, with 7 if a file that ran is missing");
}

Status Understand(const ReaderWords& words, ReaderOptions& options) {
  options.search.debug_dirs = words.debug_dirs;
  if (Status status = CheckSearch(options.search); !status) return status;
  if (!words.no_cache)
    if (Status status = FindCache(words.cache_dir, options.search); !status) return status;
  if (Status status = UnderstandResync(words.resync, options); !status) return status;
  if (Status status = CheckParallelism(options); !status) return status;
  if (Status status = UnderstandInput(words, options.open); !status) return status;
  if (Status status = UnderstandCode(words, options.open); !status) return status;
  if (Status status = UnderstandClock(words, options.open); !status) return status;
  if (Status status = UnderstandSideband(words, options.open); !status) return status;
  if (Status status = UnderstandSelection(words, options); !status) return status;
  return UseBundleInput(options);
}

Result<Recording> OpenInput(const ReaderOptions& options) {
  OpenOptions open = options.open;
  open.whole_streams = false;  // all that reads here has a window
  Result<Recording> recording = OpenRecording(open);
  if (recording || recording.error().code() != ErrorCode::kPermission) return recording;
  Error error(ErrorCode::kUnreadable, recording.error().message());
  return Fail(error.Remedy("chmod +r the file, or run as its owner or with sudo"));
}

}  // namespace flowback::cli
