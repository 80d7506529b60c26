// SPDX-License-Identifier: MIT
// The shared recordings made by hardware, and how the command line reads each.
#pragma once

#include <string>
#include <vector>

#include "tests/golden/shared_traces.h"

namespace flowback::test {

struct RealRecording {
  std::string name;
  std::vector<std::string> words;  // the input options
  std::string count;
  std::string digest;
  std::string label;     // the digest line's first column
  bool complete = true;  // nothing is lost
};

inline std::string Traces(const std::string& path) {
  return golden::TracesFolder() / "intel-pt" / path;
}

inline std::vector<RealRecording> RealRecordings() {
  const std::string hase = "hase-2018-04-04/";
  const std::string multi = "lldb/intelpt-trace-multi-file/";
  const std::string control_flow = hase + "control_flow-20180404T163033.perf";
  const std::string loopy = hase + "loopy-20180404T162955.perf";
  return {
      {"dynamorio_current",
       {"--raw-pt", Traces("dynamorio-current/pt.bin"), "--image",
        Traces("dynamorio-current/hello"), "--cpu", "6/85/4"},
       "8",
       "9304caebd98fce40",
       "0"},
      {"dynamorio_static",
       {"--raw-pt", Traces("dynamorio-v3_static_820k_sb/pt.bin"), "--image",
        Traces("dynamorio-v3_static_820k_sb/hello"), "--cpu", "6/85/4"},
       "59234",
       "2e54b0deec56db32",
       "0"},
      {"dynamorio_static_sideband",
       {"--raw-pt", Traces("dynamorio-v3_static_820k_sb/pt.bin"), "--pevent",
        Traces("dynamorio-v3_static_820k_sb/sideband.pevent"), "--sample-type", "0x10086",
        "--symfs", Traces("dynamorio-v3_static_820k_sb"), "--cpu", "6/85/4"},
       "59234",
       "2e54b0deec56db32",
       "313572"},
      {"hase_control_flow_perf",
       {Traces(control_flow), "--image", Traces(hase + "control_flow")},
       "1092",
       "df52c17262245b01",
       "19731"},
      {"hase_control_flow_raw",
       {"--raw-pt", Traces(control_flow + "-aux-idx1.bin"), "--image",
        Traces(hase + "control_flow"), "--cpu", "6/94/3"},
       "1092",
       "df52c17262245b01",
       "0"},
      {"hase_loopy_perf",
       {"-i", Traces(loopy), "--image", Traces(hase + "loopy")},
       "57",
       "58ca80eae7b4f27d",
       "19233"},
      {"hase_loopy_raw",
       {"--raw-pt", Traces(loopy + "-aux-idx2.bin"), "--image", Traces(hase + "loopy"), "--cpu",
        "6/94/3"},
       "57",
       "58ca80eae7b4f27d",
       "0"},
      {"lldb_bundle",
       {Traces("lldb/intelpt-trace/trace.json")},
       "21",
       "84165e174e170b3a",
       "3842849",
       false},
      {"lldb_bundle_multi_file",
       {Traces("lldb/intelpt-trace-multi-file/multi-file-no-ld.json")},
       "45",
       "bc30d85133c2aad7",
       "815455",
       false},
      {"lldb_trace",
       {"--raw-pt", Traces("lldb/intelpt-trace/3842849.trace"), "--image",
        Traces("lldb/intelpt-trace/a.out") + "@0x400000", "--cpu", "6/79/1"},
       "21",
       "84165e174e170b3a",
       "0",
       false},
      {"lldb_multi_file",
       {"--raw-pt", Traces(multi + "multi-file.trace"), "--image",
        Traces(multi + "a.out") + "@0x400000", "--image",
        Traces(multi + "libfoo.so") + "@0x7ffff7bd9000", "--image",
        Traces(multi + "libbar.so") + "@0x7ffff79d7000", "--cpu", "6/79/1"},
       "45",
       "bc30d85133c2aad7",
       "0",
       false},
  };
}

}  // namespace flowback::test
