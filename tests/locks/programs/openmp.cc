// SPDX-License-Identifier: MIT
// openmp [ROUNDS]: threads that wait at libgomp's barrier, which spins before it sleeps.
#include <omp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<long> arrived{0};

}  // namespace

int main(int count, char** words) {
  const long rounds = count > 1 ? std::atol(words[1]) : 10;
#pragma omp parallel num_threads(2)
  {
    for (long round = 0; round < rounds; ++round) {
      // The first thread comes last to the barrier, and makes the other one wait.
      if (omp_get_thread_num() == 0) {
        while (arrived.load() <= round) {
          usleep(100);
        }
        usleep(30'000);  // on a busy machine the other one may stop for long before the barrier
      } else {
        arrived.fetch_add(1);
      }
#pragma omp barrier
    }
#pragma omp critical
    std::printf(
        "{\"lock\": \"openmp\", \"function\": \"GOMP_barrier\", \"tid\": %d, \"acquisitions\": "
        "%ld, \"waits\": %ld}\n",
        static_cast<int>(syscall(SYS_gettid)), rounds, omp_get_thread_num() == 0 ? 0 : rounds);
  }
  return 0;
}
