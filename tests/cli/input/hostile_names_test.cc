// SPDX-License-Identifier: MIT
// What an input names may hold anything: no command lets it rule the terminal or forge a line.
//
// Each recording is made twice: once with names that do no harm, and once with names of the same
// length that hold escape sequences, newlines, quotes and bytes that are no UTF-8. Both must be
// printed in as many lines, and no byte of them may be a control character. A control character is
// defined here by its own rules.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "capture/formats/perf_records/perf_layout.h"
#include "decode/pt/packets/packet_writer.h"
#include "tests/cli/run_program.h"
#include "tests/support/perf_data_builder.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using support::FieldWriter;
using support::PerfDataBuilder;
using support::Trailer;

constexpr int32_t kPid = 1000;

const std::string kHostile =
    "\x1b[31m\x1b]0;t\x07\n\r\t\x7f\x9b\xc2\x9b\xc3\xff\"'\\</script>\xe2\x80\xae\xe2\x80\xa8{\x01";
// What text shows of it, and what a reader of JSON gets.
const std::string kShown =
    R"(\x1b[31m\x1b]0;t\x07\n\r\t\x7f\x9b\u009b\xc3\xff"'\\</script>\u202e\u2028{\x01)";
const std::string kInJson =
    "\x1b[31m\x1b]0;t\x07\n\r\t\x7f\ufffd\u009b\ufffd\ufffd\"'\\</script>\u202e\u2028{\x01";

// Returns a name of the kind, harmful or an identifier of the same length.
std::string Name(char kind, bool hostile) {
  return hostile ? kind + kHostile + kind : std::string(kHostile.size() + 2, kind);
}

// Judged by hand: the position of the first byte that no terminal may see, or npos.
size_t FirstHarm(const std::string& text, bool tabs) {
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n' || (tabs && byte == '\t')) continue;
    if (byte < 0x20 || byte >= 0x7f) return i;  // no name of these tests is printed beyond ASCII
  }
  return std::string::npos;
}

void ExpectHarmless(const std::string& text, bool tabs = false) {
  const size_t at = FirstHarm(text, tabs);
  if (at == std::string::npos) return;
  ADD_FAILURE() << "byte " << static_cast<int>(static_cast<unsigned char>(text[at])) << " at " << at
                << " of:\n"
                << ::testing::PrintToString(text.substr(at < 200 ? 0 : at - 200, 400));
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

// One line of JSON each, or all of it one value.
void ExpectJson(const std::string& text, bool lines) {
  if (!lines) {
    EXPECT_TRUE(json::accept(text)) << text;
    return;
  }
  for (const std::string& line : Lines(text, true)) EXPECT_TRUE(json::accept(line)) << line;
}

size_t CountLines(const std::string& text) {
  return static_cast<size_t>(std::ranges::count(text, '\n'));
}

// A program whose functions, file and path have such names, and a recording of it.
class Recorded {
 public:
  explicit Recorded(bool hostile) : hostile_(hostile) {
    source_ = Name('F', false) + ".cc";
    folder_.Write(source_, Source());
    Compile();
    if (hostile) Rename();
    Record();
  }

  std::string Path() const { return folder_.File("perf.data"); }
  std::string ImagePath() const { return folder_.File("bin/" + Name('D', hostile_)); }
  void HideImage() const { fs::rename(folder_.File("bin"), folder_.File("hidden")); }
  void ShowImage() const { fs::rename(folder_.File("hidden"), folder_.File("bin")); }
  bool built() const { return entry_ != 0; }

 private:
  static Trailer At(uint64_t time, int32_t tid) {
    return {1000000000000 + time, kPid, tid, 1, 102};
  }

  static std::string Source() {
    const std::string inner = Name('I', false);
    const std::string outer = Name('O', false);
    return "extern \"C\" {\n"
           "static inline __attribute__((always_inline)) void " +
           inner +
           "() {\n"
           "  asm volatile(\"nop\");  //\t" +
           Name('T', false) +
           "\n"
           "}\n"
           "__attribute__((noinline)) void " +
           outer +
           "() {\n"
           "  " +
           inner +
           "();\n"
           "}\n"
           "void _start() {\n"
           "  " +
           outer +
           "();\n"
           "  asm volatile(\"syscall\");\n"
           "}\n"
           "}\n";
  }

  void Compile() {
    const std::string command =
        "cd " + folder_.path() +
        " && " TEST_CXX
        " -g -gz=none -O1 -ffreestanding -nostdlib -static -no-pie "
        "-fno-stack-protector -fcf-protection=none -fno-sanitize=all "
        "-fno-asynchronous-unwind-tables -Wl,--compress-debug-sections=none "
        "-o program " +
        source_;
    if (std::system(command.c_str()) != 0) return;
    const std::string image = ReadFile(folder_.File("program"));
    Elf64_Ehdr header;
    std::memcpy(&header, image.data(), sizeof header);
    for (size_t i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      std::memcpy(&segment, image.data() + header.e_phoff + i * sizeof segment, sizeof segment);
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0) code_ = segment;
    }
    entry_ = header.e_entry;
    folder_.Write("bin/" + Name('D', hostile_), image);
  }

  // Wherever the file names something, and a comment of the source.
  void Rename() const {
    std::string image = ReadFile(ImagePath());
    std::string source = Source();
    for (const char kind : {'I', 'O', 'F'}) Replace(image, Name(kind, false), Name(kind, true));
    std::string comment = Name('T', true);
    std::ranges::replace(comment, '\n', ' ');  // what is behind it would be another line
    Replace(source, Name('T', false), comment);
    folder_.Write("bin/" + Name('D', true), image);
    folder_.Write(Name('F', true) + ".cc", source);
  }
  static void Replace(std::string& text, const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
      text.replace(at, from.size(), to);
  }

  void Record() const {
    PerfDataBuilder file = PerfDataBuilder::WithIntelPt();
    for (const unsigned bit :
         {perf::kFeatureHostname, perf::kFeatureOsRelease, perf::kFeatureVersion,
          perf::kFeatureArch, perf::kFeatureCpuDescription})
      file.TextFeature(bit, Name('M', hostile_));
    for (const int32_t tid : {kPid, kPid + 1}) {
      if (tid != kPid) file.Fork(kPid, tid, kPid, kPid, At(3, kPid));
      file.Comm(kPid, tid, Name('C', hostile_), tid == kPid, At(4, tid));
    }
    file.Mmap2(kPid, code_.p_vaddr, code_.p_filesz, code_.p_offset, ImagePath(), At(5, kPid));
    for (const int32_t tid : {kPid, kPid + 1}) {
      const std::vector<uint8_t> trace = Trace();
      file.Aux(0, trace.size(), 0, At(2000, tid));
      file.Auxtrace(0, static_cast<uint32_t>(tid - kPid), tid, -1, trace);
    }
    const std::vector<uint8_t> bytes = file.Build();
    folder_.Write("perf.data", std::string(bytes.begin(), bytes.end()));
  }

  // _start up to the system call, through the return; then a stretch that the code contradicts.
  std::vector<uint8_t> Trace() const {
    pt::PacketWriter trace;
    trace.Psb();
    trace.Write(pt::Tsc{.tsc = 240});
    trace.Write(pt::ModeExec{.cs_l = true, .cs_d = false});
    trace.Write(pt::PsbEnd{});
    trace.TipPge(entry_);
    trace.TntBit(true);
    trace.TipPgd(std::nullopt);
    trace.TipPge(code_.p_vaddr + code_.p_filesz + 0x10000);
    trace.TipPgd(std::nullopt);
    return trace.Take();
  }

  bool hostile_;
  ScratchFolder folder_;
  std::string source_;
  Elf64_Phdr code_{};
  uint64_t entry_ = 0;
};

class HostileNames : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    plain_ = new Recorded(false);
    hostile_ = new Recorded(true);
  }
  static void TearDownTestSuite() {
    delete plain_;
    delete hostile_;
  }
  void SetUp() override { ASSERT_TRUE(plain_->built() && hostile_->built()); }

  // Runs it on both; returns the output for the hostile one.
  static ProgramResult Both(const std::vector<std::string>& words) {
    SCOPED_TRACE(Joined(words));
    std::vector<std::string> both[2] = {words, words};
    both[0].insert(both[0].begin() + 1, plain_->Path());
    both[1].insert(both[1].begin() + 1, hostile_->Path());
    const ProgramResult plain = RunFlowback(both[0]);
    ProgramResult hostile = RunFlowback(both[1]);
    EXPECT_EQ(plain.status, hostile.status) << hostile.err;
    EXPECT_EQ(CountLines(plain.out), CountLines(hostile.out)) << plain.out << hostile.out;
    EXPECT_EQ(CountLines(plain.err), CountLines(hostile.err)) << plain.err << hostile.err;
    const bool source = std::ranges::any_of(
        words, [](const std::string& word) { return word == "lines" || word.contains("source"); });
    ExpectHarmless(hostile.out, source);
    ExpectHarmless(hostile.err);
    if (std::ranges::find(words, "--json") != words.end())
      ExpectJson(hostile.out, words[0] == "decode");
    return hostile;
  }

  static inline Recorded* plain_ = nullptr;
  static inline Recorded* hostile_ = nullptr;
};

constexpr const char* kKinds[] = {"instructions", "lines",   "blocks", "branches", "calls",
                                  "events",       "packets", "digest", "summary"};

TEST_F(HostileNames, EveryKind) {
  for (const std::string kind : kKinds) {
    for (const std::vector<std::string>& more :
         {std::vector<std::string>{}, {"--json"}, {"--by-cpu"}, {"--no-cache", "--threads", "1"}}) {
      std::vector<std::string> words = {"decode", "--as", kind};
      words.insert(words.end(), more.begin(), more.end());
      Both(words);
    }
    if (kind != "packets" && kind != "digest" && kind != "summary")
      Both({"decode", "--as", kind, "--by-time"});
  }
}

TEST_F(HostileNames, EveryColumn) {
  const std::string most = "comm,pid,tid,cpu,time,ip,insn,bytes,sym,symoff,dso,srcline,flags";
  const std::string out = Both({"decode", "-F", most}).out;
  for (const char kind : {'C', 'O', 'D'})
    EXPECT_TRUE(out.contains(kind + kShown + kind)) << kind << "\n" << out;
  EXPECT_TRUE(out.contains(" script>\\u202e\\u2028{\\x01F.cc:")) << out;  // behind the last '/'
  Both({"decode", "-F", most, "--json"});
  Both({"decode", "--as", "calls", "-F", "comm,tid,time,srcline"});
  Both({"decode", "--as", "blocks", "-F", "comm,tid,srcline"});
  const std::string lines = Both({"decode", "--as", "lines", "-F", "sym,srcline,source"}).out;
  EXPECT_TRUE(lines.contains("(inlined by O" + kShown)) << lines;
  EXPECT_TRUE(lines.contains("//\tT\\x1b[31m\\x1b]0;t\\x07 \\r\t\\x7f")) << lines;
}

TEST_F(HostileNames, JsonTellsThemAll) {
  const auto lines = Lines(Both({"decode", "--json", "-F", "comm,sym,dso,srcline"}).out);
  std::string symbols;
  for (const std::string& line : lines) {
    const json object = json::parse(line);
    if (object.value("type", "") != "instruction") continue;
    EXPECT_EQ(object["comm"], "C" + kInJson + "C");
    EXPECT_TRUE(object["dso"].get<std::string>().ends_with("/bin/D" + kInJson + "D"));
    if (object["sym"].is_string()) symbols += object["sym"];
  }
  EXPECT_TRUE(symbols.contains("O" + kInJson + "O"));
}

TEST_F(HostileNames, Info) {
  const std::string text = Both({"info"}).out;
  for (const char kind : {'C', 'D', 'M'})
    EXPECT_TRUE(text.contains(kind + kShown + kind)) << kind << "\n" << text;
  const json info = json::parse(Both({"info", "--json"}).out);
  EXPECT_EQ(info["machine"]["hostname"], "M" + kInJson + "M");
}

// Lines are wrapped, and names cut: they need not be as many.
TEST_F(HostileNames, Timeline) {
  const ScratchFolder folder;
  const std::string input = hostile_->Path();
  const ProgramResult text = RunFlowback({"timeline", input});
  EXPECT_EQ(text.status, 0) << text.err;
  ExpectHarmless(text.out);
  ExpectHarmless(text.err);
  EXPECT_TRUE(text.out.contains("O\\x1b[31m\\x1b]0;t")) << text.out;
  ExpectHarmless(RunFlowback({"timeline", input, "--at", "50%"}).out);
  const json told = json::parse(RunFlowback({"timeline", input, "--json"}).out);
  EXPECT_TRUE(told["functions"].dump().contains(json("O" + kInJson + "O").dump()));
  EXPECT_EQ(told["threads"][0]["comm"], "C" + kInJson + "C");
  for (const std::string kind : {"svg", "html"}) {
    const std::string file = folder.File(kind);
    EXPECT_EQ(RunFlowback({"timeline", input, "--" + kind, file}).status, 0);
    const std::string picture = ReadFile(file);
    size_t ends = 0;
    for (size_t at = 0; (at = picture.find("</script>", at)) != std::string::npos; ++at) ++ends;
    EXPECT_EQ(ends, kind == "html" ? 2u : 0u);
    if (kind == "svg") ExpectHarmless(picture);
  }
}

// Losses and warnings name the file that is not there.
TEST_F(HostileNames, OfAMissingFile) {
  for (Recorded* recorded : {plain_, hostile_}) recorded->HideImage();
  for (const std::string kind : kKinds) {
    Both({"decode", "--as", kind});
    Both({"decode", "--as", kind, "--json"});
  }
  const std::string text = Both({"decode"}).out;
  EXPECT_TRUE(text.contains("# loss: ") && text.contains("/bin/D" + kShown + "D")) << text;
  EXPECT_TRUE(Both({"decode"}).err.contains("</script>\\u202e"));
  Both({"info"});
  Both({"info", "--json"});
  for (Recorded* recorded : {plain_, hostile_}) recorded->ShowImage();
}

// Files that are no recording, and unknown words.
TEST_F(HostileNames, InMessages) {
  const ScratchFolder folder;
  const std::string file = folder.Write("no recording " + kHostile, "nothing");
  const std::string missing = folder.File("nothing " + kHostile);
  const std::vector<std::vector<std::string>> lines = {
      {kHostile},
      {"info", file},
      {"info", missing},
      {"info", "--json", missing},
      {"decode", file},
      {"decode", missing},
      {"decode", "--" + kHostile, file},
      {"decode", "--as", kHostile, file},
      {"decode", hostile_->Path(), "-F", kHostile},
      {"decode", hostile_->Path(), "--image", missing},
      {"decode", hostile_->Path(), "--image", file + "@" + kHostile},
      {"decode", hostile_->Path(), "--symfs", missing},
      {"decode", hostile_->Path(), "--tid", kHostile},
      {"decode", hostile_->Path(), "--time", kHostile},
      {"decode", hostile_->Path(), "--engine", kHostile},
      {"decode", hostile_->Path(), "--as", "calls", "--function", kHostile},
      {"decode", hostile_->Path(), "-o", missing + "/below"},
      {"decode", "--raw-pt", file, "--image", missing},
      {"decode", "--raw-pt", missing},
      {"record", "--engine", kHostile, "--", "true"},
      {"record", "-e", kHostile, "--", "true"},
      {"record", kHostile},
      {"record", "--engine", "step", "-o", folder.File("out"), "--", missing},
      {"record", "--engine", "step", "--json", "-o", folder.File("out"), "--", missing},
      {"record", "--engine", "step", "-o", missing + "/below", "--", "true"},
      {"record", "--engine", "step", "--max-instructions", "9", "--from", kHostile, "-o",
       folder.File("out"), "--", "true"},
      {"help", kHostile},
      {"doctor", kHostile},
      {"doctor", "--sysroot", missing}};
  for (const std::vector<std::string>& words : lines) {
    SCOPED_TRACE(::testing::PrintToString(words));
    const ProgramResult result = RunFlowback(words);
    ExpectHarmless(result.out);
    ExpectHarmless(result.err);
    for (const std::string& line : Lines(result.err, true))
      EXPECT_TRUE(line.starts_with("flowback: ") || line.starts_with("  try: ")) << line;
    if (std::ranges::find(words, "--json") != words.end()) ExpectJson(result.out, true);
  }
}

// A command to copy is one that works.
TEST_F(HostileNames, OfWhatIsRecorded) {
  const ScratchFolder folder;
  const std::string out = folder.File("out\\ it's " + kHostile.substr(0, kHostile.find('<')));
  const std::string copy = folder.File("bin " + kHostile.substr(0, kHostile.find('<')));
  fs::copy("/bin/true", copy);
  const ProgramResult result =
      RunFlowback({"record", "--engine", "step", "--json", "--max-instructions", "1000", "-o", out,
                   "--", copy, kHostile});
  if (result.status == 125 && result.err.contains("ptrace")) GTEST_SKIP() << result.err;
  ASSERT_EQ(result.status, 0) << result.err;
  ExpectHarmless(result.out);
  ExpectHarmless(result.err);
  ExpectJson(result.out, true);
  const size_t next = result.err.find("record: next: flowback ");
  ASSERT_NE(next, std::string::npos) << result.err;
  const std::string command = result.err.substr(next + std::strlen("record: next: flowback "));
  const ProgramResult again = RunShell(folder, "$F " + command);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_TRUE(again.out.contains("command:")) << again.out;
  ExpectHarmless(again.out);
  ExpectHarmless(again.err);
}

// The machine's own descriptions are input, too.
TEST_F(HostileNames, Doctor) {
  const ScratchFolder root;
  std::string line = kHostile;
  std::ranges::replace(line, '\n', ' ');
  root.Write("proc/cpuinfo", "processor : 0\nvendor_id : " + line + "\nmodel name : " + line +
                                 "\nflags : hypervisor\n");
  root.Write("proc/sys/kernel/osrelease", line + "\n");
  root.Write("sys/class/dmi/id/product_name", line + "\n");
  const ProgramResult text = RunFlowback({"doctor", "--sysroot", root.path()});
  ExpectHarmless(text.out);
  EXPECT_TRUE(text.out.contains("</script>\\u202e")) << text.out;
  const ProgramResult object = RunFlowback({"doctor", "--json", "--sysroot", root.path()});
  ExpectHarmless(object.out);
  ExpectJson(object.out, false);
}

// A bundle says everything as JSON, where an escape may stand for any character.
TEST_F(HostileNames, OfABundle) {
  const ScratchFolder folder;
  const json name = "\x1b[31m\n\u009b\u202e\x7f";
  const json bundle = {{"type", "intel-pt"},
                       {"cpuInfo", {{"vendor", name}, {"family", 6}, {"model", name}}},
                       {"processes", {{{"pid", 1}, {"triple", name}, {"threads", name}}}}};
  for (const json& broken : {bundle, json{{"type", name}}, json{{name.get<std::string>(), 1}}}) {
    folder.Write("trace.json", broken.dump());
    for (const char* command : {"info", "decode"}) {
      const ProgramResult result = RunFlowback({command, folder.File("trace.json")});
      EXPECT_EQ(result.status, 8) << result.err;
      ExpectHarmless(result.out);
      ExpectHarmless(result.err);
    }
  }
}

}  // namespace
}  // namespace flowback::test
