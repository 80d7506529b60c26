// SPDX-License-Identifier: MIT
// Files that are cut while they are read: an error with what was printed before, which is right.
//
// The program's output is a pipe that nobody reads until it is full: then it waits in the middle of
// its work, the file is cut, and it goes on.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <thread>

#include "tests/cli/run_program.h"
#include "tests/golden/shared_traces.h"
#include "tests/support/places.h"

namespace flowback::test {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds kLimit(60);

bool WaitUntil(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + kLimit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// The program, as a child whose standard output is a small pipe.
class Child {
 public:
  explicit Child(const std::vector<std::string>& words, const ScratchFolder& folder)
      : errors_(folder.File("stderr")) {
    if (pipe2(ends_, O_CLOEXEC) != 0) std::abort();
    fcntl(ends_[1], F_SETPIPE_SZ, 4096);
    pid_ = fork();
    if (pid_ == 0) Become(words, folder);
  }
  ~Child() {
    CloseWritingEnd();
    close(ends_[0]);
    if (pid_ > 0 && !ended_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Until something was written: there is no room for more then.
  bool WaitUntilItWaits() const {
    return WaitUntil([this] {
      pollfd room{ends_[1], POLLOUT, 0};
      return poll(&room, 1, 0) == 0;
    });
  }
  bool WaitUntilItMaps(const std::string& path) const {
    const std::string maps = "/proc/" + std::to_string(pid_) + "/maps";
    return WaitUntil([&] { return ReadFile(maps).contains(path); });
  }
  ProgramResult Finish() {
    CloseWritingEnd();
    ProgramResult result;
    std::vector<char> buffer(1 << 20);
    for (ssize_t got = 0; (got = read(ends_[0], buffer.data(), buffer.size())) > 0;)
      result.out.append(buffer.data(), static_cast<size_t>(got));
    int status = 0;
    waitpid(pid_, &status, 0);
    ended_ = true;
    result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    result.err = ReadFile(errors_);
    return result;
  }

 private:
  [[noreturn]] void Become(const std::vector<std::string>& words, const ScratchFolder& folder) {
    alarm(static_cast<unsigned>(2 * kLimit.count()));
    setenv("FLOWBACK_CACHE", folder.File("cache").c_str(), 1);
    // perf keeps copies of images in ~/.debug, which would be read in place of those that are cut.
    setenv("HOME", folder.File("home").c_str(), 1);
    std::string program = ProgramFile();
    std::vector<char*> arguments = {program.data()};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    const int errors = open(errors_.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(ends_[1], STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execv(program.c_str(), arguments.data());
    _exit(113);
  }

  void CloseWritingEnd() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

  std::string errors_;
  int ends_[2] = {-1, -1};
  pid_t pid_ = -1;
  bool ended_ = false;
};

class CutInput : public ::testing::Test {
 protected:
  void SetUp() override {
    FLOWBACK_NEEDS_TRACES();
    const fs::path generated = golden::TracesFolder() / "generated";
    recording_ = folder_.File("perf.data");
    fs::copy_file(generated / "big-sqlite3/perf.data", recording_);
    images_ = folder_.File("images");
    fs::copy(generated / "images", images_, fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      fs::permissions(entry, fs::perms::owner_write, fs::perm_options::add);
  }

  std::vector<std::string> Words(std::vector<std::string> words) const {
    words.insert(words.begin() + 1, {recording_, "--symfs", images_});
    return words;
  }

  // The image that most of the recording ran in.
  std::string LargestImage() const {
    fs::path largest;
    uintmax_t size = 0;
    for (const auto& entry : fs::recursive_directory_iterator(images_))
      if (entry.is_regular_file() && entry.file_size() > size &&
          entry.path().string().contains("sqlite")) {
        largest = entry.path();
        size = entry.file_size();
      }
    return largest;
  }

  // The whole lines of `cut` are a beginning of what is printed where nothing is cut.
  void ExpectBeginning(const std::string& cut, const std::vector<std::string>& words) const {
    if (cut.empty()) return;
    const std::string whole = RunFlowback(words, {.close_output_after = cut.size()}).out;
    ASSERT_GE(whole.size(), cut.size());
    EXPECT_TRUE(whole.starts_with(cut)) << "what was printed differs";
  }

  static void ExpectCut(const ProgramResult& result, const std::string& file) {
    EXPECT_EQ(result.status, 8) << result.err;
    EXPECT_TRUE(result.err.contains("flowback: " + file + ": was cut while it was read"))
        << result.err;
    EXPECT_TRUE(result.err.contains("\n  try: ")) << result.err;
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 2) << result.err;  // nothing made of zeros
  }

  // Cuts `file` to `size` bytes while the command waits for its reader.
  void Try(const std::vector<std::string>& command, const std::string& file, uintmax_t size) {
    const std::vector<std::string> words = Words(command);
    SCOPED_TRACE(::testing::PrintToString(words));
    const std::string content = ReadFile(file);
    Child child(words, folder_);
    ASSERT_TRUE(child.WaitUntilItWaits());
    fs::resize_file(file, size);
    const ProgramResult result = child.Finish();
    ExpectCut(result, file);
    EXPECT_FALSE(result.out.empty());
    folder_.Write(fs::relative(file, folder_.path()), content);
    ExpectBeginning(result.out, words);
  }

  ScratchFolder folder_;
  std::string recording_;
  std::string images_;
};

TEST_F(CutInput, RecordingsWhileTheyAreListed) {
  const uintmax_t size = fs::file_size(recording_);
  for (const char* kind : {"instructions", "blocks", "branches", "packets", "calls"})
    for (const char* threads : {"1", "3"})
      Try({"decode", "--no-cache", "--as", kind, "--threads", threads}, recording_, size / 2);
  Try({"decode", "--no-cache", "--by-time"}, recording_, size / 2);
  Try({"decode", "--no-cache", "--json", "-F", "ip"}, recording_, 0);
}

// Bytes after the end on its page read as zeros, without any notice.
TEST_F(CutInput, ByLessThanAPage) {
  Try({"decode", "--no-cache", "-F", "ip"}, recording_, fs::file_size(recording_) - 1);
}

TEST_F(CutInput, Images) {
  const std::string image = LargestImage();
  ASSERT_FALSE(image.empty());
  for (const char* threads : {"1", "3"})
    for (const char* kind : {"instructions", "calls"})
      Try({"decode", "--no-cache", "--as", kind, "--threads", threads}, image, 4096);
}

// Sums are printed whole or not at all.
TEST_F(CutInput, RecordingsWhileTheyAreSummed) {
  const std::string content = ReadFile(recording_);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"decode", "--as", "digest"},
        {"decode", "--as", "summary"},
        {"info"},
        {"info", "--json"}}) {
    const std::vector<std::string> words = Words(command);
    SCOPED_TRACE(::testing::PrintToString(words));
    int cut = 0;
    for (int i = 0; i < 20 && cut == 0; ++i) {
      Child child(words, folder_);
      ASSERT_TRUE(child.WaitUntilItMaps(recording_));
      kill(child.pid(), SIGSTOP);
      fs::resize_file(recording_, content.size() / 3);
      kill(child.pid(), SIGCONT);
      const ProgramResult result = child.Finish();
      folder_.Write("perf.data", content);
      if (result.status == 0) continue;  // it was faster
      ++cut;
      EXPECT_EQ(result.status, 8) << result.err;
      EXPECT_TRUE(result.err.contains("was cut while it was read")) << result.err;
      EXPECT_EQ(result.out, "");
    }
    EXPECT_GT(cut, 0) << "it was never met";
  }
}

}  // namespace
}  // namespace flowback::test
