# SPDX-License-Identifier: MIT
# bash completion for flowback: commands and options are asked of the program itself.

_flowback() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local choices=
  if [[ $COMP_CWORD -eq 1 || $previous == help ]]; then
    choices=$("$program" help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
  else
    case $previous in
      --as) choices="instructions lines blocks branches calls packets events digest summary" ;;
      --engine)
        choices="native libipt"
        [[ ${COMP_WORDS[1]} == record ]] && choices="auto emulate step"
        ;;
      --clock) choices="host instructions" ;;
      --resync) choices="earliest psb" ;;
      *)
        [[ $word == -* ]] &&
          choices=$("$program" help "${COMP_WORDS[1]}" 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u)
        ;;
    esac
  fi
  if [[ -n $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _flowback flowback
