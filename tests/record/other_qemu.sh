#!/bin/sh
# SPDX-License-Identifier: MIT
# other_qemu.sh RECORD_TEST FLOWBACK: the emulated recordings again, in the qemu-x86_64 that
# FLOWBACK_QEMU names: another version than the one in PATH, say built from its sources with
#   configure --target-list=x86_64-linux-user --enable-plugins
set -eu
if [ -z "${FLOWBACK_QEMU:-}" ]; then
  echo "skipped: FLOWBACK_QEMU names no qemu-x86_64"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ln -s "$(realpath "$FLOWBACK_QEMU")" "$folder/qemu-x86_64"
"$folder/qemu-x86_64" --version
PATH="$folder:$PATH"
# One that can't be used must fail here, where the tests would only be skipped.
"$2" record --engine emulate -o "$folder/true" -- /bin/true
"$1" --gtest_brief=1 --gtest_filter='*Emulate*:Judge*:Fatal*:OtherThreads*:Ends*:Many*:PerCpu*:Span*:Snapshot*:Untraced*:Repeated*:InstructionClock*:Cycles*'
