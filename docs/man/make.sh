#!/bin/sh
# SPDX-License-Identifier: MIT
# make.sh PROGRAM FOLDER: writes the manual pages into FOLDER: flowback(1), and one for each
# command, whose options the program itself prints and whose description lies beside this script.
set -eu
program=$1
folder=$2
sources=$(dirname "$0")
mkdir -p "$folder"

# NAME SUMMARY of each command, a line each.
commands=$("$program" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1 \2/p')
list=$folder/commands.part
pages=$folder/pages.part
: >"$list"
: >"$pages"

description() {
  cat "$sources/$1.roff"
  case $1 in info | decode | stack | replay | crash | pack | timeline | spikes | locks | coverage | branches | export | query | report | diff) cat "$sources/readers.roff" ;; esac
}

printf '%s\n' "$commands" | while read -r name summary; do
  printf '.TP\n.BR flowback\\-%s (1)\n%s\n' "$name" "$(printf '%s' "$summary" | sed 's/-/\\-/g')" >>"$list"
  printf '.BR flowback\\-%s (1),\n' "$name" >>"$pages"
  description "$name" >"$folder/description.part"
  "$program" "$name" --manual-page |
    sed -e "/^@DESCRIPTION@\$/{r $folder/description.part" -e 'd;}' >"$folder/flowback-$name.1"
done
sed -e "/^@COMMANDS@\$/{r $list" -e 'd;}' -e "/^@PAGES@\$/{r $pages" -e 'd;}' \
  "$sources/flowback.1.in" >"$folder/flowback.1"
rm "$folder"/*.part
