// SPDX-License-Identifier: MIT
// FLOWBACK_SANITIZED: 1 in a build whose sanitizer takes terabytes of addresses, so that no limit
// of them can be set; else 0. g++ defines macros for it, clang has __has_feature.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FLOWBACK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FLOWBACK_SANITIZED 1
#else
#define FLOWBACK_SANITIZED 0
#endif
#else
#define FLOWBACK_SANITIZED 0
#endif
