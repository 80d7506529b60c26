# SPDX-License-Identifier: MIT
# completion.zsh COMPLETION PROGRAM: zsh offers commands, topics, options and files.
emulate -L zsh
zmodload zsh/zpty || exit 77
completion=$1 folder=${2:A:h} failed=0

# What zsh would offer at the end of a line, one word a line: a shell of its own in a terminal, in
# which Tab is pressed; each match that the completion adds is printed.
offered() {
  local line=$1 out= chunk
  zpty -d shell 2>/dev/null
  zpty shell zsh -f -i
  zpty -w shell "PROMPT= PATH=$folder:\$PATH; stty -echo; cd /; autoload -U compinit; compinit -u -D"
  zpty -w shell "source $completion"
  zpty -w shell 'compadd() { [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]] && { builtin compadd "$@"; return }
    typeset -a found; builtin compadd -A found "$@"; print -rl -- "<${(@)^found}>" >>$TMPFILE; builtin compadd "$@" }'
  zpty -w shell "TMPFILE=$TMPFILE; print ready"
  zpty -m -r shell chunk '*ready*ready*' 2>/dev/null || zpty -r -m shell chunk '*ready*'
  zpty -w -n shell "flowback $line"$'\t'
  sleep 1
  zpty -d shell
}

offers() {
  local line=$1 expected
  shift
  export TMPFILE=$(mktemp)
  offered "$line"
  for expected in "$@"; do
    if ! grep -qxF -- "<$expected>" $TMPFILE; then
      print -r -- "'$line' does not offer '$expected', but: $(head -20 $TMPFILE | tr '\n' ' ')"
      failed=1
    fi
  done
  rm -f $TMPFILE
}

offers "de" decode
offers "help re" record resync
offers "decode --by" --by-time --by-cpu
offers "record --no" --noretcomp --no-tsc
offers "decode us" usr
exit $failed
