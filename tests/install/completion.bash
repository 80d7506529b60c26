#!/bin/bash
# SPDX-License-Identifier: MIT
# completion.bash COMPLETION PROGRAM: what bash would offer at the end of some command lines.
set -u
# shellcheck source=/dev/null
. "$1"
program=$2
failed=0

# offers "WORDS" EXPECTED...: each is among what is offered for the last word (which may be empty).
offers() {
  local line=$1 expected
  shift
  read -ra COMP_WORDS <<<"$program $line"
  [[ $line == *' ' ]] && COMP_WORDS+=("")
  COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  COMP_LINE="$program $line" COMP_POINT=$((${#program} + 1 + ${#line}))
  _flowback
  for expected in "$@"; do
    if ! printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "$expected"; then
      echo "'$line' does not offer '$expected', but: ${COMPREPLY[*]:0:20}"
      failed=1
    fi
  done
}

offers "de" decode
offers "help re" record resync
offers "decode --by" --by-time --by-cpu
offers "record --no" --noretcomp --no-tsc
offers "decode --as s" summary
offers "decode -F ip,in" ip,insn
offers "decode -F +src" +srcline
offers "decode --fields comm,ti" comm,tid comm,time
offers "record -- bas" bash
offers "record bas" bash
offers "record --mtc-period 3 bas" bash
offers "record --engine st" step
offers "decode --color al" always
offers "sta" stack
offers "stack --a" --at --all
offers "stack --thr" --thread --threads
offers "time" timeline
offers "timeline --s" --svg --symfs
offers "timeline --h" --html
offers "timeline --at 1 --ar" --around
offers "timeline --fu" --function
cd / || exit 1
offers "decode us" usr
offers "record -o tm" tmp
exit $failed
