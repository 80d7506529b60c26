// SPDX-License-Identifier: MIT
#include "base/linux/linux_waiting_calls.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "base/linux/linux_call_names.h"

namespace flowback {
namespace {

constexpr std::string_view kBlocking[] = {"accept",        "accept4",         "epoll_pwait",
                                          "epoll_pwait2",  "epoll_wait",      "io_getevents",
                                          "msgrcv",        "mq_timedreceive", "poll",
                                          "ppoll",         "pselect6",        "read",
                                          "readv",         "recvfrom",        "recvmmsg",
                                          "recvmsg",       "rt_sigtimedwait", "select",
                                          "semop",         "semtimedop",      "wait4",
                                          "waitid",        "waitpid",         "_newselect",
                                          "io_uring_enter"};
constexpr std::string_view kForTime[] = {"clock_nanosleep", "clock_nanosleep_time64", "nanosleep"};

template <size_t N>
bool IsOneOf(const std::string_view (&names)[N], uint32_t number, LinuxAbi abi) {
  return std::ranges::find(names, LinuxCallName(number, abi)) != std::end(names);
}

// The operations of linux/futex.h that wait.
constexpr uint8_t kWait = 0;
constexpr uint8_t kLockPi = 6;
constexpr uint8_t kWaitBitset = 9;
constexpr uint8_t kWaitRequeuePi = 11;
constexpr uint8_t kLockPi2 = 13;

}  // namespace

bool IsFutexCall(uint32_t number, LinuxAbi abi) {
  return LinuxCallName(number, abi).starts_with("futex");
}

bool FutexWaits(uint8_t operation) {
  return operation == kWait || operation == kLockPi || operation == kWaitBitset ||
         operation == kWaitRequeuePi || operation == kLockPi2;
}

bool CanBlock(uint32_t number, LinuxAbi abi) { return IsOneOf(kBlocking, number, abi); }

bool CanIdle(uint32_t number, LinuxAbi abi) {
  return IsFutexCall(number, abi) || CanBlock(number, abi) || IsOneOf(kForTime, number, abi);
}

}  // namespace flowback
