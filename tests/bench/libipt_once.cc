// SPDX-License-Identifier: MIT
// The cold peer: one process that decodes a raw stream once with libipt's block decoder, or with
// --instructions its instruction decoder, and prints the number of instructions. Takes the options
// of `flowback decode --raw-pt`.
#include <cstdio>
#include <vector>

#include "tests/bench/libipt_peer.h"
#include "tests/bench/workload.h"

int main(int argc, char** argv) {
  using namespace flowback;
  std::vector<std::string> arguments(argv + 1, argv + argc);
  const bool instructions = std::erase(arguments, "--instructions") != 0;
  const auto with =
      instructions ? bench::LibiptDecoder::kInstructions : bench::LibiptDecoder::kBlocks;
  Result<std::vector<bench::Workload>> workloads = bench::TakeWorkloads(arguments);
  if (!workloads || workloads->empty()) {
    std::fprintf(stderr, "libipt_once: %s\n",
                 workloads ? "no stream named" : workloads.error().message().c_str());
    return 2;
  }
  for (const bench::Workload& workload : *workloads) {
    Result<bench::LibiptPeer> peer = bench::LibiptPeer::Create(workload);
    if (!peer) {
      std::fprintf(stderr, "libipt_once: %s\n", peer.error().message().c_str());
      return 1;
    }
    std::printf("%llu\n", static_cast<unsigned long long>(peer->Decode(with)));
  }
  return 0;
}
