#!/bin/sh
# SPDX-License-Identifier: MIT
# lesser_host.sh RECORD_TEST: on a machine that lacks what an AMD one, or one without 32-bit code,
# lacks, the tests of recorded programs pass, and say what they left out. None of them may need more
# than it asks for.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
said() { # said COUNT TEXT: so many lines of the log, or more, hold the text
  found=$(grep -cF -- "$2" "$log" || true)
  [ "$found" -ge "$1" ] || {
    cat "$log"
    echo "expected $1 lines with '$2', not $found"
    exit 1
  }
}

FLOWBACK_TEST_HOST_LACKS=int1,int80,code32,programs32,transactions timeout 100 "$1" \
  --gtest_filter='*SmallPrograms*:PerfScript*:Transaction.*:SignalsProgram.*:Attach.ThirtyTwoBits' \
  >"$log" || {
  cat "$log"
  exit 1
}
if grep -q 'ptrace is not permitted' "$log"; then
  echo "skipped: ptrace is not permitted here"
  exit 77
fi
said 4 "left out: int1 of the program \`signals\`: on this host INT1 does not go on behind itself"
said 4 "left out: int80 of the program \`signals\`: on this host INT 0x80 makes no system calls"
said 2 "on this host a 64-bit program can't change to 32-bit code"
said 3 "on this host 32-bit programs don't run"
said 1 "on this host this CPU has no transactions"
