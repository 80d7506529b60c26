// SPDX-License-Identifier: MIT
#include "tests/record/recorded.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <string>

#include "flowback/capture/open.h"
#include "flowback/decode/recording_code.h"
#include "tests/support/places.h"

namespace flowback::record_test {
namespace {

void ExpectStream(Decoder& decoder, const Stream& stream, const DecodeInput& input,
                  const FlowDigest& truth) {
  const auto summary = decoder.Summarize(input);
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->digest.count, truth.count);
  EXPECT_EQ(summary->digest.hash, truth.hash);
  for (const DataLoss& loss : summary->losses)
    ADD_FAILURE() << Name(loss.cause) << " at offset " << loss.begin << ": " << loss.detail;
  EXPECT_EQ(summary->bytes_lost, 0u);
  EXPECT_EQ(summary->bytes_decoded + summary->bytes_padding, stream.bytes.size());
}

}  // namespace

std::string Program(const std::string& name) { return RecordedProgramsFolder() + "/" + name; }

std::string Sample(const std::string& name) { return SamplesFolder() + "/" + name; }

std::string WhyNotHere(const std::vector<std::string>& command) {
  static const std::map<std::string, host::Trait> kNeeds = {
      {Program("modes"), host::Trait::kCode32},
      {Program("thirty_two"), host::Trait::kPrograms32},
      {Program("thirty_two_vdso"), host::Trait::kPrograms32},
      {Program("thirty_two_spins"), host::Trait::kPrograms32}};
  const auto found = kNeeds.find(command.at(0));
  return found == kNeeds.end() ? "" : host::WhyNot(found->second);
}

std::vector<std::string> ForThisHost(std::vector<std::string> command) {
  if (command.at(0) != Program("signals")) return command;
  for (const auto& [word, trait] :
       {std::pair("int1", host::Trait::kInt1), std::pair("int80", host::Trait::kInterrupt80)}) {
    const std::string why = host::WhyNot(trait);
    if (why.empty()) continue;
    host::SayLeftOut(std::string(word) + " of the program `signals`", why);
    command.push_back(word);
  }
  return command;
}

Result<RecordSummary> Recorder::Run(std::vector<std::string> command) {
  options_.target.command = std::move(command);
  options_.files.output = File("perf.data");
  // What the programs print is of no interest, and would confuse the test's own output.
  std::fflush(stdout);
  const int saved = dup(STDOUT_FILENO);
  std::FILE* null = std::fopen("/dev/null", "w");
  dup2(fileno(null), STDOUT_FILENO);
  auto summary = Record(options_);
  dup2(saved, STDOUT_FILENO);
  std::fclose(null);
  close(saved);
  return summary;
}

void RecordedFile::Run(std::vector<std::string> command) {
  const auto summary = recorder_.Run(std::move(command));
  ASSERT_TRUE(summary) << summary.error().message();
  summary_ = *summary;
  auto recording = OpenFile(recorder_.File("perf.data"));
  ASSERT_TRUE(recording) << recording.error().message();
  recording_ = std::move(*recording);
}

void ExpectRefused(const std::function<void(Recorder&)>& change, const std::string& words) {
  Recorder recorder;
  change(recorder);
  const auto summary = recorder.Run({"/bin/true"});
  ASSERT_FALSE(summary) << words;
  EXPECT_EQ(summary.error().code(), ErrorCode::kUsage);
  EXPECT_NE(summary.error().message().find(words), std::string::npos) << summary.error().message();
  EXPECT_FALSE(summary.error().remedy().empty());
}

void ExpectSameFlow(const OpenOptions& input, const RecordSummary& truth) {
  const auto recording = OpenRecording(input);
  ASSERT_TRUE(recording) << recording.error().message();
  for (const Warning& warning : recording->warnings) ADD_FAILURE() << warning.text;
  const auto code = RecordingCode::Load(*recording, {});
  ASSERT_TRUE(code) << code.error().message();
  // A thread that did not come to its first instruction wrote nothing.
  std::vector<RecordedThread> threads;
  for (const RecordedThread& thread : truth.threads)
    if (thread.bytes > 0 || thread.digest.count > 0) threads.push_back(thread);
  ASSERT_EQ(recording->streams.size(), threads.size());
  for (const Stream& stream : recording->streams) {
    const RecordedThread& thread = threads[stream.index];
    EXPECT_EQ(stream.bytes.size(), thread.bytes);
    DecodeInput decode;
    decode.bytes = stream.bytes;
    decode.code = &code->ForStream(stream);
    decode.config = recording->config;
    decode.time = recording->time;
    for (const auto engine : DecoderNames()) {
      SCOPED_TRACE("stream " + std::to_string(stream.index) + ", engine " + std::string(engine));
      const auto decoder = MakeDecoder(engine);
      ASSERT_TRUE(decoder) << decoder.error().message();
      ExpectStream(**decoder, stream, decode, thread.digest);
    }
  }
}

Result<Recording> OpenFile(const std::string& perf_data) {
  OpenOptions options;
  options.input = perf_data;
  return OpenRecording(options);
}

void ExpectSameFlow(const std::string& perf_data, const RecordSummary& truth) {
  OpenOptions options;
  options.input = perf_data;
  ExpectSameFlow(options, truth);
}

std::vector<std::pair<std::string, FlowDigest>> DecodedDigests(const Recording& recording) {
  std::vector<std::pair<std::string, FlowDigest>> digests;
  const auto code = RecordingCode::Load(recording, {});
  EXPECT_TRUE(code);
  if (!code || recording.streams.empty()) return digests;
  const Stream& stream = recording.streams[0];
  DecodeInput input;
  input.bytes = stream.bytes;
  input.code = &code->ForStream(stream);
  input.config = recording.config;
  input.time = recording.time;
  input.gaps = stream.gaps;
  for (const auto engine : DecoderNames()) {
    const auto summary = (*MakeDecoder(engine))->Summarize(input);
    EXPECT_TRUE(summary);
    if (summary) digests.emplace_back(engine, summary->digest);
  }
  return digests;
}

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

char StateOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t comm_end = line.rfind(") ");
  return comm_end == std::string::npos ? '\0' : line.at(comm_end + 2);
}

std::vector<FlowDigest> PerfScriptDigests(const std::string& perf_data, const RecordSummary& truth,
                                          std::string& problem) {
  // Without the files that perf may have kept in a home folder: whoever opens a recording has none.
  const std::string command = "HOME=/nonexistent perf script -i '" + perf_data +
                              "' --itrace=i0ns -F tid,ip 2>'" + perf_data + ".messages'";
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::map<int, FlowDigest> by_thread;
  int tid = 0;
  unsigned long ip = 0;
  while (std::fscanf(pipe.get(), "%d %lx", &tid, &ip) == 2) by_thread[tid].Append(ip);
  const int status = pclose(pipe.release());
  if (status != 0) {
    problem = "perf script ended with status " + std::to_string(status);
    return {};
  }
  std::vector<FlowDigest> digests;
  for (const RecordedThread& thread : truth.threads) digests.push_back(by_thread[thread.tid]);
  return digests;
}

}  // namespace flowback::record_test
