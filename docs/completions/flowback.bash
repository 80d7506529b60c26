# SPDX-License-Identifier: MIT
# bash completion for flowback: commands, topics, options and columns are asked of the program
# itself.

# The options of a command, one a line, as its help has them.
_flowback_options() {
  "$1" help "$2" 2>/dev/null | sed -n 's/^  \(-.*\)/\1/p' | grep -oE -- '(^|, )--?[A-Za-z][a-z-]*' |
    sed 's/^, //' | sort -u
}

# Whether the option takes a word that follows it.
_flowback_takes_word() {
  "$1" help "$2" 2>/dev/null | grep -E -- "^  (-[A-Za-z], )?(--[a-z-]+, )*$3(, --[a-z-]+)* [A-Z]" >/dev/null
}

# The index of the program that `record` is to run, if the cursor is at it or behind it.
_flowback_program_at() {
  local i word=2
  for ((i = word; i <= COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --)
        ((i < COMP_CWORD)) && echo $((i + 1))
        return
        ;;
      -*=*) ;;
      -*)
        _flowback_takes_word "${COMP_WORDS[0]}" record "${COMP_WORDS[i]}" && ((++i))
        ;;
      *)
        echo "$i"
        return
        ;;
    esac
  done
}

_flowback() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local choices='' prefix='' command=${COMP_WORDS[1]} at=''
  COMPREPLY=()
  [[ $command == record && $COMP_CWORD -gt 1 ]] && at=$(_flowback_program_at)
  if [[ -n $at ]]; then
    # Of the program's own words flowback knows nothing: names of files, as by default.
    if ((at == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
    fi
    return
  fi
  if [[ $COMP_CWORD -eq 1 || $previous == help ]]; then
    choices=$("$program" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
  else
    case $previous in
      --as) choices="instructions lines blocks branches calls packets events digest summary" ;;
      --by) choices="function object line" ;;
      -F | --fields)
        # Columns behind a comma, or a sign, as well.
        prefix=${word%"${word##*[,+]}"}
        choices="comm pid tid cpu time ip insn bytes sym symoff dso srcline flags source"
        ;;
      --engine)
        choices="native libipt"
        [[ $command == record ]] && choices="auto emulate step"
        ;;
      --clock) choices="host instructions" ;;
      --color) choices="auto always never" ;;
      --resync) choices="earliest psb" ;;
      *) [[ $word == -* ]] && choices=$(_flowback_options "$program" "$command") ;;
    esac
  fi
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -P "$prefix" -W "$choices" -- "${word#"$prefix"}")
  elif [[ $word != -* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o default -o filenames -F _flowback flowback
