// SPDX-License-Identifier: MIT
// Which functions belong to locks, by the names that symbols and demanglers write.
#include "replay/locks/lock_functions.h"

#include <gtest/gtest.h>

#include <string>

namespace flowback::test {
namespace {

struct NamedUse {
  std::string name;
  LockUse use;
};

class LockFunctions : public testing::TestWithParam<NamedUse> {};

TEST_P(LockFunctions, AreKnownByName) {
  EXPECT_EQ(LockFunctionOf(GetParam().name).use, GetParam().use) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    Names, LockFunctions,
    testing::Values(
        NamedUse{"pthread_mutex_lock", LockUse::kAcquires},
        NamedUse{"___pthread_mutex_lock", LockUse::kAcquires},
        NamedUse{"pthread_mutex_lock@@GLIBC_2.2.5", LockUse::kAcquires},
        NamedUse{"pthread_mutex_unlock", LockUse::kReleases},
        NamedUse{"pthread_mutex_trylock", LockUse::kTries},
        NamedUse{"pthread_cond_wait", LockUse::kWaits},
        NamedUse{"pthread_cond_signal", LockUse::kWakes},
        NamedUse{"std::mutex::lock()", LockUse::kAcquires},
        NamedUse{"std::lock_guard<std::mutex>::lock_guard(std::mutex&)", LockUse::kAcquires},
        NamedUse{"std::lock_guard<std::mutex>::~lock_guard()", LockUse::kReleases},
        NamedUse{"void std::condition_variable::wait<main::{lambda()#1}>("
                 "std::unique_lock<std::mutex>&, main::{lambda()#1})",
                 LockUse::kWaits},
        NamedUse{"std::__atomic_base<int>::wait(int, std::memory_order) const", LockUse::kWaits},
        NamedUse{"void std::__atomic_wait_address<int>(int const*)", LockUse::kWaits},
        NamedUse{"sync.(*Mutex).Lock", LockUse::kAcquires},
        NamedUse{"sync.(*Mutex).Unlock", LockUse::kReleases},
        NamedUse{"std::sys::unix::locks::futex_mutex::Mutex::lock_contended", LockUse::kAcquires},
        NamedUse{"main", LockUse::kNone}, NamedUse{"", LockUse::kNone},
        NamedUse{"my_pthread_mutex_lock", LockUse::kNone},
        NamedUse{"std::mutex::locked()", LockUse::kNone},
        NamedUse{"[libc.so.6+0x8c370]", LockUse::kNone}));

TEST(LockFunctionsOfTheKernel, AreKnownByName) {
  const auto use = [](const char* name) { return LockFunctionOf(name, true).use; };
  EXPECT_EQ(use("native_queued_spin_lock_slowpath"), LockUse::kAcquires);
  EXPECT_EQ(use("_raw_spin_lock_irqsave"), LockUse::kAcquires);
  EXPECT_EQ(use("__mutex_lock.constprop.0"), LockUse::kAcquires);
  EXPECT_EQ(use("mutex_trylock"), LockUse::kTries);
  EXPECT_EQ(use("down_read_trylock"), LockUse::kTries);
  EXPECT_EQ(use("up_write"), LockUse::kReleases);
  EXPECT_EQ(use("futex_wait"), LockUse::kWaits);
  EXPECT_EQ(use("schedule"), LockUse::kNone);
  EXPECT_EQ(LockFunctionOf("down_read", true).family, LockFunctionOf("up_read", true).family);
}

// Programs have such names for what they like, and the kernel has no libraries.
TEST(LockFunctionsOfTheKernel, AreNoneOfPrograms) {
  EXPECT_EQ(LockFunctionOf("futex_wait").use, LockUse::kNone);
  EXPECT_EQ(LockFunctionOf("pthread_mutex_lock", true).use, LockUse::kNone);
}

TEST(LockFunctionFamilies, BelongTogether) {
  EXPECT_EQ(LockFunctionOf("pthread_mutex_lock").family,
            LockFunctionOf("std::mutex::unlock()").family);
  EXPECT_NE(LockFunctionOf("pthread_mutex_lock").family,
            LockFunctionOf("pthread_rwlock_unlock").family);
  EXPECT_TRUE(LockFunctionOf("sem_wait").family.empty());
}

}  // namespace
}  // namespace flowback::test
