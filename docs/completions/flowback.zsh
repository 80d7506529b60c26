#compdef flowback
# SPDX-License-Identifier: MIT
# zsh completion for flowback. The program itself lists commands, topics and options, with their texts.

# NAME:TEXT of each option of a command.
_flowback_options() {
  "$1" "$2" --help-all 2>/dev/null | awk '
    function add(word) { gsub(/:/, "\\:", word); names[++count] = word }
    function flush(   i) {
      gsub(/:/, "\\:", text)
      for (i = 1; i <= count; ++i) print names[i] ":" text
      count = 0; text = ""
    }
    /^  -/ {
      flush()
      head = substr($0, 1, 26); text = substr($0, 27)
      if ($0 !~ /^.{24}  /) { head = $0; text = "" }
      n = split(head, words, /[, ]+/)
      for (i = 1; i <= n; ++i) if (words[i] ~ /^--?[A-Za-z]/) add(words[i])
      next
    }
    /^ {26}/ { if (count) text = text (text == "" ? "" : " ") substr($0, 27); next }
    { flush() }
    END { flush() }'
}

# NAME:TEXT of each command and, below them, of each topic.
_flowback_words() {
  "$1" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *\(.*\)/\1:\2/p' | sed 's/:/\x01/; s/:/\\:/g; s/\x01/:/'
}

_flowback() {
  local program=${words[1]} command=${words[2]} i
  local -a choices
  if ((CURRENT == 2)) || [[ $command == help ]]; then
    choices=("${(@f)$(_flowback_words $program)}")
    _describe 'command' choices
    return
  fi
  if [[ $command == record ]]; then
    # Behind "--" the words are those of the recorded program.
    i=${words[(i)--]}
    if ((i < CURRENT)); then
      words=("${(@)words[i + 1,-1]}")
      ((CURRENT -= i))
      _normal
      return
    fi
  fi
  case ${words[CURRENT - 1]} in
    --as) _values kind instructions lines blocks branches calls events samples packets digest summary && return ;;
    --engine)
      if [[ $command == record ]]; then
        _values engine auto hardware pt lbr brbe events emulate step
      else
        _values engine native libipt
      fi
      return
      ;;
    --color) _values when auto always never && return ;;
    --resync) _values place earliest psb && return ;;
  esac
  if [[ ${words[CURRENT]} == -* ]]; then
    choices=("${(@f)$(_flowback_options $program $command)}")
    _describe -o 'option' choices
  else
    _files
  fi
}

compdef _flowback flowback
