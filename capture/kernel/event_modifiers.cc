// SPDX-License-Identifier: MIT
// As perf reads them. Letters name the levels to count: once one of u, k, h is given, the others
// are not counted; the same with G (guests) and H (the host). Without any letter, guests are left
// out; letters start from nothing left out, and u and p leave guests out again.
#include "capture/kernel/event_modifiers.h"

#include <algorithm>
#include <string>

namespace flowback::kernel {
namespace {

constexpr std::string_view kLetters = "ukhpPGHSDIWe";
constexpr size_t kMostPrecise = 3;

Error Wrong(std::string_view letters, const std::string& why) {
  return Error(ErrorCode::kUsage, "the modifier '" + std::string(letters) + "' " + why);
}

Status CheckLetters(std::string_view letters) {
  for (const char letter : letters) {
    const auto times = static_cast<size_t>(std::ranges::count(letters, letter));
    if (!IsModifier(letter))
      return Fail(
          Wrong({&letter, 1}, "does not exist")
              .Remedy("known: u k h (levels), p pp ppp P (precise), G H (guests, host), S D "
                      "I W e"));
    if (times > (letter == 'p' ? kMostPrecise : 1))
      return Fail(Wrong({&letter, 1}, "is there " + std::to_string(times) + " times")
                      .Remedy("leave the others out; p goes up to ppp"));
  }
  if (letters.contains('p') && letters.contains('P'))
    return Fail(Wrong(letters, "says two levels of precision").Remedy("either p or P"));
  return {};
}

void NameLevel(WantedEvent& event) {
  if (event.levels_named) return;
  event.levels_named = true;
  event.attr.exclude_user = event.attr.exclude_kernel = event.attr.exclude_hv = 1;
}

void NameGuests(WantedEvent& event) {
  if (event.guests_named) return;
  event.guests_named = true;
  event.attr.exclude_guest = event.attr.exclude_host = 1;
}

void LeaveGuestsOut(WantedEvent& event) {
  if (!event.guests_named) event.attr.exclude_guest = 1;
}

void Apply(char letter, WantedEvent& event) {
  perf_event_attr& attr = event.attr;
  switch (letter) {
    case 'u':
      LeaveGuestsOut(event);
      NameLevel(event);
      attr.exclude_user = 0;
      break;
    case 'k':
      NameLevel(event);
      attr.exclude_kernel = 0;
      break;
    case 'h':
      NameLevel(event);
      attr.exclude_hv = 0;
      break;
    case 'G':
      NameGuests(event);
      attr.exclude_guest = 0;
      break;
    case 'H':
      NameGuests(event);
      attr.exclude_host = 0;
      break;
    case 'p':
      ++attr.precise_ip;
      LeaveGuestsOut(event);
      break;
    case 'P':
      event.most_precise = true;
      break;
    case 'S':
      event.reads_group = true;
      break;
    case 'D':
      attr.pinned = !event.leader;
      break;
    case 'I':
      attr.exclude_idle = 1;
      break;
    case 'W':
      event.weak = true;
      break;
    case 'e':
      attr.exclusive = !event.leader;
      break;
    default:
      break;
  }
}

}  // namespace

bool IsModifier(char letter) { return kLetters.contains(letter); }

Status ApplyModifiers(std::string_view letters, bool of_group, WantedEvent& event) {
  if (Status known = CheckLetters(letters); !known) return known;
  if (letters.empty()) return {};
  if (!of_group) event.attr.exclude_guest = 0;
  const auto precise = static_cast<size_t>(std::ranges::count(letters, 'p'));
  if (event.attr.precise_ip + precise > kMostPrecise)
    return Fail(Wrong(letters, "asks for more than the highest precision").Remedy("at most ppp"));
  for (const char letter : letters) Apply(letter, event);
  return {};
}

}  // namespace flowback::kernel
