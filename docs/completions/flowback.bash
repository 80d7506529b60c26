# SPDX-License-Identifier: MIT
# bash completion for flowback: commands, topics, options, columns and functions are asked of the
# program itself.

# The options of a command, one a line, as its help has them.
_flowback_options() {
  "$1" "$2" --help-all 2>/dev/null | sed -n 's/^  \(-.*\)/\1/p' | grep -oE -- '(^|, )--?[A-Za-z][a-z-]*' |
    sed 's/^, //' | sort -u
}

# Whether the option takes a word that follows it.
_flowback_takes_word() {
  "$1" "$2" --help-all 2>/dev/null | grep -E -- "^  (-[A-Za-z], )?(--[a-z-]+, )*$3(, --[a-z-]+)* [A-Z]" >/dev/null
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

# Splits a line as the shell does. Sets `words`, the last of which is empty behind a blank; `typed`,
# the part of it as it stands in the line that readline would replace; and `quote`, which is open.
_flowback_split() {
  local line=${1-} i c word='' some='' breaks=${COMP_WORDBREAKS-$' \t\n"\'@><=;|&(:'}
  words=() typed='' quote=''
  for ((i = 0; i < ${#line}; ++i)); do
    c=${line:i:1}
    typed+=$c
    if [[ $c == "$quote" ]]; then
      quote='' typed=''
      continue
    elif [[ $quote != "'" && $c == \\ ]]; then
      c=${line:++i:1}
      typed+=$c
    elif [[ -z $quote && $c == [\'\"] ]]; then
      quote=$c typed='' some=1
      continue
    elif [[ -z $quote && $c == [[:space:]] ]]; then
      [[ -n $some ]] && words+=("$word")
      word='' some='' typed=''
      continue
    elif [[ -z $quote && $breaks == *"$c"* ]]; then
      typed=''
    fi
    word+=$c some=1
  done
  words+=("$word")
}

# Sets `behind` to the words of the command behind the cursor, which may stand in a quote: the
# recording or the program may be there.
_flowback_behind() {
  local words typed quote word
  _flowback_split "x$2$1"
  for word in "${words[@]:1}"; do
    case $word in
      '') ;;
      [\<\>\|\&\;]* | [0-9]*[\<\>]*) return ;;
      *) behind+=("$word") ;;
    esac
  done
}

# Offers names where a function's name is typed. False: it is no such place.
_flowback_functions() {
  local words typed quote last option prefix line=() behind=() name rest
  _flowback_split "${COMP_LINE:0:COMP_POINT}"
  last=$((${#words[@]} - 1))
  case $last,${words[last]} in
    [01],*) return 1 ;;
    *,--function=* | *,--from=* | *,--until=*)
      option=${words[last]%%=*} prefix=${words[last]#*=}
      line=("${words[@]:2:last-2}")
      ;;
    2,*) return 1 ;;
    *)
      option=${words[last - 1]} prefix=${words[last]}
      line=("${words[@]:2:last-3}")
      ;;
  esac
  case ${words[1]}$option in
    decode--function | timeline--function | coverage--function) ;;
    record--from | record--until)
      local COMP_WORDS=("$program" "${words[@]:1}") COMP_CWORD=$last
      [[ -z $(_flowback_program_at) ]] || return
      ;;
    *) return 1 ;;
  esac
  _flowback_behind "${COMP_LINE:COMP_POINT}" "$quote"
  line=("${line[@]/#\~\//$HOME/}" "${behind[@]/#\~\//$HOME/}")
  # Names are not to be quoted or marked as files are, and no files stand in for them.
  compopt +o filenames +o default 2>/dev/null
  while IFS= read -r name; do
    rest=${name:${#prefix}}
    if [[ -n $quote ]]; then
      [[ $rest == *[\'\"\$\`!\\]* ]] && continue
    elif [[ -n $rest ]]; then
      printf -v rest %q "$rest"
    fi
    COMPREPLY+=("$typed$rest")
  done < <("$program" "${words[1]}" --complete-function "$prefix" "${line[@]}" 2>/dev/null </dev/null)
  return 0
}

_flowback() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local choices='' prefix='' command=${COMP_WORDS[1]} at=''
  COMPREPLY=()
  [[ -n ${COMP_LINE-} ]] && _flowback_functions && return
  [[ $command == record && $COMP_CWORD -gt 1 ]] && at=$(_flowback_program_at)
  if [[ -n $at ]]; then
    # flowback does not know the program's own words: offers names of files, as by default.
    if ((at == COMP_CWORD)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$word" | sort -u)
    fi
    return
  fi
  if [[ $COMP_CWORD -eq 1 || $previous == help ]]; then
    choices=$("$program" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
  else
    case $previous in
      --as) choices="instructions lines blocks branches calls packets events samples digest summary" ;;
      --by) choices="function object line" ;;
      -F | --fields)
        # Columns behind a comma, or a sign, as well.
        prefix=${word%"${word##*[,+]}"}
        choices="comm pid tid cpu time ip insn bytes sym symoff dso srcline flags source"
        ;;
      --engine)
        choices="native libipt"
        [[ $command == record ]] && choices="auto pt lbr brbe events emulate step"
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
