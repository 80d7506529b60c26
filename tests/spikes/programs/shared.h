// SPDX-License-Identifier: MIT
// What the requests and the neighbour that gets in their way both use.
#pragma once

#include <pthread.h>

#include <atomic>

namespace spiky {

extern pthread_mutex_t stock_mutex;
extern std::atomic<bool> stock_taken;  // a spin lock
extern int ticket_pipe[2];             // a request reads one byte of it

}  // namespace spiky
