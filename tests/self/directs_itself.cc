// SPDX-License-Identifier: MIT
// Does to the recording of itself what its arguments say, one after the other, and prints what came
// of each:
//   directs_itself OUTPUT ENGINE EVENT STEP...      EVENT "": none
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "flowback/self.h"

namespace {

std::vector<std::string> words;
std::deque<std::string> names;  // of regions, which keep them

// In milliseconds of the thread's own time.
__attribute__((noinline)) void Burn(long milliseconds) {
  timespec now{}, begin{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    for (int i = 0; i < 10'000; ++i) asm volatile("");
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1'000'000 <
           milliseconds);
}

void Say(std::string_view step, int done) {
  std::printf("%.*s: %s\n", static_cast<int>(step.size()), step.data(),
              done != 0 ? "done" : flowback_self_reason());
  std::fflush(stdout);
}

void Start(std::string_view step) {
  flowback_self_options options{};
  const bool limited = step == "start-limited";
  const char* const arguments[] = {"-e", words[3].c_str(), limited ? "--duration" : nullptr,
                                   "100ms", nullptr};
  options.output = words[1].c_str();
  options.engine = words[2].empty() ? nullptr : words[2].c_str();
  if (!words[3].empty()) options.arguments = arguments;
  options.paused = step == "start-paused";
  options.regions_only = step == "start-regions";
  options.this_thread = step == "start-thread";
  options.counters = step == "start-counters";
  options.snapshot_bytes = step == "start-snapshots" ? 65536 : 0;
  Say(step, flowback_self_start(&options));
}

void TellCounters() {
  flowback_self_counter counters[16];
  const int count = flowback_self_counters(counters, 16);
  if (count == 0) return Say("counters", 0);
  for (int i = 0; i < count && i < 16; ++i)
    std::printf("counter %s %llu\n", counters[i].name, counters[i].value);
}

void Fork() {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    flowback_region_begin("of the child");
    flowback_region_end();
    Say("child resume", flowback_self_resume());
    Say("child start", flowback_self_start(nullptr));
    std::exit(0);
  }
  waitpid(child, nullptr, 0);
}

// Many threads in regions, while others stop and start.
void Crowd() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i] {
      const std::string own = "thread " + std::to_string(i);
      for (int j = 0; j < 1000; ++j) {
        flowback_region_begin(own.c_str());
        flowback_region_begin("all");
        flowback_region_end();
        flowback_region_end();
      }
    });
  for (std::thread& thread : threads) thread.join();
}

size_t OpenFiles() {
  const std::filesystem::directory_iterator files("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

void Do(std::string_view step) {
  const std::string argument(step.substr(std::min(step.find(':'), step.size() - 1) + 1));
  if (step.starts_with("start")) Start(step);
  if (step == "pause") Say(step, flowback_self_pause());
  if (step == "resume") Say(step, flowback_self_resume());
  if (step == "snapshot") Say(step, flowback_self_snapshot());
  if (step == "stop") Say(step, flowback_self_stop());
  if (step == "recording") std::printf("recording: %d\n", flowback_self_is_recording());
  if (step == "counters") TellCounters();
  if (step == "end") flowback_region_end();
  if (step == "fork") Fork();
  if (step == "crowd") Crowd();
  if (step == "wait")
    std::printf("wait: %s\n",
                waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD ? "none" : "one");
  if (step == "files") std::printf("files: %zu\n", OpenFiles());
  if (step == "die") kill(getpid(), SIGKILL);
  if (step == "thread-burns") std::thread([] { Burn(100); }).join();
  if (step.starts_with("burn:")) Burn(std::atol(argument.c_str()));
  if (step.starts_with("region:")) flowback_region_begin(names.emplace_back(argument).c_str());
  if (step.starts_with("output:")) words[1] = argument;
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  words.assign(argv, argv + argc);
  for (int i = 4; i < argc; ++i) Do(argv[i]);
  return 0;
}
