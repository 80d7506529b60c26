// SPDX-License-Identifier: MIT
// The spans of a thread's life as they are collected: in any order, with what no slot covers left
// out.
#pragma once

#include "flowback/replay/time_account.h"

namespace flowback {

void AddSpan(ClassSpans& spans, const ClassSpan& span);
// Puts them in order; what they leave of the account's life was `rest`.
void CompleteSpans(TimeAccount& account, TimeClass rest);

}  // namespace flowback
