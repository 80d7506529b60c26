#!/bin/sh
# SPDX-License-Identifier: MIT
# manual_pages.sh PROGRAM FOLDER: each command has a page in FOLDER with every option of its help,
# and formatters find nothing wrong with any page.
set -u
program=$1
folder=$2
failed=0
complain() {
  echo "$1"
  failed=1
}

plain() { sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g' "$1"; }

commands=$("$program" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ -n "$commands" ] || complain "no commands in 'flowback help'"
for command in $commands; do
  page=$folder/flowback-$command.1
  [ -s "$page" ] || { complain "no page for $command"; continue; }
  options=$("$program" "$command" --help-all | grep -oE -- '^  (-[A-Za-z], )?--[a-z-]+' | grep -oE -- '--[a-z-]+')
  [ -n "$options" ] || complain "no options in the help of $command"
  for option in $options; do
    plain "$page" | grep -qE -- "(^|[ ,])$option([ ,]|\$)" || complain "$page: nothing of $option"
  done
  plain "$page" | grep -q '^@' && complain "$page: a part is missing"
  plain "$folder/flowback.1" | grep -q "flowback-$command " || complain "flowback.1 does not name $command"
done
if command -v groff >/dev/null; then
  for page in "$folder"/*.1; do
    wrong=$(groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null)
    [ -z "$wrong" ] || complain "$wrong"
  done
fi
exit $failed
