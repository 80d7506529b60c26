// SPDX-License-Identifier: MIT
// The plugin in QEMUs whose plugin interface has another version. Debian 12 has one of them, so
// these are programs that offer the plugin what such a QEMU does, and as it does.
#include "capture/record/emulate/plugin_interface.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "capture/record/emulate/emulator_file.h"
#include "tests/record/emulated.h"
#include "tests/record/recorded.h"

namespace flowback::record_test {
namespace {

using Names = std::set<std::string>;

int InterfaceOf(const Names& names) {
  return record::PluginInterface([&](const char* function) { return names.contains(function); });
}

TEST(PluginInterface, IsToldByTheNewestFunction) {
  Names names = {"main"};
  EXPECT_EQ(InterfaceOf(names), 0);
  int version = 0;
  for (const char* function :
       {"qemu_plugin_register_vcpu_tb_exec_cb", "qemu_plugin_num_vcpus",
        "qemu_plugin_register_vcpu_tb_exec_cond_cb", "qemu_plugin_read_memory_vaddr",
        "qemu_plugin_write_register", "qemu_plugin_set_pc"}) {
    names.insert(function);
    EXPECT_EQ(InterfaceOf(names), ++version) << function;
  }
  EXPECT_EQ(version, record::kNewestPluginInterface);
  names.insert("qemu_plugin_of_the_future");
  EXPECT_EQ(InterfaceOf(names), version);
}

// Puts one of the emulators first in PATH.
class OtherEmulator {
 public:
  explicit OtherEmulator(const std::string& folder) : path_(std::getenv("PATH")) {
    setenv("PATH", (Program(folder) + ":" + path_).c_str(), 1);
  }
  ~OtherEmulator() { setenv("PATH", path_.c_str(), 1); }
  OtherEmulator(const OtherEmulator&) = delete;
  OtherEmulator& operator=(const OtherEmulator&) = delete;

 private:
  const std::string path_;
};

class EmulatorOfInterface : public testing::TestWithParam<int> {};

TEST_P(EmulatorOfInterface, TakesThePlugin) {
  const std::string folder = "interface_" + std::to_string(GetParam());
  const OtherEmulator emulator(folder);
  EXPECT_EQ(PluginsOf(Program(folder) + "/qemu-x86_64").interface_version, GetParam());
  FLOWBACK_NEEDS_EMULATOR();
  for (const bool exact : {false, true}) {
    Recorder recorder;
    Emulate(recorder.options());
    recorder.options().emulate.exact = exact;
    const auto summary = recorder.Run({"/bin/true"});
    ASSERT_TRUE(summary) << summary.error().message();
    EXPECT_EQ(summary->losses, 0u);
    ASSERT_EQ(summary->threads.size(), 2u);
    EXPECT_EQ(summary->threads[0].digest.count, 6u);
    EXPECT_EQ(summary->threads[1].digest.count, 3u);
    ExpectSameFlow(recorder.File("perf.data"), *summary);
    const auto recording = OpenFile(recorder.File("perf.data"));
    ASSERT_TRUE(recording);
    std::vector<std::pair<int32_t, int32_t>> forks;
    for (const SidebandRecord& record : recording->sideband)
      if (const auto* fork = std::get_if<ForkRecord>(&record))
        forks.emplace_back(fork->tid, fork->parent_tid);
    const auto& threads = summary->threads;
    EXPECT_EQ(forks, (decltype(forks){{threads[1].tid, threads[0].tid}}));
  }
}

INSTANTIATE_TEST_SUITE_P(, EmulatorOfInterface, testing::Range(1, 7));

Error RefusalOf(const std::string& folder) {
  const OtherEmulator emulator(folder);
  Recorder recorder;
  Emulate(recorder.options());
  const auto summary = recorder.Run({"/bin/true"});
  EXPECT_FALSE(summary);
  return summary ? Error(ErrorCode::kUsage, "it did not fail") : summary.error();
}

bool Says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

// It has all functions that we know, so it is tried.
TEST(NewerEmulator, SaysWhatIsKnownToWork) {
  FLOWBACK_NEEDS_EMULATOR();
  const Error error = RefusalOf("interface_7");
  EXPECT_EQ(error.code(), ErrorCode::kSystem);
  EXPECT_TRUE(Says(error.message(), "could not load the plugin")) << error.message();
  EXPECT_TRUE(Says(error.message(), "version 6")) << error.message();
  EXPECT_TRUE(Says(error.remedy(), "QEMU 7.2 to 11.0")) << error.remedy();
  EXPECT_TRUE(Says(error.remedy(), "--engine step")) << error.remedy();
}

TEST(EmulatorWithoutPlugins, IsToldApartAndSentToNoPackageThatHasThemNot) {
  for (const bool is_static : {false, true}) {
    const Error error = RefusalOf(is_static ? "static" : "no_plugins");
    EXPECT_EQ(error.code(), ErrorCode::kNoHardware);
    EXPECT_TRUE(Says(error.message(), is_static ? "static/qemu-x86_64 is linked statically"
                                                : "was built without support for plugins"))
        << error.message();
    EXPECT_TRUE(Says(error.remedy(), "--enable-plugins")) << error.remedy();
    EXPECT_TRUE(Says(error.remedy(), "Debian 12's")) << error.remedy();
    EXPECT_TRUE(Says(error.remedy(), "--engine step")) << error.remedy();
    EXPECT_FALSE(Says(error.remedy(), "apt-get")) << error.remedy();
  }
}

}  // namespace
}  // namespace flowback::record_test
